#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Case 92: sessions and files handed over by somebody else, whose every text is hostile. Nothing that controls a
# terminal or turns the order of text is in any output of any command.
. "$(dirname "$0")/../lib/tap.sh"
need python3 jq
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 1
PATH=$BUILD/bin:$PATH

# The texts: ESC as title, colour and reset, C1 (as UTF-8 and as a byte), BEL, DEL, CR, right-to-left override and isolate,
# Arabic letter mark, zero width, line separator.
cat >make.py <<'END'
import gzip, json, struct, subprocess, sys
EVIL = "\x1b]0;owned\x07\x1b[31m\x1bc\x9b2J\x7f\r\u202e\u2066\u061c\u200b\u2028"
RAW = EVIL.encode() + b"\x9b\xff"

def text(name):
    return name + EVIL

def session(name, path, maps):
    fakeperf = sys.argv[1]
    subprocess.run(["mkdir", "-p", f"{name}/session/maps", f"{name}/session/elf"], check=True)
    subprocess.run([fakeperf, "make", "4242", "data"], check=True)
    data = open("data", "rb").read()
    # As long as they are: comm of both threads, and the name of the mapping.
    for old, new in (b"main\0", b"\x1bc\xc2\x9b\0"), (b"worker\0", b"\x1b]0;a\x07\0"), (b"//anon\0", path):
        assert old in data and len(old) == len(new)
        data = data.replace(old, new)
    open(f"{name}/session/perf.data", "wb").write(data)
    for file in maps:
        with open(f"{name}/session/maps/{file}", "wb") as f:
            for i, n in enumerate([b"run", b"get", b"pkg.Type.put"]):
                f.write(b"%x 100 %s%s\n" % (0x10000000 + 0x100 * i, n, RAW.replace(b"\r", b"")))
    if not maps:
        with open(f"{name}/session/maps/jvm-4242.0.snap", "wb") as f:
            subprocess.run([fakeperf, "snapshot", "4242", RAW.replace(b"\0", b"")], check=True, stdout=f)
        maps = ["jvm-4242.0.snap"]
    elf = f"a\x1b[1m{EVIL}".replace("/", "")[:40]
    open(f"{name}/session/kallsyms", "wb").write(b"ffffffff81000000 T evil" + RAW.replace(b"\r", b"") + b"\n")
    json.dump({
        "version": 1, "dfg": text("0.1"), "host": text("db"), "started": text("2026-11-21T10:00:00Z"),
        "container": {k: text(k) for k in ("id", "name", "pod", "namespace")},
        "frequency": 99, "duration": 1.5,
        "jvms": [{"pid": 4242, "nspid": 1, "uid": 0, "version": text("21"), "source": text("agent"), "note": text("note"),
                  "methods": 1, "skipped": 1, "snapshots": 2}],
        "threads": [{"pid": 4242, "tid": 4242 + i, "nstid": 4242 + i} for i in range(2)], "cut": [text("cut")],
        "processes": [{"pid": 4242, "root": 1}],
        "elf": [{"root": 1, "path": path.rstrip(b"\0").decode("utf-8", "replace"), "file": elf, "debug": elf}],
        "maps": [{"pid": 4242, "order": i, "file": m} for i, m in enumerate(maps)],
    }, open(f"{name}/session/session.json", "w"))

def field(number, value):
    if isinstance(value, int):
        return bytes([number << 3]) + varint(value)
    return bytes([number << 3 | 2]) + varint(len(value)) + value

def varint(n):
    out = b""
    while n > 0x7f:
        out, n = out + bytes([n & 0x7f | 0x80]), n >> 7
    return out + bytes([n])

def pprof(name):
    strings = [b""] + [s + EVIL.encode() for s in (b"samples", b"count", b"thread", b"value", b"f", b"file", b"build", b"other")]
    p = field(1, field(1, 1) + field(2, 2))
    for i in range(3):
        label = field(3, field(1, 3) + field(2, 4 + i))
        p += field(2, field(1, 1 + i % 2) + field(2, 40 + 60 * (i % 2)) + label)
    p += field(3, field(1, 1) + field(5, 6) + field(6, 7))
    p += field(4, field(1, 1) + field(2, 1) + field(4, field(1, 1) + field(2, 7)))
    p += field(4, field(1, 2) + field(2, 1))
    p += field(5, field(1, 1) + field(2, 5) + field(3, 5) + field(4, 6))
    for s in strings:
        p += field(6, s)
    gzip.open(name, "wb").write(p)

session("web", b"//anon\0", ["perf-4242.map", "agent-4242.map"])
session("mapped", b"/\x1b[1m\x07\0", ["none-4242.map"])
session("jvm", b"//anon\0", [])
evil = EVIL.replace("\r", "").encode()
open("one", "wb").write(b"main%s;a%s_[j] 100\nmain;b%s 50\nbad%s\n" % (evil, evil, RAW.replace(b"\r", b""), evil))
open("two", "wb").write(b"main%s;a%s_[j] 50\nmain;b%s 100\n" % (evil, evil, RAW.replace(b"\r", b"")))
pprof("three.pb.gz")
END

# clean FILE…: none of the texts' characters, neither as bytes nor as a reference of JSON or XML. Of a compressed or binary file
# the sequences that do something.
cat >clean.py <<'END'
import gzip, re, sys
BAD = {*range(0x20), *range(0x7f, 0xa0), 0x61c, *range(0x200b, 0x2010), *range(0x2028, 0x202f), *range(0x2060, 0x2070)} - {9, 10}
failed = False
for name in sys.argv[1:]:
    data = open(name, "rb").read()
    if data[:2] == b"\x1f\x8b":
        data = gzip.decompress(data)
    if name.endswith((".gz", ".tar")):
        wrong = [s for s in (b"\x1b]", b"\x1b[", b"\x1bc", b"\x07\x1b", b"\xc2\x9b", b"\xe2\x80\xae", b"\xe2\x81\xa6", b"\x9b\xff")
                 if s in data]
    else:
        text = data.decode()  # fails where it is no UTF-8
        wrong = {hex(ord(c)) for c in text if ord(c) in BAD}
        wrong |= {m for m in re.findall(r"\\u([0-9a-fA-F]{4})|&#x?([0-9a-fA-F]+);", text)
                  if int(m[0] or "20", 16) in BAD | {9, 10}}
    if wrong:
        failed = True
        print(name, wrong)
sys.exit(failed)
END
python3 make.py "$BUILD/tools/fakeperf" || tap_cannot "the inputs"
evil=$'deep\e[31m\u202e'
mkdir "$evil" && cp -a web "$evil/web" && cp one "$evil/one"

# try NAME COMMAND…: it succeeds, and all that it prints and writes is clean
tries=0
try() {
	local name=$1 out
	shift
	tries=$((tries + 1)) out=out.$tries
	mkdir "$out"
	"$@" -o "$out/graphs" >"$out/stdout" 2>"$out/stderr"
	is "$name" "$?" 0
	ok '  prints and writes nothing harmful' python3 clean.py $(find "$out" -type f)
	ok '  and its files are there' test -n "$(ls "$out/graphs")"
}
all=svg,html,folded,pprof,speedscope,firefox,json
for s in web mapped jvm; do
	try "--replay of $s" dfg-trigger -f $all,perf-map --replay $s
	try "  with --json" dfg-trigger -q --json -f folded --replay $s
	try "dfg-diff of $s and text" dfg-diff --by thread -f svg,html,folded $s one
	try "dfg-diff of text and $s" dfg-diff --kinds --by container,thread -f folded --json one $s
done
# The names are there, each character of the texts replaced.
for names in 'out.1/graphs/flame.folded run' 'out.9/graphs/flame.folded pkg.Type.name' 'out.11/graphs/diff.folded main'; do
	ok "  names are there: $names" grep -qF "${names#* }?]0;owned??[31m?c?2J" <(tr ':' ';' <"${names%% *}")
done
try 'dfg-diff of text' dfg-diff -f svg,html,folded one two
try '  as Markdown' dfg-diff --markdown --fail-on +99% -f folded one two
try 'dfg-diff of pprof' dfg-diff -f svg,html,folded --json three.pb.gz two
try 'dfg-merge' dfg-merge -f $all web mapped jvm one two three.pb.gz
try '  with --json' dfg-merge --json -f $all --by none web mapped one two three.pb.gz
try 'a session in a directory of such a name' dfg-trigger -f folded --replay "$evil/web"
try '  with --json' dfg-trigger --json -f folded --replay "$evil/web"
try '  merged' dfg-merge --json -f folded "$evil/web" "$evil/one"
try '  compared' dfg-diff --json -f folded "$evil/web" "$evil/one"

# What is printed of inputs that cannot be read.
printf '\e]0;owned\a' >broken
cp -a web cut && printf '{"version": "\e[1m\u202e", ' >cut/session/session.json
cp -a web void && : >void/session/perf.data
for input in broken cut void "$evil" $'none\e[1m\u202e\x9b'; do
	! dfg-merge -o out.x "$input" >stdout 2>stderr
	is "an input that cannot be read fails: $(printf %q "$input")" "$?" 0
	ok '  with a message that is clean' python3 clean.py stdout stderr
	! dfg-trigger --replay "$input" -o out.x >stdout 2>stderr
	ok '  also by --replay' python3 clean.py stdout stderr
done
tap_done
