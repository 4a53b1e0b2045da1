#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# How soon a page (-f html) with many stacks is there in a headless Chromium, and how fluid it zooms.
#
#	bench/page.sh        needs python3, chromium
#	STACKS  distinct stacks (100000)    DEPTH  frames in each, about (40)    RUNS  (3)
#
# open: from the start of navigation to the first picture. zoom: pictures per second while zooming.
cd "$(dirname "$0")/.." || exit 1
BUILD=${BUILD:-build}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
python3 - "${STACKS:-100000}" "${DEPTH:-40}" >"$work/stacks.folded" <<'PY'
import random, sys
random.seed(1)
stacks, depth = int(sys.argv[1]), int(sys.argv[2])
methods = [f'org.example.p{i % 60}.Class{i % 700}.method{i}_[{"jik0"[i % 4]}]' for i in range(20000)]
made, kept = set(), []
while len(made) < stacks:  # a new stack leaves one made before somewhere in its second half
    if kept and random.random() < 0.95:
        base = random.choice(kept)
        path = base[:random.randint(len(base) // 2, len(base))]
    else:
        path = [f'worker-{random.randrange(32)}', 'start_thread', 'java.lang.Thread.run_[j]']
    while len(path) < depth and random.random() < 0.93:
        path = path + [random.choice(methods)]
    line = ';'.join(path)
    if line not in made:
        made.add(line)
        kept.append(path)
        print(line, random.randint(1, 9))
PY
printf '%-34s %s\n' 'distinct stacks' "$(wc -l <"$work/stacks.folded")" \
	'frames in them' "$(cut -d' ' -f1 "$work/stacks.folded" | tr -cd ';\n' | wc -c)"
"$BUILD/tools/draw" html 'many stacks' <"$work/stacks.folded" >"$work/page.html" || exit 1
printf '%-34s %s\n' 'page, KiB' $(($(stat -c %s "$work/page.html") / 1024))
PYTHONPATH=tests/tools PYTHONDONTWRITEBYTECODE=1 exec python3 bench/page.py "$work/page.html" "${RUNS:-3}"
