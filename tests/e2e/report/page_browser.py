# SPDX-License-Identifier: Apache-2.0
"""Checks of page-browser.t; argument: the folder with the pages. With DFG_SHOTS=DIR it keeps
screenshots there."""
import os
import sys

import checks
from browser import CTRL, SHIFT, Browser
from checks import check, done, one
from page_samples import add_samples

folder = sys.argv[1]
SETTLE = 'new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))'


def shot(b, name):
    b.js(SETTLE)
    checks.shot(b, name)


def text(b, selector):
    return b.js(f'{one(selector)}.textContent.replace(/[\\u00a0\\u202f]/g, " ").trim()')


def press(b, selector):
    b.click_on(one(selector))


def choose(b, selector, value):
    b.js(f'''(() => {{ const e = {one(selector)}; e.value = {value!r};
        e.dispatchEvent(new Event("change", {{bubbles: true}})); }})()''')


def until(b, condition):
    """What the browser does in its own time, going back in history for one."""
    for _ in range(100):
        if b.js(f'new Promise((done) => setTimeout(() => done({condition}), 20))'):
            return True
    return False


def state(b, key):
    return b.js(f'dfg.state.{key}')


def total(b, name):
    """Samples of all outermost frames of the name in the tree that is shown."""
    return b.js(f'''(() => {{ const t = dfg.tree, marks = dfg.rec.frameName.map((n) =>
        dfg.rec.names[n] === {name!r}); let sum = 0;
        t.eachOutermost(marks, (i) => sum += t.total[t.total.length - 1][i]); return sum; }})()''')


def roots(b):
    return b.js('dfg.tree.children(0).map((i) => dfg.rec.nameOf(dfg.tree.frame[i]))')


def unfold(b, name):
    """Opens the chain that the frame is folded into, if it is."""
    b.js(f'''(() => {{ const g = dfg.parts.graph, t = dfg.tree;
        const i = [...t.frame].findIndex((x, k) => k && dfg.rec.nameOf(x) === {name!r});
        if (i > 0 && g.layer.folding.head[i] >= 0) g.open(i); }})()''')


def click_frame(b, name, part='graph', layer=0):
    """As a user: where its box is painted."""
    if part == 'graph':
        unfold(b, name)
    b.js(SETTLE)
    b.click(*b.js(f'''(() => {{ const f = dfg.parts.{part}.flame, l = f.layers[{layer}], t = l.tree;
        const i = [...t.frame].findIndex((x, k) => k && dfg.rec.nameOf(x) === {name!r});
        f.reveal({{layer: l, node: i}});
        const box = f.box(l, i), r = f.canvas.getBoundingClientRect();
        return [r.left + Math.max(box.x, 0) + Math.min(box.w, f.width) / 2, r.top + box.y + 9]; }})()'''))


def pixel(b, name):
    """The colour at the left end of the frame's box."""
    unfold(b, name)
    return b.js(f'''(() => {{ const f = dfg.parts.graph.flame, l = f.layers[0], t = l.tree;
        const i = [...t.frame].findIndex((x, k) => k && dfg.rec.nameOf(x) === {name!r});
        f.paint();
        const box = f.box(l, i), p = f.context.getImageData(box.x + box.w - 4, box.y + 9, 1, 1).data;
        return [...p].slice(0, 3); }})()''')


DO_RUN = 'org.apache.tomcat.util.net.NioEndpoint$SocketProcessor.doRun'
TOTAL, GET, PRICE, SEND = ('com.example.web.Cart.total', 'java.util.HashMap.get',
                           'com.example.web.Price.<init>', 'tcp_sendmsg')
HOSTILE = 'com.example.web.Evil.</script><img src=x onerror=alert(1)>]]>&"\''


def check_start(b):
    check('no script fails, nothing is fetched', b.problems(), [])
    check('the page says what it is of', (text(b, '#title'), text(b, '#subtitle')),
          ('web: 10 s at 99 Hz', 'host.example'))
    check('the quality line is there', text(b, '#quality'),
          '1,000 samples · 3 lost · 99.8 % of Java stacks complete · 0.1 % frames unknown · '
          '0.1 % truncated')
    check('the sampling error is explained', 'Wilson' in text(b, 'footer'))
    check('all samples are in the tree', (b.js('dfg.tree.samples'), total(b, TOTAL)), (1000, 400))
    check('the hostile name is text', (total(b, HOSTILE), b.js('document.images.length')), (1, 0))
    check('without a change of state the address stays', b.js('location.hash'), '')
    check('colours are those of the picture', pixel(b, TOTAL), svg_colour(TOTAL))


def svg_colour(name):
    with open(os.path.join(folder, 'web.svg'), encoding='utf-8') as f:
        line = next(text for text in f if f'<title>{name} (' in text)
    rgb = line.split('fill="#')[1][:6]
    return [int(rgb[i:i + 2], 16) for i in (0, 2, 4)]


def check_zoom(b):
    click_frame(b, DO_RUN)
    shot(b, 'page-zoomed')
    check('a click zooms', b.js('dfg.rec.nameOf(dfg.tree.frame[dfg.state.zoom])'), DO_RUN)
    check('the frame has the whole width', b.js('''(() => { const f = dfg.parts.graph.flame;
        return Math.round(f.box(f.layers[0], dfg.state.zoom).w) === f.width; })()'''))
    check('the panel tells name, kind, figures', [part in text(b, '#details') for part in
                                                  (DO_RUN, 'Java', '739', '73.9 % ± 2.7')], [True] * 4)
    check('and the source line', 'line 1' in text(b, '.lines'))
    check('the zoom is in the address', 'zoom=' in b.js('location.hash'))
    click_frame(b, TOTAL)
    press(b, '#back')
    check('Back goes back', until(b, f'dfg.rec.nameOf(dfg.tree.frame[dfg.state.zoom]) === {DO_RUN!r}'))
    press(b, '#details .frames button')
    check('a caller in the panel is a way to it', b.js('dfg.state.zoom') != 0)
    press(b, '#reset')
    check('Reset shows all', (state(b, 'zoom'), b.js('location.hash')), (0, ''))
    press(b, '#flip')
    shot(b, 'page-icicle')
    check('icicle: the root is at the top', b.js('''(() => { const f = dfg.parts.graph.flame;
        return f.box(f.layers[0], 0).y; })()'''), 0)
    press(b, '#flip')


def check_pointing(b):
    unfold(b, TOTAL)
    b.js(SETTLE)
    b.move(*b.js(f'''(() => {{ const f = dfg.parts.graph.flame, l = f.layers[0], t = l.tree;
        const i = [...t.frame].findIndex((x) => dfg.rec.nameOf(x) === {TOTAL!r});
        const box = f.box(l, i), r = f.canvas.getBoundingClientRect();
        return [r.left + box.x + 20, r.top + box.y + 9]; }})()'''))
    check('pointing at a frame tells its name, kind, samples and share with its error',
          text(b, '#tip'), f'{TOTAL}Java · 400 samples · 40.0 % ± 3.0')
    b.move(700, 5)
    check('pointing elsewhere does not', b.js(one('#tip') + '.hidden'))


def check_search(b):
    b.key('/')
    b.type('hashmap')
    shot(b, 'page-searched')
    check('small letters find capitals; a match in a match counts once', text(b, '#matched'),
          '24.0 % ± 2.6 in 1 place, 2 frames')
    check('beside them, what is typed has room', b.js(f'{one("#term")}.clientWidth >= 130'))
    press(b, '#match-case')
    check('Aa: they do not', text(b, '#matched'), '0 % in 0 places')
    press(b, '#match-case')
    b.key('f', CTRL)
    b.type('HASHMAP')
    check('capital letters find themselves only', text(b, '#matched'), '0 % in 0 places')
    b.key('f', CTRL)
    b.type('java/util/HashMap#get$')
    check('/ and # find a dot', text(b, '#matched'), '24.0 % ± 2.6 in 1 place')
    check('matches have their colour', pixel(b, GET), [238, 90, 238])
    b.key('f', CTRL)
    b.type('write$|<init>$')
    check('a regular expression', text(b, '#matched'), '49.0 % ± 3.1 in 2 places, 5 frames')
    b.key('Enter')
    first = b.js('dfg.cursor')
    b.key('Enter')
    check('Enter goes from match to match', b.js('dfg.cursor') not in (0, first))
    b.key('F3')
    b.type('<init>(')
    check('what is no regular expression is looked for as it is', text(b, '#matched'),
          '0 % in 0 places')
    b.key('Escape')
    b.key('Escape')
    check('Escape ends the search', (state(b, 'term'), text(b, '#matched')), ('', ''))


def check_kinds(b):
    press(b, '.key:nth-child(1) .show')
    check('a kind in the legend fades the others', state(b, 'kind'), 'j')
    shot(b, 'page-kind')
    press(b, '.key:nth-child(1) .show')
    press(b, '.key:nth-child(2) .hide')
    check('× leaves a kind out: its time is its callers’', (total(b, GET), b.js(f'''(() => {{
        const t = dfg.tree, i = [...t.frame].findIndex((x) => dfg.rec.nameOf(x) === {TOTAL!r});
        return t.self[0][i]; }})()'''), b.js('dfg.tree.samples')), (0, 400, 1000))
    press(b, '.key:nth-child(2) .hide')
    check('again brings it back', total(b, GET), 240)


def check_roots(b):
    names = ['C2 CompilerThre', 'GC Thread#0', 'http-8080-exec-1', 'http-8080-exec-2']
    check('threads by name', roots(b), names)
    choose(b, '#threads', 'merged')
    check('threads merged: what starts them is one row', roots(b), ['[thread start]'])
    press(b, '#full')
    check('unfolded: its frames', roots(b), ['start_thread'])
    press(b, '#full')
    choose(b, '#threads', 'pool')
    check('threads by pool', roots(b), ['C2 CompilerThre', 'GC Thread#*', 'http-8080-exec-*'])
    choose(b, '#threads', 'id')
    check('threads by id', [n for n in roots(b) if 'exec-2' in n],
          ['http-8080-exec-2 · 1002', 'http-8080-exec-2 · 2001'])
    choose(b, '#threads', 'merged')
    choose(b, '#group', 'process')
    check('by process', roots(b), ['process 1000', 'process 2000'])
    choose(b, '#group', 'container')
    shot(b, 'page-containers')
    check('by container', roots(b), ['web-a', 'web-b'])
    check('no sample is lost by it', b.js('dfg.tree.samples'), 1000)
    choose(b, '#group', '')
    choose(b, '#threads', 'name')


def check_methods(b):
    press(b, '[data-view=methods]')
    shot(b, 'page-methods')
    rows = '[...document.querySelectorAll("#methods tbody tr")].map((r) => r.lastChild.textContent)'
    check('methods by self', b.js(rows)[:3], [SEND, 'java.util.HashMap.getNode', 'com.example.web.Λάμδα.漢字'])
    press(b, '#methods th:nth-child(2) button')
    check('methods by total', b.js(rows)[0], '[thread start]')
    check('the order is told to screen readers',
          b.js(one('#methods th:nth-child(2)') + '.getAttribute("aria-sort")'), 'descending')
    check('hostile names are text', b.js(f'{rows}.includes({HOSTILE!r})'))
    press(b, '#methods tbody tr:nth-child(5) button.link')
    check('a click on one shows its callers and callees', state(b, 'view'), 'callers')


def check_callers(b):
    b.js(f'dfg.showMethod(dfg.rec.frameName.findIndex((n) => dfg.rec.names[n] === {TOTAL!r}))')
    shot(b, 'page-callers')
    check('callers of a method, the nearest first', b.js('''(() => { const t = dfg.parts.callers.trees[0];
        return t.children(0).map((i) => [dfg.rec.nameOf(t.frame[i]), t.total[0][i]]); })()'''), [[DO_RUN, 400]])
    check('callees of a method', b.js('''(() => { const t = dfg.parts.callers.trees[1];
        return t.children(0).map((i) => [dfg.rec.nameOf(t.frame[i]), t.total[0][i]]); })()'''),
          [[PRICE, 160], [GET, 240]])
    click_frame(b, PRICE, 'callers', 1)
    check('a click on a callee chooses it', state(b, 'method'), PRICE)
    b.js(one('#callers canvas') + '.focus()')
    b.key('ArrowUp')
    b.key('Enter')
    check('keys do, too', state(b, 'method'), TOTAL)
    check('the panel is of the method', [part in text(b, '#details') for part in (TOTAL, '40.0 %', 'line 1')],
          [True] * 3)


def check_tree(b):
    press(b, '[data-view=tree]')
    shot(b, 'page-tree')
    row = 'document.activeElement.closest("tr")'
    b.js(one('#tree tbody tr') + '.focus()')
    check('a treegrid with levels', b.js(f'[{row}.getAttribute("aria-level"), '
          f'{row}.getAttribute("aria-expanded")]'), ['1', 'true'])
    b.key('ArrowDown')
    check('down: the hottest thread', b.js(row + '.lastChild.lastChild.textContent'), 'http-8080-exec-1')
    rows = b.js('document.querySelectorAll("#tree tbody tr").length')
    b.key('ArrowLeft')
    fewer = b.js('document.querySelectorAll("#tree tbody tr").length')
    b.key('ArrowRight')
    check('left closes, right opens', (fewer < rows, b.js(f'{row}.getAttribute("aria-expanded")')), (True, 'true'))
    b.js(f'{row}.click()')
    b.js(f'{row}.click()')
    check('a click closes, and opens the hot path', b.js('''[...document.querySelectorAll("#tree tbody tr")].some(
        (tr) => tr.textContent.endsWith("SocketProcessor.doRun"))'''))
    b.key('c')
    check('c: callers and callees', state(b, 'view'), 'callers')
    b.key('5')
    check('5: no timeline without a wall clock', state(b, 'view'), 'graph')
    b.key('1')
    check('1: the graph', state(b, 'view'), 'graph')


def check_time(b):
    left, top, width = b.js('''(() => { const r = document.querySelector("#heat canvas")
        .getBoundingClientRect(); return [r.left, r.top, r.width]; })()''')
    cell, columns = b.js('[dfg.heat.cell, dfg.heat.columns]')
    check('all samples are in the heat map', b.js('dfg.heat.counts.reduce((a, n) => a + n, 0)'), 1000)
    b.drag((left + 2, top + 40), (left + width * 0.25, top + 40))
    shot(b, 'page-span')
    shown = b.js('dfg.tree.samples')
    check('a span dragged over shows just its samples', (200 < shown < 300, total(b, SEND) == shown), (True, True))
    check('the address has it', 'to=' in b.js('location.hash'))
    check('it is told how many', text(b, '#shown'), f'{shown} samples of 1,000 shown')
    press(b, '[data-view=methods]')
    press(b, '#methods th:nth-child(1) button')
    check('all views follow', b.js('document.querySelector("#methods tbody tr").lastChild.textContent'), SEND)
    press(b, '[data-view=graph]')
    choose(b, '#to', '10')
    choose(b, '#from', '3.3')
    check('by the fields', (b.js('dfg.tree.samples'), total(b, SEND)), (670, 0))
    press(b, '#all-time')
    check('All takes it back', b.js('dfg.tree.samples'), 1000)
    b.js(one('#heat canvas') + '.focus()')
    for _ in range(3):
        b.key('ArrowRight', SHIFT)
    b.key('Enter')
    check('by keys', b.js('Math.round(dfg.state.to / dfg.heat.column)') in (3, 4))
    press(b, '#all-time')
    b.js(f'dfg.change({{term: {SEND!r}}})')
    check('during a search: when its matches ran', b.js('dfg.heat.counts.reduce((a, n) => a + n, 0)'), 330)
    b.key('Escape')


def check_folding(b):
    """Chains of only children, parts of the page, what is zoomed to."""
    b.js('dfg.reset()')
    folded = b.js('dfg.parts.graph.layer.rows')
    chain = b.js('[...dfg.parts.graph.layer.folding.sizes]')
    check('chains are folded', (bool(chain), folded < b.js('dfg.tree.rows')), (True, True))
    head, size = chain[0]
    b.js(f'dfg.parts.graph.flame.reveal({{layer: dfg.parts.graph.layer, node: {head}}})')
    b.js(SETTLE)
    at = b.js(f'''(() => {{ const f = dfg.parts.graph.flame, box = f.box(f.layers[0], {head}),
        r = f.canvas.getBoundingClientRect(); return [r.left + box.x + box.w / 2, r.top + box.y + 9]; }})()''')
    b.move(*at)
    check('a folded chain tells what is in it', f'{size} frames' in text(b, '#tip'))
    b.click(*at)
    check('a click opens it, and does not zoom', (b.js(f'dfg.parts.graph.layer.folded({head})'), state(b, 'zoom'),
                                                  b.js(f'dfg.parts.graph.layer.hides({head + size - 1})')),
          (0, 0, False))
    press(b, '#full')
    check('Unfold shows all', (b.js('dfg.parts.graph.layer.rows === dfg.tree.rows'), 'full=1' in b.js('location.hash')),
          (True, True))
    press(b, '#full')
    check('again folds all', b.js('dfg.parts.graph.layer.rows'), folded)
    high = b.js('document.querySelector("#graph").clientHeight')
    for panel in 'tkn':
        press(b, f'[data-panel={panel}]')
    b.js(SETTLE)
    shot(b, 'page-folded')
    check('parts of the page fold away', (state(b, 'folded'), b.js('dfg.heat.height'), b.js(
        one('#legend') + '.clientHeight'), b.js('document.querySelector("#graph").clientHeight') > high + 90),
          ('tkn', 12, 0, True))
    for panel in 'tkn':
        press(b, f'[data-panel={panel}]')
    check('and come back', state(b, 'folded'), '')
    b.resize(1000, 600)
    b.js(SETTLE)
    shot(b, 'page-low')
    check('a low window has the whole graph from its root on', b.js('''(() => { const f = dfg.parts.graph.flame;
        return f.box(f.layers[0], 0).y >= 0 && f.box(f.layers[0], 0).y < f.height; })()'''))
    b.resize(1400, 900)
    click_frame(b, TOTAL)
    press(b, '[data-view=methods]')
    rows = '[...document.querySelectorAll("#methods tbody tr")].map((r) => r.textContent)'
    check('what is zoomed to is named', (text(b, '#within-name'), b.js(one('#within') + '.hidden')), (TOTAL, False))
    check('its methods only, in shares of it', (len(b.js(rows)) < 12, any('60.0' in r for r in b.js(rows))), (True, True))
    b.js(f'dfg.showMethod(dfg.rec.frameName.findIndex((n) => dfg.rec.names[n] === {GET!r}))')
    check('callers and callees, too', b.js('''(() => { const t = dfg.parts.callers.trees[0];
        return t.children(0).map((i) => dfg.rec.nameOf(t.frame[i])); })()'''), [TOTAL])
    b.js(f'dfg.showMethod(dfg.rec.frameName.findIndex((n) => dfg.rec.names[n] === {SEND!r}))')
    check('a method that is not within it is said not to be', 'is not within' in text(b, '#callers-none'))
    choose(b, '#threads', 'pool')
    check('other roots keep the zoom', text(b, '#within-name'), TOTAL)
    choose(b, '#threads', 'name')
    press(b, '#all')
    check('× shows all', (state(b, 'zoom'), b.js(one('#within') + '.hidden')), (0, True))
    press(b, '[data-view=graph]')
    b.js('dfg.reset()')


def check_keys(b):
    b.key('u')
    b.js(one('#graph canvas') + '.focus()')
    for key in ('ArrowUp', 'ArrowUp', 'Enter'):
        b.key(key)
    check('arrows walk, Enter zooms', b.js('dfg.rec.nameOf(dfg.tree.frame[dfg.state.zoom])'), 'start_thread')
    check('it is announced', 'start_thread' in b.js(one('#live') + '.textContent'))
    b.key('b')
    check('b: back', until(b, 'dfg.state.zoom === 0'))
    b.key('u')
    check('u: folds again', state(b, 'full'), False)
    b.key('?')
    check('?: all keys', b.js(one('#keys') + '.open'))
    shot(b, 'page-keys')
    b.key('Escape')
    check('Escape closes them', until(b, '!' + one('#keys') + '.open'))
    b.js(one('[role=tab][aria-selected=true]') + '.focus()')
    b.key('ArrowRight')
    check('arrows walk over the views', (state(b, 'view'), b.js('document.activeElement.id')), ('tree', 'tab-tree'))
    b.key('Escape')
    b.key('1')
    check('every control has a name', b.js('''[...document.querySelectorAll("button, input, select, canvas")]
        .filter((e) => !(e.textContent.trim() || e.getAttribute("aria-label") || e.labels && e.labels.length))
        .map((e) => e.outerHTML)'''), [])


def check_looks(b):
    back = 'getComputedStyle(document.body).backgroundColor'
    check('light', b.js(back), 'rgb(255, 255, 255)')
    b.dark()
    b.js(SETTLE)
    shot(b, 'page-dark')
    check('dark where the user wants it', b.js(back), 'rgb(22, 25, 29)')
    press(b, '#theme')
    check('the switch overrides it', (b.js(back), state(b, 'theme')), ('rgb(255, 255, 255)', 'light'))
    press(b, '#theme')
    b.dark(False)
    b.js(SETTLE)
    b.resize(500, 900)
    shot(b, 'page-narrow')
    check('a narrow window: nothing stands out of it',
          b.js('document.documentElement.scrollWidth <= innerWidth'))
    b.resize(1400, 900)
    b.js(SETTLE)


def check_address(b, path):
    b.open(path, '#view=methods&sort=total&from=0&to=3.3&threads=merged&term=send&theme=dark')
    check('an address with state', (b.problems(), b.js('dfg.tree.samples'), roots(b), text(b, '#matched'),
                                    b.js('document.querySelectorAll("#methods tbody tr").length')),
          ([], 330, ['[thread start]'], '100 % in 1 place', 1))
    b.open(path, '#zoom=1e9&view=%22%3E&term=((&from=x&to=-1&group=y&kind=%3C&method=__proto__&sort=constructor')
    check('an address with nonsense', (b.problems(), b.js('dfg.tree.samples'), state(b, 'view')), ([], 1000, 'graph'))


def check_deep(b, path):
    b.open(path, '#zoom=300')
    b.js(SETTLE)
    shot(b, 'page-deep')
    check('a frame of an address is seen, however deep', b.js('''(() => { const f = dfg.parts.graph.flame,
        {y} = f.box(f.layers[0], 300); return y >= 0 && y < f.height; })()'''))
    check('and told about', text(b, '#details h2'), 'deep298')
    frames = 'document.querySelectorAll("#details .frames:first-of-type li").length'
    few = b.js(frames)
    press(b, '#details .frames li:last-child button')
    check('its callers: the nearest, then all', (few, b.js(frames)), (13, 300))
    b.open(path, '#view=callers')
    check('no method: it says how to choose one, and has nothing to scroll', b.js('''(() => {
        const e = document.querySelector("#callers");
        return e.textContent.includes("Select a method") && e.scrollHeight <= e.clientHeight; })()'''))


def check_difference(b):
    b.open(os.path.join(folder, 'diff.html'))
    shot(b, 'page-difference')
    check('a difference: both sides are there', (b.problems(), b.js('dfg.tree.total.map((t) => t[0])')),
          ([], [1057, 2114]))
    b.js('dfg.change({view: "methods"})')
    check('what changed most comes first', b.js('''[...document.querySelectorAll("#methods tbody tr")]
        .map((r) => r.lastChild.textContent)[0]'''), 'Shop.legacy')
    legacy = b.js('''(() => { const t = dfg.tree; return [...t.frame].findIndex((x) =>
        dfg.rec.nameOf(x) === "Shop.legacy"); })()''')
    check('what vanished has a width, and none after', (b.js(f'dfg.tree.value[{legacy}] > 0'), b.js(
        f'(dfg.change({{view: "graph", sides: "after"}}), dfg.tree.value[{legacy}])')), (True, 0))
    check('the change and how sure it is', 'z' in text(b, '#details'))


def check_ways(b, path):
    b.open(path)
    check('a method is one box however it ran, a function another', b.js('''dfg.tree.children(dfg.tree.find([
        dfg.tree.frame[1]], dfg.rec.methodFrame)).map((i) => [dfg.rec.nameOf(dfg.tree.frame[i]),
        dfg.rec.kindOf(dfg.tree.frame[i]).letter, dfg.tree.total[0][i], dfg.tree.children(i).length])'''),
          [['f', 'n', 1, 1], ['f', 'i', 9, 1]])
    b.js('dfg.select(dfg.tree.total[0].indexOf(9))')
    check('its ways are told', text(b, '#details-body p'), 'Java, inlined 44.4 %, Java 33.3 %, Java, interpreted 22.2 %')
    check('the legend counts them', [text(b, f'.key:nth-child({i}) .show') for i in (1, 2, 3)],
          ['Java 70.0 %', 'Java, inlined 0 %', 'Java, interpreted 30.0 %'])
    press(b, '.key:nth-child(2) .hide')
    check('one that is left out does not count', b.js('dfg.tree.total[0].includes(5)'))
    press(b, '.key:nth-child(2) .hide')


def check_copy(b, path):
    b.open(path)
    b.js('''window.copied = []; Object.defineProperty(navigator, "clipboard", {configurable: true,
        value: {writeText: (text) => { window.copied.push(text); return Promise.resolve(); }}});
        dfg.select(dfg.tree.total[0].indexOf(9));''')
    for label in ('Copy name', 'Copy stack'):
        press_text(b, label)
    check('a name and a stack can be copied', (until(b, 'window.copied.length === 2'), b.js('window.copied')),
          (True, ['f', 'f\nmain']))
    b.js('Object.defineProperty(navigator, "clipboard", {value: undefined}); dfg.select(0); dfg.select(dfg.tree.total[0].indexOf(9))')
    press_text(b, 'Copy name')
    check('also without a clipboard, if only by the user\'s keys', until(
        b, '[...document.querySelectorAll("#details button")].some((e) => /^Copied|^Copy: Ctrl C/.test(e.textContent))'))


def press_text(b, text):
    b.js(f'[...document.querySelectorAll("#details button")].find((e) => e.textContent === {text!r}).click()')


def check_verdict(b):
    check('a page without a verdict has no room for it', b.js(one('#verdict') + '.hidden'))
    path = os.path.join(folder, 'flame.html')
    with open(path, encoding='utf-8') as f:
        page = f.read()
    with open(path, 'w', encoding='utf-8') as f:
        f.write(page.replace('"warnings":[]', '"warnings":["9 % <b>lost</b>: do less"]'))
    b.open(path)
    shot(b, 'page-verdict')
    check('the verdict says what the processors worked for', text(b, '#verdict-text').split()[0], 'application')
    check('in a high window it is open', b.js(one('#verdict') + '.open'))
    check('a warning is counted, with its text as tooltip', (text(b, '#verdict-bad'), b.js(one('#verdict-bad') + '.title')),
          ('1 warning', '9 % <b>lost</b>: do less'))
    check('it is text, and coloured', (text(b, '#verdict-warnings'), b.js(f'getComputedStyle({one("#quality")}).color')
                                      == b.js(f'getComputedStyle({one("#verdict-warnings p")}).color')),
          ('9 % <b>lost</b>: do less', True))
    name = b.js(one('#verdict-methods button') + '.title.split(":")[0]')
    press(b, '#verdict-methods button')
    check('a click on a method shows its callers and callees', (state(b, 'view'), state(b, 'method')), ('callers', name))
    check('no script failed by it', b.problems(), [])


def main():
    path = os.path.join(folder, 'web.html')
    with open(path, encoding='utf-8') as f:
        page = f.read()
    with open(path, 'w', encoding='utf-8') as f:
        f.write(add_samples(page, lambda names, i: 0 if 'exec-2' not in names[0] else 1 + i % 2,
                            lambda names: names[-1] != SEND))
    with Browser(1400, 900, seconds=300) as b:
        b.open(path)
        b.js('dfg.animates = false')
        shot(b, 'page')
        check_start(b)
        check_pointing(b)
        check_zoom(b)
        check_search(b)
        check_kinds(b)
        check_roots(b)
        check_methods(b)
        check_callers(b)
        check_tree(b)
        check_time(b)
        check_folding(b)
        check_keys(b)
        check_looks(b)
        check('no script failed, nothing was fetched', b.problems(), [])
        check_address(b, path)
        check_deep(b, os.path.join(folder, 'deep.html'))
        check_ways(b, os.path.join(folder, 'ways.html'))
        check_copy(b, os.path.join(folder, 'ways.html'))
        check_difference(b)
        check_verdict(b)
        b.open(os.path.join(folder, 'hostile.html'))
        check('hostile names, title, subtitle: nothing but text',
              (b.problems(), b.js('document.images.length + document.querySelectorAll("b").length'),
               b.js('document.scripts.length'), b.js('dfg.tree.samples')), ([], 0, 1, 10))
        b.js('document.body.append(Object.assign(document.createElement("script"), {textContent: "window.bad = 1"}))')
        check('the policy lets no other script run', b.js('window.bad === undefined'))
        check('nor anything be fetched', b.js('fetch("http://127.0.0.1:9/").then(() => "fetched", () => "refused")'),
              'refused')
        b.open(os.path.join(folder, 'empty.html'))
        shot(b, 'page-empty')
        check('an empty page says so', (b.problems(), 'No samples' in text(b, '#empty'),
                                        b.js(one('#empty') + '.hidden')), ([], True, False))


main()
done()
