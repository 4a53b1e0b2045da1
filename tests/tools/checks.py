# SPDX-License-Identifier: Apache-2.0
"""Test Anything Protocol for browser tests, and pictures of what they see: with DFG_SHOTS=DIR."""
import os
import sys

count = failed = 0


def check(name, got, want=True):
    global count, failed
    count += 1
    passed = got == want
    print(f'{"ok" if passed else "not ok"} {count} - {name}')
    if not passed:
        failed += 1
        print(f'#  got: {got!r}\n# want: {want!r}')


def shot(b, name):
    if 'DFG_SHOTS' in os.environ:
        b.shot(os.path.join(os.environ['DFG_SHOTS'], name + '.png'))


def one(selector):
    return f'document.querySelector({selector!r})'


def done():
    print(f'1..{count}')
    sys.exit(failed > 0)
