# SPDX-License-Identifier: Apache-2.0
"""A headless Chromium for tests, driven over its DevTools pipe: nothing but Python's own library.

with Browser() as b: b.open(path); b.js('1 + 1'); b.click(x, y); b.key('Escape'); b.shot('x.png')
"""
import base64
import json
import os
import select
import shutil
import subprocess
import tempfile
import time

OPTIONS = ('--headless', '--no-sandbox', '--disable-gpu', '--no-first-run', '--disable-sync',
           '--disable-background-networking', '--disable-component-update', '--disable-quic',
           '--remote-debugging-pipe')
KEYS = {'Escape': 27, 'Enter': 13, 'Tab': 9, 'ArrowUp': 38, 'ArrowDown': 40, 'ArrowLeft': 37,
        'ArrowRight': 39, 'F3': 114}
CTRL, SHIFT = 2, 8


class Browser:
    def __init__(self, width=1200, height=800, seconds=60):
        self.deadline = time.monotonic() + seconds
        self.size = (width, height)
        self.last_id = 0
        self.session = None
        self.events = []
        self.left = b''

    def __enter__(self):
        self.profile = tempfile.mkdtemp(prefix='dfg-browser-')
        child_in, self.to = os.pipe()
        self.back, child_out = os.pipe()

        def fds():  # the pipe is descriptors 3 and 4, by Chromium's rule
            low = os.dup(child_in), os.dup(child_out)
            high = [os.dup2(fd, 100 + i) for i, fd in enumerate(low)]
            os.dup2(high[0], 3)
            os.dup2(high[1], 4)

        chromium = shutil.which('chromium') or shutil.which('chromium-browser')
        self.log = open(os.path.join(self.profile, 'log'), 'wb')
        self.process = subprocess.Popen(
            [chromium, *OPTIONS, f'--user-data-dir={self.profile}', 'about:blank'],
            stdin=subprocess.DEVNULL, stdout=self.log, stderr=self.log, pass_fds=(3, 4),
            preexec_fn=fds)
        os.close(child_in)
        os.close(child_out)
        targets = self.call('Target.getTargets')['targetInfos']
        page = next(t['targetId'] for t in targets if t['type'] == 'page')
        self.session = self.call('Target.attachToTarget', targetId=page, flatten=True)['sessionId']
        for domain in ('Page', 'Runtime', 'Network', 'Log'):
            self.call(domain + '.enable')
        self.resize(*self.size)
        return self

    def __exit__(self, *_):
        # Asked to end, it ends its children, which would else still write into the profile.
        try:
            self.session = None
            self.call('Browser.close')
            self.process.wait(10)
        except (OSError, EOFError, TimeoutError, subprocess.TimeoutExpired):
            self.process.kill()
            self.process.wait()
        os.close(self.to)
        os.close(self.back)
        self.log.close()
        shutil.rmtree(self.profile, ignore_errors=True)

    def receive(self):
        while b'\0' not in self.left:
            wait = self.deadline - time.monotonic()
            if wait <= 0 or not select.select([self.back], [], [], wait)[0]:
                raise TimeoutError('the browser does not answer')
            data = os.read(self.back, 1 << 20)
            if not data:
                raise EOFError('the browser is gone')
            self.left += data
        text, self.left = self.left.split(b'\0', 1)
        return json.loads(text)

    def call(self, method, **params):
        self.last_id += 1
        message = {'id': self.last_id, 'method': method, 'params': params}
        if self.session:
            message['sessionId'] = self.session
        data = json.dumps(message).encode() + b'\0'
        while data:
            data = data[os.write(self.to, data):]
        while True:
            answer = self.receive()
            if answer.get('id') == self.last_id:
                if 'error' in answer:
                    raise RuntimeError(f'{method}: {answer["error"]}')
                return answer['result']
            self.events.append(answer)

    def wait_for(self, method):
        while not any(e.get('method') == method for e in self.events):
            self.events.append(self.receive())

    def open(self, path, fragment=''):
        self.events.clear()
        # By way of an empty page: a new fragment alone would not load the file again.
        self.call('Page.navigate', url='about:blank')
        self.wait_for('Page.loadEventFired')
        self.events.clear()
        self.call('Page.navigate', url=f'file://{os.path.abspath(path)}{fragment}')
        self.wait_for('Page.loadEventFired')

    def js(self, expression):
        answer = self.call('Runtime.evaluate', expression=expression, returnByValue=True,
                           awaitPromise=True)
        if 'exceptionDetails' in answer:
            raise RuntimeError(answer['exceptionDetails'])
        return answer['result'].get('value')

    def problems(self):
        """Messages of scripts that failed, and requests for anything but the files opened."""
        found = []
        for e in self.events:
            method, params = e.get('method'), e.get('params', {})
            if method == 'Runtime.exceptionThrown':
                found.append(params['exceptionDetails'].get('exception', {}).get('description'))
            elif method == 'Log.entryAdded' and params['entry']['level'] == 'error':
                found.append(params['entry']['text'])
            elif method == 'Network.requestWillBeSent':
                url = params['request']['url']
                if not url.startswith(('file://', 'about:', 'data:')):
                    found.append(url)
            elif method == 'Page.javascriptDialogOpening':
                found.append('dialog: ' + params['message'])
        return found

    def resize(self, width, height):
        self.call('Emulation.setDeviceMetricsOverride', width=width, height=height,
                  deviceScaleFactor=1, mobile=False)

    def dark(self, on=True):
        self.call('Emulation.setEmulatedMedia',
                  features=[{'name': 'prefers-color-scheme', 'value': 'dark' if on else 'light'}])

    def move(self, x, y):
        self.call('Input.dispatchMouseEvent', type='mouseMoved', x=x, y=y)

    def click(self, x, y):
        self.move(x, y)
        for kind in ('mousePressed', 'mouseReleased'):
            self.call('Input.dispatchMouseEvent', type=kind, x=x, y=y, button='left', clickCount=1)

    def drag(self, start, end):
        def event(kind, at, buttons):
            self.call('Input.dispatchMouseEvent', type=kind, x=at[0], y=at[1], button='left',
                      buttons=buttons, clickCount=1)
        self.move(*start)
        event('mousePressed', start, 1)
        event('mouseMoved', end, 1)
        event('mouseReleased', end, 0)

    def click_on(self, selector):
        """Clicks into the left part of the element, after scrolling it into view."""
        x, y = self.js(f'''(() => {{ const e = {selector}; e.scrollIntoView({{block: "center"}});
            const r = e.getBoundingClientRect();
            return [r.left + Math.min(r.width / 2, 20), r.top + r.height / 2]; }})()''')
        self.click(x, y)

    def key(self, name, modifiers=0):
        code = KEYS.get(name) or ord(name.upper())
        plain = len(name) == 1 and not modifiers
        params = {'key': name, 'windowsVirtualKeyCode': code, 'modifiers': modifiers}
        text = {'text': '\r'} if name == 'Enter' else {'text': name} if plain else {}
        self.call('Input.dispatchKeyEvent', type='keyDown' if text else 'rawKeyDown', **params,
                  **text)
        self.call('Input.dispatchKeyEvent', type='keyUp', **params)

    def type(self, text):
        self.call('Input.insertText', text=text)

    def shot(self, path):
        data = self.call('Page.captureScreenshot', format='png')['data']
        with open(path, 'wb') as f:
            f.write(base64.b64decode(data))
