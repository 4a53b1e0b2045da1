#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Folded text of an export, to be held against dfg's own: exports.py FORMAT FILE.

FORMAT: json, firefox, speedscope; traces, what "pprof -traces -sample_index=samples" prints; folded.
The last three lose the kinds: "folded" takes them from dfg's own text."""
import collections
import json
import re
import sys

SUFFIX = {'kernel': '_[k]', 'java': '_[j]', 'inlined': '_[i]', 'interpreted': '_[0]',
          'Kernel': '_[k]', 'Java': '_[j]', 'Java, inlined': '_[i]', 'Java, interpreted': '_[0]'}


def tree(d):
    frames = [f['name'] + SUFFIX.get(f['kind'], '') for f in d['frames']]
    paths = []
    for n in d['nodes']:
        paths.append(() if n['parent'] is None else paths[n['parent']] + (frames[n['frame']],))
        yield paths[-1], n['self']
    children = collections.Counter()
    for n in d['nodes'][1:]:
        children[n['parent']] += n['total']
    for i, n in enumerate(d['nodes']):
        assert n['total'] == n['self'] + children[i], n


def firefox(d):
    shared, text = d['shared'], d['shared']['stringArray']
    table, frames, funcs = shared['stackTable'], shared['frameTable'], shared['funcTable']
    kinds = [SUFFIX.get(c['name'], '') for c in d['meta']['categories']]
    for columns in [table, frames, funcs, shared['resourceTable']]:
        for name, column in columns.items():
            assert name == 'length' or len(column) == columns['length'], name
    for t in d['threads']:
        s = t['samples']
        assert s['time'] == sorted(s['time']), t['name']
        for stack, weight in zip(s['stack'], s['weight']):
            path = []
            while stack is not None:
                f = table['frame'][stack]
                path.append(text[funcs['name'][frames['func'][f]]] + kinds[frames['category'][f]])
                stack = table['prefix'][stack]
            yield (t['name'], *reversed(path)), weight


def speedscope(d, period=10):
    """Of the threads; the first profile has them all, and empty stacks where none ran."""
    frames = [f['name'] for f in d['shared']['frames']]
    counts = collections.Counter()
    for p in d['profiles']:
        assert p['unit'] == 'milliseconds' and abs(sum(p['weights']) - p['endValue']) < 1, p['name']
        name, overlap = re.match(r'(.*?)(?: \(up to \d+ at a time: 1 ms is (\d+) ms of .*)?$', p['name']).groups()
        thread = re.sub(r' \(\d+\)$', '', name)
        for stack, weight in zip(p['samples'], p['weights']):
            count = round(weight * int(overlap or 1) / period)
            counts[p is d['profiles'][0]] += count if stack else 0
            if stack and p is not d['profiles'][0]:
                yield (thread, *(frames[f] for f in stack)), count
    assert counts[True] == counts[False], counts


def traces(text):
    for block in re.split(r'-+\+-+\n', text)[1:]:
        thread, count, path = '', 0, []
        for line in block.splitlines():
            label = re.match(r' +thread: +(.*)', line)
            value = re.match(r' +(\d+)   (\S.*)', line)
            if label:
                thread = label[1]
            elif value:
                count = int(value[1])
                path.append(value[2])
            elif path:
                path.append(line.strip())
        yield (thread, *(re.sub(r' \(inline\)$', '', f) for f in reversed(path))), count


def folded(text):
    for line in text.splitlines():
        path, count = line.rsplit(' ', 1)
        yield tuple(re.sub(r'_\[[kji0]\]$', '', f) for f in path.split(';')), int(count)


def main():
    name, text = sys.argv[1], open(sys.argv[2], encoding='utf-8').read()
    rows = {'traces': traces, 'folded': folded}[name](text) if name in ('traces', 'folded') else \
        {'json': tree, 'firefox': firefox}[name](json.loads(text)) if name != 'speedscope' else \
        speedscope(json.loads(text), float(sys.argv[3]))
    counts = collections.Counter()
    for path, count in rows:
        counts[';'.join(path)] += count
    for path in sorted(counts):
        if counts[path]:
            print(path, counts[path])


main()
