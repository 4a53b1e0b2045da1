# SPDX-License-Identifier: Apache-2.0
"""Gives a page made of folded text what only a recording has: samples with times and threads, and
source lines. Reads and writes the data by what docs/formats.md says of them, not by dfg's code."""
import base64
import json
import re

TICK = 0.0001


def unpack(text):
    numbers, n, shift = [], 0, 0
    for byte in base64.b64decode(text):
        n |= (byte & 127) << shift
        shift += 7
        if byte < 128:
            numbers.append(n)
            n = shift = 0
    return numbers


def pack(numbers):
    out = bytearray()
    for n in numbers:
        while n >= 128:
            out.append(n & 127 | 128)
            n >>= 7
        out.append(n)
    return base64.b64encode(bytes(out)).decode()


def signed(n):
    return 2 * n if n >= 0 else -2 * n - 1


def names_by_number(steps, values):
    number, found = -1, []
    for step in steps:
        number += step
        found.append(values[number])
    return found


def paths(data):
    """For each node but the root the names from the outermost frame to its own."""
    frames = names_by_number(unpack(data['frames']['name']), data['names'])
    places = names_by_number(unpack(data['places']['frame']), frames)
    path, found = [], []
    for up, place in zip(unpack(data['nodes']['up']), unpack(data['nodes']['place'])):
        path = path[:len(path) - up] + [places[place]] if found else [places[place]]
        found.append(path)
    return found


def add_samples(page, thread_of, order):
    """thread_of(path, i): index of the threads; order(path): those with the least come first. One
    sample each 10 ms; the line of a place is 100 + its number."""
    begin, text, end = re.match(r'(.*<script id="data"[^>]*>)(.*?)(</script>.*)', page, re.S).groups()
    data = json.loads(text)
    found = paths(data)
    self = unpack(data['nodes']['self'])
    leaves = [(path, node + 1) for node, path in enumerate(found) for _ in range(self[node + 1])]
    leaves.sort(key=lambda leaf: order(leaf[0]))
    data['samples'] = {
        'tick': TICK,
        'time': pack(signed(0 if i == 0 else 100) for i in range(len(leaves))),
        'node': pack(node for _, node in leaves),
        'thread': pack(thread_of(path, i) for i, (path, _) in enumerate(leaves))}
    data['threads'] = [[1000, 1001, 0], [1000, 1002, 0], [2000, 2001, 1]]
    data['origins'] = [{'container': 'web-a', 'id': 'a' * 12, 'started': '2026-11-21T10:00:00Z'},
                       {'container': 'web-b', 'id': 'b' * 12, 'started': '2026-11-21T10:00:00Z'}]
    data['places']['line'] = pack(100 + i for i, _ in enumerate(unpack(data['places']['line'])))
    return begin + json.dumps(data).replace('<', '\\u003c') + end
