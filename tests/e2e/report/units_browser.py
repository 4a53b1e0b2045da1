# SPDX-License-Identifier: Apache-2.0
"""Checks of units-browser.t; arguments: the folder with the pages and pictures, that of the scripts' sources. With
DFG_SHOTS=DIR it keeps screenshots there."""
import os
import re
import sys

from browser import Browser
from checks import check, done, one, shot

folder, sources = sys.argv[1:]
SETTLE = 'new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))'

# As text_amount in C (tests/unit/test_layout.c).
AMOUNTS = [
    (0, 'bytes', '0 bytes'), (1, 'bytes', '1 bytes'), (999, 'bytes', '999 bytes'), (1000, 'bytes', '1.00 kB'),
    (1004, 'bytes', '1.00 kB'), (1005, 'bytes', '1.01 kB'), (9994, 'bytes', '9.99 kB'), (9995, 'bytes', '10.0 kB'),
    (99949, 'bytes', '99.9 kB'), (99950, 'bytes', '100 kB'), (999499, 'bytes', '999 kB'), (999500, 'bytes', '1.00 MB'),
    (3221225472, 'bytes', '3.22 GB'), (10 ** 12, 'bytes', '1.00 TB'), (10 ** 15, 'bytes', '1,000 TB'),
    (999, 'ns', '999 ns'), (1500, 'ns', '1.50 µs'), (12500000, 'ns', '12.5 ms'), (11 * 10 ** 9, 'ns', '11.0 s'),
    (999499999999, 'ns', '999 s'), (1234567 * 10 ** 9, 'ns', '1,234,567 s'),
    (0, 'samples', '0 samples'), (1, 'samples', '1 sample'), (1234567, 'samples', '1,234,567 samples'),
]


def source(*names):
    text = ''
    for name in names:
        with open(os.path.join(sources, name), encoding='utf-8') as f:
            text += f.read()
    return text


def text(b, selector):
    return b.js(f'{one(selector)}.textContent.replace(/[\\u00a0\\u202f]/g, " ").trim()')


def texts(b, selector):
    return b.js(f'[...document.querySelectorAll({selector!r})].map((e) => e.textContent.trim())')


def check_amounts(b):
    code = source('amount.js')
    for n, unit, want in AMOUNTS:
        check(f'{n} {unit} are {want}', b.js(f'(() => {{ {code}; return amountText({n}, {unit!r}); }})()'), want)
    pairs = b.js(f'''(() => {{ {code}; return [amountsText(3, 12345, "samples"), amountsText(0, 12345, "bytes"),
        amountsText(1, 0, "samples")]; }})()''')
    check('so is what was before and after', pairs, ['3 → 12,345 samples', '0 bytes → 12.3 kB', '1 → 0 samples'])
    page = source('amount.js', 'page/stats.js', 'page/util.js')
    for unit, want in (('samples', ['1 sample', '12,345 samples', '12,345', '999']),
                       ('ns', ['1 ns', '12.3 µs', '12.3 µs', '999'])):
        check(f'the page counts {unit}', b.js(f'''(() => {{ {page}; counting.unit = {unit!r};
            return [samplesText(1), samplesText(12345), countText(12345), countText(999)]; }})()'''), want)


def check_told(b):
    code = source('page/fold.js')
    told = b.js(f'''(() => {{ {code}; return [undefined, {{methods: [["m", "1 %"]], subjects: [], waits: []}}, {{methods: [],
        subjects: [["60.7 %", "text", "class", "method", "holder"], ["9 %", "text", "class", "", ""]], waits: []}},
        {{methods: [], subjects: [], waits: [[0, 1.5, "thread", "park in a.B.get", "a.B.get"]]}}]
        .map((verdict) => [...toldNames({{verdict, wall: verdict && verdict.waits[0] ? {{causes: ["park"]}} : null}})].sort()); }})()''')
    check('without a verdict no name is told', told[0], [])
    check('methods are', told[1], ['held by', 'm', 'waiting for', 'woken by'])
    check('so are classes, methods and holders', told[2], ['', 'class', 'held by', 'holder', 'method', 'waiting for', 'woken by'])
    check('and causes of waits with their methods', told[3], ['a.B.get', 'held by', 'park', 'waiting for', 'woken by'])


def check_titles(b):
    """What the picture's script reads of titles."""
    code = re.search(r'const number = .*?\n}\n', source('svg.js'), re.S).group()
    for title, exact, want in (
            ('a (b) (1,234 samples, 5.67%)', None, {'name': 'a (b)', 'n': 1234, 'unit': 'samples'}),
            ('a (1 sample, 1%)', None, {'name': 'a', 'n': 1, 'unit': 'samples'}),
            ('a (12,345 events, 1%)', None, {'name': 'a', 'n': 12345, 'unit': 'events'}),
            ('a (3.22 GB, 1%)', 'bytes 3221225472', {'name': 'a', 'n': 3221225472, 'unit': 'bytes'}),
            ('a (12 → 30 samples, 1.2 → 3 %, +1.80 %; self +0.50 %)', None,
             {'name': 'a', 'before': 12, 'after': 30, 'changes': '1.2 → 3 %, +1.80 %; self +0.50 %', 'unit': 'samples'}),
            ('a (0 ns → 1.50 µs, 0 → 3 %, +3 %; self +0 %)', 'ns 0 1500',
             {'name': 'a', 'before': 0, 'after': 1500, 'changes': '0 → 3 %, +3 %; self +0 %', 'unit': 'ns'})):
        got = b.js(f'(() => {{ {code}; const title = readTitle({title!r}, {exact!r} || null); return {{...title, unit}}; }})()'
                   .replace('None', 'null'))
        check(f'"{title}" is read', got, want)


def point_at_page(b, name):
    b.js(SETTLE)
    b.move(*b.js(f'''(() => {{ const f = dfg.parts.graph.flame, l = f.layers[0], t = l.tree;
        const i = [...t.frame].findIndex((x, k) => k && dfg.rec.nameOf(x) === {name!r});
        f.reveal({{layer: l, node: i}});
        const box = f.box(l, i), r = f.canvas.getBoundingClientRect();
        return [r.left + Math.max(box.x, 0) + Math.min(box.w, f.width) / 2, r.top + box.y + 9]; }})()'''))
    b.js(SETTLE)


def check_page(b):
    b.open(os.path.join(folder, 'lock', 'flame.html'))
    shot(b, 'page-lock')
    check('no script of a page of times fails', b.problems(), [])
    check('its first line says what is counted', text(b, '#verdict-text'), '3.13 s: time waiting for locks')
    lines = texts(b, '#verdict-methods li')
    check('then what was waited for, by whom', lines, ['97.1 % java.lang.Object, wanted by Flight.contend',
                                                      '2.9 % java.lang.Object, wanted by Flight.words'])
    tops = b.js('[...document.querySelectorAll("#verdict-methods li")].map((e) => e.getBoundingClientRect().top)')
    check('each in a line of its own', tops[1] > tops[0])
    check('the quality line has three digits', text(b, '#quality').split(' · ')[0], '3.13 s')
    point_at_page(b, 'java.lang.Object')
    check('so has the tooltip', '89.7 ms · ' in text(b, '#tip'))
    b.js('dfg.change({zoom: dfg.tree.children(0)[0]})')
    b.js(SETTLE)
    check('and the panel', bool(re.search(r'Total\s*3\.13 s', text(b, '#details'))))
    check('no number has eight digits', re.findall(r'\d{3},\d{3},\d{3}|\d{8,}', text(b, '#details')), [])
    b.click_on(one('#verdict-methods button'))
    check('a click on a line shows the callers of the class',
          b.js('[dfg.state.view, dfg.state.method]'), ['callers', 'java.lang.Object'])
    check('no script failed by it', b.problems(), [])
    b.open(os.path.join(folder, 'alloc', 'flame.html'))
    check('allocations have their line', texts(b, '#verdict-methods li')[0], '30.5 % byte[], allocated by Flight.words')
    b.open(os.path.join(folder, 'none', 'flame.html'))
    check('without any the page says so', (b.problems(), text(b, '#empty')), ([], 'Nothing of this event while recording.'))
    b.open(os.path.join(folder, 'diff.html'))
    b.js('dfg.change({zoom: dfg.tree.children(0)[0]})')
    b.js(SETTLE)
    check('a difference has amounts of both sides', (b.problems(), re.findall(r'Total (?:before|after)\s*160 MB', text(b, '#details'))),
          ([], ['Total before160 MB', 'Total after160 MB']))


def shown_rows(b):
    """The names of the frames that have rows of their own."""
    b.js(SETTLE)
    return b.js('''(() => { const l = dfg.parts.graph.layer, t = dfg.tree;
        return [...t.frame].map((x, i) => i && !l.folding.isInside(i) ? dfg.rec.nameOf(x) : "").filter(Boolean); })()''')


def check_held(b):
    path = os.path.join(folder, 'held.html')
    b.open(path)
    check('a chain of one row without subjects', 'held by' in shown_rows(b), False)
    with open(path, encoding='utf-8') as f:
        page = f.read()
    subjects = ('"verdict":{"text":"9 ns: time","methods":[],"subjects":[["100.0 %",'
                '"a.Box, wanted by a.B.want, held by a.C.hold","a.Box","a.B.want","a.C.hold"]],"warnings":[],"pauses":[],"compilations":[],"waits":[]},')
    marked = page.replace('{"title":', '{' + subjects + '"title":', 1)
    check('the page has data', marked != page)
    with open(path, 'w', encoding='utf-8') as f:
        f.write(marked)
    b.open(path)
    shot(b, 'page-held')
    rows = shown_rows(b)
    check('what the subjects name keeps its rows', [name for name in ('a.B.want', 'a.Box', 'held by', 'a.C.hold') if name in rows],
          ['a.B.want', 'a.Box', 'held by', 'a.C.hold'])
    check('no script fails', b.problems(), [])


def frame(name):
    return ('[...document.querySelectorAll(".frames > g")]'
            f'.find((g) => g.firstElementChild.textContent.startsWith({name!r} + " ("))')


def point_at(b, name):
    b.move(*b.js(f'(() => {{ const r = {frame(name)}.getBoundingClientRect();'
                 'return [r.left + 5, r.top + 5]; })()'))


def check_svg(b):
    b.open(os.path.join(folder, 'lock', 'flame.svg'))
    shot(b, 'lock')
    check('no script of a picture of times fails', b.problems(), [])
    check('its lines say what was waited for', texts(b, '.verdict')[0], '97.1 % java.lang.Object, wanted by Flight.contend')
    point_at(b, 'all')
    check('pointing tells three digits', text(b, '.details'), 'all · 3.13 s · 100 %')
    wrong = b.js('''(() => { const all = [...document.querySelectorAll(".frames > g:not([display]) rect")].map((r) =>
        [Number(r.getAttribute("data-n").split(" ")[1]), Number(r.getAttribute("width"))]);
        return all.filter(([n, width]) => Math.abs(width - 1380 * n / all[0][0]) > 1.1).length; })()''')
    check('frames are as wide as their exact amounts', wrong, 0)
    b.js(frame('computes-é世') + '.dispatchEvent(new MouseEvent("click", {bubbles: true}))')
    b.js(SETTLE)
    check('a click zooms', b.js(f'Math.round({frame("computes-é世")}.querySelector("rect").getAttribute("width"))'), 1380)
    b.key('Escape')
    b.key('F3')
    b.type('Flight.words')
    check('a search sums up', bool(re.fullmatch(r'Matched: 2\.87 % · 89\.7 ms', text(b, '.matched'))), True)
    check('no script failed by it', b.problems(), [])
    b.open(os.path.join(folder, 'diff.svg'))
    point_at(b, 'all')
    check('a difference has amounts of both sides', (b.problems(), text(b, '.details').split(' · ')[2]), ([], '160 MB → 160 MB'))


def main():
    with Browser(1400, 900, seconds=300) as b:
        b.open(os.path.join(folder, 'alloc', 'flame.html'))
        check_amounts(b)
        check_told(b)
        check_titles(b)
        check_page(b)
        check_held(b)
        check_svg(b)


main()
done()
