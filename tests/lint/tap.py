# SPDX-License-Identifier: Apache-2.0
"""Test Anything Protocol for the checks of this folder, which run at the top of the tree."""
import os
import sys

count = failed = 0


def check(name, wrong):
    """`wrong`: lines that say what is wrong; passes without any."""
    global count, failed
    count += 1
    failed += bool(wrong)
    print(f"{'not ok' if wrong else 'ok'} {count} - {name}")
    for line in wrong:
        print("#", str(line).replace("\n", " "))


def cannot(why):
    """Skips all checks; under DFG_STRICT=1 fails instead."""
    strict = os.environ.get("DFG_STRICT") == "1"
    print(f"1..1\nnot ok 1 - requirement: {why}" if strict else f"1..0 # SKIP {why}")
    sys.exit(strict)


def run(checks):
    os.chdir(os.path.join(os.path.dirname(os.path.abspath(__file__)), "../.."))
    checks()
    print(f"1..{count}")
    sys.exit(failed > 0)
