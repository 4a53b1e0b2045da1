# SPDX-License-Identifier: Apache-2.0
"""Checks of svg-browser.t; argument: the folder with the pictures. With DFG_SHOTS=DIR it keeps
screenshots there."""
import os
import re
import sys

from browser import CTRL, Browser
from checks import check, done, one, shot

folder = sys.argv[1]
SETTLE = 'new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))'


def frame(name):
    return ('[...document.querySelectorAll(".frames > g")]'
            f'.find((g) => g.firstElementChild.textContent.startsWith({name!r} + " ("))')


def text(b, selector):
    return b.js(one(selector) + '.textContent')


def shown(b):
    return b.js('[...document.querySelectorAll(".frames > g:not([display])")].length')


def box(b, name):
    """Left edge and width of a frame, in whole pixels; None when it is not shown."""
    return b.js(f'''(() => {{ const g = {frame(name)}, r = g.querySelector("rect");
        return g.hasAttribute("display") ? null :
            [Math.round(r.getAttribute("x")), Math.round(r.getAttribute("width"))]; }})()''')


def fragment(b):
    return b.js('location.hash')


def hits(b):
    return b.js('document.querySelectorAll(".frames > .hit").length')


DO_RUN = 'org.apache.tomcat.util.net.NioEndpoint$SocketProcessor.doRun'
TOTAL = 'com.example.web.Cart.total'


def check_start(b, everything):
    check('no script fails, nothing is fetched', b.problems(), [])
    check('all frames are shown', shown(b), everything)
    check('the whole has the width of the window', box(b, 'all'), [10, 1180])
    check('the quality line is there', text(b, '.quality'),
          '1,000 samples · 3 lost · 99.8 % of Java stacks complete · 0.1 % frames unknown · '
          '0.1 % truncated')
    check('the hostile name is text', b.js('''["img", "script"].map((name) =>
        document.getElementsByTagNameNS("*", name).length).join()'''), '0,1')
    check('names do not leave their frames', b.js('''
        [...document.querySelectorAll(".frames > g")].filter((g) => g.querySelector("text") &&
            g.querySelector("text").getComputedTextLength() + 3 >
            Number(g.querySelector("rect").getAttribute("width"))).length'''), 0)
    check('without a change of state the address stays', fragment(b), '')


def point_at(b, name):
    b.move(*b.js(f'(() => {{ const r = {frame(name)}.getBoundingClientRect();'
                 'return [r.left + 50, r.top + 5]; })()'))


def check_hover(b):
    point_at(b, TOTAL)
    check('pointing at a frame tells its name, kind, samples and share', text(b, '.details'),
          f'{TOTAL} · Java · 400 samples · 40 %')
    b.move(600, 2)
    check('pointing elsewhere does not', text(b, '.details'), ' ')


def check_zoom(b, everything):
    b.click_on(frame(DO_RUN))
    shot(b, 'zoomed')
    check('a click zooms', box(b, DO_RUN), [10, 1180])
    point_at(b, TOTAL)
    check('pointing tells both shares', text(b, '.details'),
          f'{TOTAL} · Java · 400 samples · 40 % · 54.13 % of what is shown')
    point_at(b, 'all')
    check('of the root only the share of all', text(b, '.details'), 'all · 1,000 samples · 100 %')
    check('callers get the whole width', box(b, 'http-8080-exec-1'), [10, 1180])
    check('the share of a callee grows', box(b, TOTAL)[1], round(1180 * 400 / 739 - 0.5))
    check('others are hidden', box(b, 'http-8080-exec-2'), None)
    check('the frame is in the address', fragment(b).startswith('#z='))
    check('what was cut now fits',
          b.js(frame('com.example.web.Price.<init>') + '.querySelector("text").textContent'),
          'com.example.web.Price.<init>')
    check('Reset appears', b.js('getComputedStyle(document.querySelector(".button.reset"))'
                                '.visibility'), 'visible')
    b.click_on(one('.button.reset'))
    check('Reset shows all', shown(b), everything)
    b.click_on(frame(TOTAL))
    b.click_on(frame('all'))
    check('a click on the root shows all', (shown(b), fragment(b)), (everything, ''))
    b.click_on(frame(TOTAL))
    b.key('Escape')
    check('Escape shows all', (shown(b), fragment(b)), (everything, ''))


def check_search(b):
    b.key('f', CTRL)
    b.type('hashmap')
    shot(b, 'searched')
    check('small letters find capitals; a hit in a hit counts once', (hits(b), text(b, '.matched')),
          (2, 'Matched: 24 % · 240 samples'))
    b.key('i', CTRL)
    check('Ctrl-I: they do not', (hits(b), text(b, '.matched'), fragment(b)),
          (0, 'Matched: 0 % · 0 samples', '#s=hashmap&mc=1'))
    b.click_on(one('.button.mc'))
    check('the Aa button does the same', (hits(b), fragment(b)), (2, '#s=hashmap'))
    check('hits have their colour', b.js(
        f'getComputedStyle({frame("java.util.HashMap.get")}.querySelector("rect")).fill'),
        'rgb(238, 90, 238)')
    b.click_on(one('.button.search'))
    b.type('write$|<init>')
    check('a regular expression', text(b, '.matched'), 'Matched: 49 % · 490 samples')
    b.key('Enter')
    check('Enter keeps the search and closes the field',
          (hits(b), b.js(one('foreignObject') + '.hasAttribute("display")')), (5, True))
    b.click_on(frame(DO_RUN))
    check('when zoomed, the share is of what is shown', text(b, '.matched'),
          'Matched: 66.31 % · 490 samples')
    b.key('F3')
    b.type('<init>(')
    check('what is no regular expression is looked for as it is', hits(b), 0)
    b.key('Escape')
    check('Escape ends search and zoom', (hits(b), text(b, '.matched'), fragment(b)), (0, '', ''))


def check_kinds(b):
    b.click_on(one('.key.k'))
    check('a click on a kind finds it', text(b, '.matched'), 'Matched: 33 % · 330 samples')
    check('and fades the others', b.js('document.querySelectorAll(".frames > .k:not(.faded)").length'),
          b.js('document.querySelectorAll(".frames > g:not(.faded)").length'))
    check('the kind is in the address', fragment(b), '#k=k')
    b.click_on(one('.key.k'))
    check('again ends it', b.js('document.querySelectorAll(".faded").length'), 0)


def check_keyboard(b):
    b.js(frame('all') + '.focus()')
    b.key('ArrowUp')
    b.key('ArrowRight')
    b.key('ArrowRight')
    check('arrows walk over the frames', text(b, '.details').split(' · ')[0], 'http-8080-exec-1')
    b.key('Enter')
    check('Enter zooms', box(b, 'http-8080-exec-1'), [10, 1180])
    b.key('ArrowDown')
    b.key('Enter')
    check('down is the caller', box(b, 'http-8080-exec-2') is not None)


def check_views(b):
    b.click_on(one('.button.flip'))
    check('icicle: the root is above its callees', b.js(
        f'{frame("all")}.querySelector("rect").getBBox().y < '
        f'{frame(TOTAL)}.querySelector("rect").getBBox().y'))
    b.click_on(one('.button.flip'))
    b.resize(700, 600)
    b.js(SETTLE)
    check('the picture follows the window', box(b, 'all'), [10, 680])
    check('nothing stands out of it', b.js('''
        [...document.querySelectorAll("svg > text, .legend text, .button rect")].filter((e) =>
            e.getBoundingClientRect().right > innerWidth).length'''), 0)
    shot(b, 'narrow')
    b.resize(1200, 800)
    b.dark()
    check('dark where the user wants it', b.js(f'getComputedStyle({one(".back")}).fill'),
          'rgb(22, 25, 29)')
    shot(b, 'dark')
    b.dark(False)


def check_address(b, path):
    index = b.js(f'[...document.querySelectorAll(".frames > g")].indexOf({frame(DO_RUN)})')
    b.open(path, f'#z={index}&s=Cart&mc=1&k=j&icicle=1')
    check('an address with state: zoomed, searched, filtered, turned over',
          (box(b, DO_RUN), hits(b), text(b, '.matched'),
           b.js('[...document.querySelectorAll(".on")].length')),
          ([10, 1180], 1, 'Matched: 54.13 % · 400 samples', 4))
    b.open(path, '#z=99999&k=%22%3E&s=((')
    check('an address with nonsense', (b.problems(), box(b, 'all')), ([], [10, 1180]))


def check_difference(b, path):
    b.open(path)
    names = ['Shop.legacy', 'Shop.stream']  # gone, and new

    def widths():
        return text(b, '.button.width > text'), *[(box(b, name) or [0, 0])[1] for name in names]

    check('a difference: frames are as wide as both shares', widths(), ('Widths: both', 68, 35))
    b.key('w')
    check('w: as after, what is gone is hidden', widths(), ('Widths: after', 0, 70))
    check('and is in the address', fragment(b), '#w=after')
    b.click_on(one('.button.width'))
    check('the button: as before', widths(), ('Widths: before', 137, 0))
    shot(b, 'difference')
    b.key('w')
    check('and both again', (widths(), fragment(b)), (('Widths: both', 68, 35), ''))
    b.open(path, '#w=after')
    check('an address with the widths', widths(), ('Widths: after', 0, 70))


def check_high(b, path):
    """Of what is asked for, whether it is within the window."""
    def seen():
        b.js(SETTLE)
        return b.js('[' + ', '.join((frame('all'), frame('deep99'), one('.title'), one('.quality'))) +
                    '''].map((e) => { const r = e.getBoundingClientRect();
                       return r.top >= 0 && r.bottom <= innerHeight; })''')

    b.open(path)
    check('a picture higher than the window opens at its root, with its head and foot', seen(),
          [True, False, True, True])
    b.js('scrollTo(0, 0)')
    check('scrolled up, head and foot are still there', seen(), [False, True, True, True])
    b.js(frame('all') + '.focus()')
    check('the foot does not hide the frame in focus', seen(), [True, False, True, True])
    for _ in range(70):
        b.key('ArrowUp')
    b.js(SETTLE)
    check('nor does the head', b.js(f'''(() => {{
        const g = {frame('deep68')}, r = g.getBoundingClientRect();
        return document.activeElement === g &&
            g.contains(document.elementFromPoint(r.left + 100, r.top + 2)); }})()'''))
    b.click(*b.js(f'''(() => {{ const r = {one('.button.flip')}.getBoundingClientRect();
        return [r.left + 5, r.top + 5]; }})()'''))
    check('as an icicle it is at its root, too', seen(), [True, False, True, True])


def main():
    path = os.path.join(folder, 'web.svg')
    with open(path, encoding='utf-8') as f:
        everything = len(re.findall(r'samples?, [\d.]+%\)</title>', f.read()))
    with Browser(1200, 800) as b:
        b.open(path)
        shot(b, 'normal')
        check_start(b, everything)
        check_hover(b)
        check_zoom(b, everything)
        check_search(b)
        check_kinds(b)
        check_keyboard(b)
        check_views(b)
        check('no script failed, nothing was fetched', b.problems(), [])
        check_address(b, path)
        check_difference(b, os.path.join(folder, 'diff.svg'))
        check_high(b, os.path.join(folder, 'high.svg'))
        b.open(os.path.join(folder, 'empty.svg'))
        b.key('f', CTRL)
        b.type('x')
        b.key('Escape')
        shot(b, 'empty')
        check('an empty picture works', (b.problems(), 'No samples' in text(b, '.empty')),
              ([], True))


main()
done()
