#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""How two folded files differ: fold-compare.py OURS THEIRS [frames to show].

Suffixes (_[j], _[k] ...) and the places of functions without a name are left out, and "(...)" as stackcollapse-perf.pl does it; what it calls
[perf-PID.map] and [[vdso]] is [anon] and [vdso]."""
import collections
import re
import sys


def load(path):
    stacks = collections.Counter()
    with open(path, errors="replace") as f:
        for line in f:
            stack, _, count = line.rstrip("\n").rpartition(" ")
            frames = [re.sub(r"_\[[kj0i]\]$", "", x) for x in stack.split(";")]
            frames = [re.sub(r"\((?!anonymous namespace\)).*", "", x).rstrip() for x in frames]
            frames = [re.sub(r"^\[perf-\d+\.map\]$", "[anon]", x) for x in frames]
            frames = [re.sub(r"^\[\[(\w+)\]\]$", r"[\1]", x) for x in frames]
            frames = [re.sub(r"^\[(.+)\+0x[0-9a-f]+\]$", r"[\1]", x) for x in frames]
            stacks[";".join(frames)] += int(count)
    return stacks


def frames_of(stacks):
    frames = collections.Counter()
    for stack, count in stacks.items():
        for frame in stack.split(";")[1:]:
            frames[frame] += count
    return frames


def main():
    ours, theirs = load(sys.argv[1]), load(sys.argv[2])
    same = sum(min(count, theirs[stack]) for stack, count in ours.items())
    total = sum(ours.values())
    print(f"samples   {total} and {sum(theirs.values())}")
    print(f"stacks    {len(ours)} and {len(theirs)}")
    print(f"identical {same} samples ({100 * same / max(total, 1):.2f} %)")
    a, b = frames_of(ours), frames_of(theirs)
    both = sum((a & b).values())
    print(f"frames    {both} of {sum(a.values())} and {sum(b.values())} have the same name")
    shown = int(sys.argv[3]) if len(sys.argv) > 3 else 20
    for frame in sorted(set(a) | set(b), key=lambda x: -abs(a[x] - b[x]))[:shown]:
        if a[frame] != b[frame]:
            print(f"  {a[frame]:8} {b[frame]:8}  {frame}")


main()
