#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""overlap.py MODE DFG_FOLDED... -- ASPROF_COLLAPSED...: compares recordings of tests/java/Known.java.

For each of both: samples of the threads named "known", and how many of their stacks reach Known.run.
Overlap: the sum, over the innermost Java methods, of the smaller of both shares. Noise: what overlap
two halves of dfg's own recordings have, which is as much as can be expected."""
import collections
import re
import sys

MODULE = re.compile(r"_\[[ji01k]\]$")
HIDDEN = re.compile(r"[./+]0x[0-9a-f]+")


def plain(name):
    """one spelling for both: dots, no number in the names of hidden classes"""
    return HIDDEN.sub("", MODULE.sub("", name).replace("/", "."))


def is_java(name):
    """in async-profiler's output, where Java frames are the ones with a class and no C++ in them"""
    return "." in name and not re.search(r"::|\(|\.so|^\[|^libjvm|\s", name)


def leaf(frames, marked):
    for f in reversed(frames):
        if re.search(r"_\[[ji0]\]$", f) if marked else is_java(f) and not f.endswith("_[k]"):
            return plain(f)
    return "none"


def read(paths, marked):
    leaves, whole, total = collections.Counter(), 0, 0
    for path in paths:
        for line in open(path, encoding="utf-8", errors="replace"):
            stack, _, n = line.rstrip("\n").rpartition(" ")
            thread, *frames = stack.split(";")
            if not re.match(r"\[?known(\b|$)", thread):
                continue
            total += int(n)
            whole += int(n) * any(plain(f) == "Known.run" for f in frames)
            leaves[leaf(frames, marked)] += int(n)
    return leaves, whole, total


def shares(leaves):
    total = sum(leaves.values()) or 1
    return {k: 100 * n / total for k, n in leaves.items()}


def overlap(a, b):
    x, y = shares(a), shares(b)
    return sum(min(x.get(k, 0), y.get(k, 0)) for k in x)


def main(argv):
    at = argv.index("--")
    ours, whole, total = read(argv[2:at], True)
    theirs, their_whole, their_total = read(argv[at + 1:], False)
    halves = [read([p], True)[0] for p in argv[2:at]]
    noise = overlap(halves[0], halves[-1])
    x, y = shares(ours), shares(theirs)
    far = sorted(set(x) | set(y), key=lambda k: -abs(x.get(k, 0) - y.get(k, 0)))[:2]
    print("%8d %9.2f %8d %9.2f %10.1f %10.1f  %s" % (
        total, 100 * whole / (total or 1), their_total, 100 * their_whole / (their_total or 1), overlap(ours, theirs),
        noise, ", ".join("%s %.1f %.1f" % (k, x.get(k, 0), y.get(k, 0)) for k in far)))


if __name__ == "__main__":
    main(sys.argv)
