#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Large recordings are read in parts and drawn in threads: what comes out is what one processor makes of them.
# The recordings are those of tests/golden/perf, their records many times over. make check-tsan looks at the threads.
. "$(dirname "$0")/../lib/tap.sh"
need python3 taskset
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# large NAME PID PARENT ELF…: a session of the recording, in $work/NAME/session
large() {
	mkdir -p "$work/$1/session"/{maps,elf}
	python3 - "$TOP/tests/golden/perf" "$work/$1/session" "$@" <<'END'
import json, os, shutil, struct, sys
golden, session, name, pid, parent, *elf = sys.argv[1:]
data = open(f"{golden}/{name}.data", "rb").read()
start, size = struct.unpack_from("<QQ", data, 40)
times = (24 << 20) // size
with open(session + "/perf.data", "wb") as f:
    f.write(data[:48] + struct.pack("<Q", size * times) + data[56:start] + data[start:start + size] * times)
maps = []
if os.path.exists(f"{golden}/{name}.map"):
    shutil.copy(f"{golden}/{name}.map", f"{session}/maps/perf-{pid}.map")
    maps = [{"pid": int(pid), "order": 0, "file": f"perf-{pid}.map"}]
for path in elf:
    shutil.copy(f"{golden}/{os.path.basename(path)}", f"{session}/elf")
shutil.copy(golden + "/kallsyms", session)
json.dump({"version": 1, "container": {"id": "0123456789abcdef", "name": name}, "host": "db1", "frequency": 99,
           "started": "2026-11-21T10:00:00Z", "duration": 1.5, "maps": maps,
           "processes": [{"pid": int(p), "root": 1} for p in sorted({pid, parent})],
           "elf": [{"root": 1, "path": p, "file": os.path.basename(p), "debug": None} for p in elf]},
          open(session + "/session.json", "w"))
END
}
draw() { # NAME WHERE COMMAND…
	"${@:3}" "$BUILD/bin/dfg-trigger" --replay -q -f svg,html,folded,pprof,json -o "$work/$2" "$work/$1/session"
}

for recording in 'vm 7763 7763' 'java 31158 31158' 'dwarf 1113 1107 /tmp/spin'; do
	# shellcheck disable=SC2086
	set -- $recording
	large "$@"
	ok "$1: drawn by one processor" draw "$1" "$1-one" taskset -c "$(taskset -cp $$ | sed 's/.*: \([0-9]*\).*/\1/')"
	ok "  and by all" draw "$1" "$1-all"
	for format in folded svg; do
		ok "  $format is the same" diff "$work/$1-one/flame.$format" "$work/$1-all/flame.$format"
	done
	ok "  of many samples" test "$(awk '{n += $NF} END {print n}' "$work/$1-all/flame.folded")" -gt 5000
done
tap_done
