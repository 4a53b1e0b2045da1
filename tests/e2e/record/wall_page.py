# SPDX-License-Identifier: Apache-2.0
"""Checks of wall.t: the page of tests/java/Wall.java's wall clock in a real browser. Arguments: the page, and one
of merged profiles. With DFG_SHOTS=DIR it keeps
screenshots there."""
import sys

from browser import Browser
from checks import check, done, one, shot

SETTLE = 'new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))'
TIMELINE = 'dfg.parts.timeline'


def text(b, selector):
    return b.js(f'{one(selector)}.textContent')


def frames(b):
    """The names in the details' stacks."""
    return b.js('[...document.querySelectorAll("#details .frames li")].map((e) => e.textContent)')


with Browser(1400, 900) as b:
    b.open(sys.argv[1])
    b.js(SETTLE)
    shot(b, 'wall')
    check('the first line says who waits for what', '% of ' in text(b, '#verdict-text') and "'s time " in text(b, '#verdict-text'))
    check('the longest waits are listed', b.js('document.querySelectorAll("#verdict-tables tbody tr").length'), 50)
    shown, whole = b.js('[dfg.tree.samples, dfg.rec.whole]')
    check('what is idle is left out', 0 < shown < whole)
    check('which is said', 'shown' in text(b, '#shown'))
    b.click_on(one('#idle'))
    check('until it is asked for', b.js('dfg.tree.samples'), whole)
    b.click_on(one('#idle'))

    check('the heat map is of waits', b.js('(() => { const h = dfg.heat; return !h.section.hidden && h.counts.reduce((sum, n) => sum + n, 0); })()') > 1e9)
    b.js('dfg.change({from: 2, to: 3})')
    within = b.js('dfg.tree.samples')
    check('a span shows what was waited in it', 1e9 < within < 30e9)
    b.js('dfg.change({from: 0, to: 0})')
    b.click_on(one('#tab-timeline'))
    b.js(SETTLE)
    shot(b, 'timeline')
    lanes = b.js(f'{TIMELINE}.lanes.map((lane) => lane.thread.name)')
    check('the timeline has a row for each thread that waits', {'wanter', 'holder', 'sleeper', 'asker'} <= set(lanes))
    check('the bars are as long as the waits', b.js(f"""(() => {{ const t = {TIMELINE}, lane = t.lanes.find((l) => l.thread.name === "sleeper");
        const waits = lane.waits.map((i) => t.wall.waits[i]), long = waits.filter((w) => w.end - w.begin > 0.0169);
        const slept = long.filter((w) => t.wall.causes[w.cause] === "sleep"); // not all: the collector stops it, too
        return long.length > waits.length / 2 && slept.length >= 0.8 * long.length; }})()"""))
    # A wait for the monitor whose waker is known.
    at = b.js(f"""(() => {{ const t = {TIMELINE}, i = t.wall.waits.findIndex((w) => w.waker >= 0 && w.end - w.begin > 0.01 &&
        t.wall.causes[w.cause] === "monitor" && t.meanwhile(t.wall.waits.indexOf(w)) >= 0), w = t.wall.waits[i];
        t.zoomTo(w.begin - 0.05, w.end + 0.05);
        const box = t.canvas.getBoundingClientRect(), row = t.lanes.findIndex((lane) => lane.number === w.thread);
        return [i, box.left + t.x((w.begin + w.end) / 2), box.top + 22 + row * 16 + 8 - t.scroller.scrollTop]; }})()""")
    b.js(SETTLE)
    b.click(at[1], at[2])
    b.js(SETTLE)
    shot(b, 'wait')
    check('a click selects the bar', b.js(f'{TIMELINE}.number'), at[0])
    check('it is named with what was waited for', text(b, '#details h2'), 'wanter: monitor Wall$Held')
    names = frames(b)
    check('it has a chain: who woke it, and what that one waited for before',
          'woken by holder' in names[0] and names[1].startswith('which before waited: holder, sleep'))
    check('its stack', 'Wall.wants' in names)
    check('and the stack of who woke it', 'Wall.holds' in names)
    b.js('document.querySelector("#details .frames button.link:last-of-type") && '
         '[...document.querySelectorAll("#details .frames button.link")][1].click()')
    check('a click on the chain goes there', text(b, '#details h2').startswith('holder: sleep'))
    b.js(f'{TIMELINE}.canvas.focus()')
    before = b.js(f'{TIMELINE}.number')
    b.key('ArrowRight')
    check('keys move from wait to wait', b.js(f'{TIMELINE}.number') != before and text(b, '#details h2').startswith('holder'))
    b.key('ArrowUp' if b.js(f'{TIMELINE}.row()') else 'ArrowDown')
    check('and from thread to thread', not text(b, '#details h2').startswith('holder'))
    b.dark()
    b.js(SETTLE)
    shot(b, 'timeline-dark')
    b.open(sys.argv[2])
    b.js(SETTLE)
    shown, whole = b.js('[dfg.tree.samples, dfg.rec.whole]')
    check('a page of profiles leaves out what is idle, too', 0 < shown < whole)
    check('  it has no timeline', b.js(f'{one("#tab-timeline")}.hidden'))
    check('nothing went wrong in the browser', b.problems(), [])
done()
