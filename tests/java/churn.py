#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""churn.py [-v] LOG SAMPLES: samples of tests/java/Churn.java (unwindstat -t) against what it printed.

Prints one line: the threads' samples, their Java frames and how many of these are of generations; of
those with a name, how many have the right one (%); of all, how many have none since it cannot be told
what was there (stale, %); samples that reach the first function (%). A name is wrong if it is of a
generation that did not run on the thread at the time, or if its caller calls nothing of that name. -v
shows the stacks with wrong names. Exit status 1: less than RIGHT, or more than STALE, or too few."""
import re
import sys
from bisect import bisect_right
from collections import defaultdict

# Which of the program's methods may stand on which; Gen: of any generation.
CALLS = {
    'Churn.run': {'Churn.generation'},
    'Churn.generation': {'Churn$Base.many', 'Churn$Loader.define', 'Churn$Loader.<init>'},
    'Churn$Base.many': {'Gen.step'},
    'Gen.step': {'Gen.even', 'Gen.odd'},
    'Gen.even': {'Gen.burn'},
    'Gen.odd': {'Gen.down'},
    'Gen.down': {'Gen.down', 'Gen.burn'},
    'Gen.burn': set(),
    'Gen.<init>': {'Churn$Base.<init>'},
}
RIGHT, STALE, SAMPLES = 99.9, 1.0, 100
GENERATION = re.compile(r'Gen(\d{6})\.')
ROOT = re.compile(r'_*(clone3?|start_thread|_start)$|\[(libc|ld-musl|thread start)')
JAVA = ('_[j]', '_[i]', '_[0]')


def read_log(path):
    runs = defaultdict(list)
    for line in open(path):
        number, thread, start, end = line.split()
        runs[thread].append((int(start), int(end), int(number)))
    for list_ in runs.values():
        list_.sort()
    return runs


def running(runs, time):
    at = bisect_right(runs, (time, 1 << 63, 0))
    return runs[at - 1][2] if at and time <= runs[at - 1][1] else None


def wrong_frames(names, generation):
    wrong, caller = [], None
    for name in names:
        if name == '[stale]':
            caller = None
            continue
        of = GENERATION.match(name)
        plain = GENERATION.sub('Gen.', name)
        if of and int(of[1]) != generation:
            wrong.append(name)
        elif caller in CALLS and plain in CALLS and plain not in CALLS[caller]:
            wrong.append(f'{name} called by {caller}')
        caller = plain
    return wrong


def main():
    verbose = sys.argv[1] == '-v'
    log, samples = sys.argv[1 + verbose:]
    runs = read_log(log)
    last = max(r[-1][1] for r in runs.values())
    count = defaultdict(int)
    for line in open(samples):
        head, _, stack = line.rstrip('\n').rpartition(' ')[0].partition(';')
        time, thread = int(head.split()[0]), head.split()[1]
        if thread not in runs or time > last:
            continue
        generation = running(runs[thread], time)
        frames = stack.split(';')
        names = [f[:-4] if f.endswith(JAVA) else f for f in frames if f.endswith(JAVA) or f == '[stale]']
        stale = names.count('[stale]')
        wrong = wrong_frames(names, generation)
        count['samples'] += 1
        count['root'] += bool(ROOT.match(frames[0]))
        count['named'] += len(names) - stale
        count['generation'] += sum(1 for n in names if GENERATION.match(n))
        count['stale'] += stale
        count['wrong'] += len(wrong)
        if wrong and verbose:
            print(f'# {time} {thread} runs {generation}: {wrong}\n#   {stack}')
    named, java = max(count['named'], 1), max(count['named'] + count['stale'], 1)
    right, stale = 100 - 100 * count['wrong'] / named, 100 * count['stale'] / java
    print(f"samples {count['samples']} java-frames {java} of-generations {count['generation']}"
          f" right {right:.3f} stale {stale:.3f} complete {100 * count['root'] / max(count['samples'], 1):.2f}")
    return right < RIGHT or stale > STALE or count['samples'] < SAMPLES


if __name__ == '__main__':
    sys.exit(main())
