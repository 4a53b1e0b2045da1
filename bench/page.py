# SPDX-License-Identifier: Apache-2.0
"""Measures a page for bench/page.sh; arguments: the page, how often."""
import sys

from browser import Browser

ZOOMS = 12
# In and out of the widest paths, each while pictures are counted.
ZOOM = f'''(async () => {{
    const app = window.dfg, tree = app.tree, times = [];
    let node = 0, done = false;
    const count = (now) => {{ times.push(now); if (!done) requestAnimationFrame(count); }};
    requestAnimationFrame(count);
    for (let i = 0; i < {ZOOMS}; i++) {{
        const next = tree.children(node).sort((a, b) => tree.value[b] - tree.value[a])[0];
        node = i % 3 === 2 || next === undefined ? 0 : next;
        app.zoom(node);
        await new Promise((later) => setTimeout(later, 300));
    }}
    done = true;
    const gaps = times.slice(1).map((t, i) => t - times[i]).sort((a, b) => a - b);
    return [1000 * gaps.length / (times[times.length - 1] - times[0]), gaps[Math.floor(gaps.length * 0.95)]];
}})()'''

with Browser(1400, 900, seconds=600) as b:
    for _ in range(int(sys.argv[2])):
        b.open(sys.argv[1])
        b.js('new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))')
        begin, drawn, nodes = b.js('''[performance.getEntriesByName('dfg-begin')[0].startTime,
            performance.getEntriesByName('dfg-drawn')[0].startTime, window.dfg.tree.count]''')
        rate, slow = b.js(ZOOM)
        print(f'{nodes} nodes: open {drawn:.0f} ms (script {drawn - begin:.0f}), '
              f'zoom {rate:.0f} pictures/s, 95 % of them within {slow:.0f} ms')
    assert b.problems() == [], b.problems()
