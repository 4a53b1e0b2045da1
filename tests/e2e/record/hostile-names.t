#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Names and files that a container makes up: of its threads, programs, shares and maps. Each output stays what
# its format says, nothing controls a terminal, and files that never end are cut.
cd "$(dirname "$0")/../../.." || exit 1
. tests/lib/tap.sh
. tests/lib/bundle.sh
. tests/lib/shop.sh
need gcc objcopy python3 strace
shop_setup
trap 'kill $writer 2>/dev/null; shop_teardown' EXIT
writer=

# ---- threads, mapped files, symbols ----
file=$'x\n0 10 evil;\e]0;pwned\a\e[2J<img src=x>.so' symbol=$'s\n0 10 evil;\e[2J\xe2\x80\xae<img src=x>' comm=$'c\n;\e[31m"<b>'
cat >"$SHOP/lib.c" <<'END'
__attribute__((noinline)) void burn(void);
void burn(void)
{
	for (volatile int i = 0; i < 100000; i++)
		;
}
void entry(void);
void entry(void)
{
	burn();
	burn();
}
END
# One whose functions have no name, one whose function has a hostile one.
gcc -O1 -shared -fPIC -fno-semantic-interposition -o "$SHOP/named.so" "$SHOP/lib.c"
objcopy --redefine-sym "burn=$symbol" "$SHOP/named.so" "$SHOP/app/named.so"
gcc -O1 -shared -fPIC -s -Wl,--version-script=<(echo '{global: entry; local: *;};') -o "$SHOP/app/$file" "$SHOP/lib.c"
gcc -O1 -x c -o "$SHOP/app/evil" - -ldl <<'END'
#include <dlfcn.h>
#include <pthread.h>
#include <sys/prctl.h>
static void *run(void *arg)
{
	char **argv = arg;
	void (*entry[2])(void);

	for (int i = 0; i < 2; i++)
		entry[i] = (void (*)(void))dlsym(dlopen(argv[1 + i], RTLD_NOW), "entry");
	prctl(PR_SET_NAME, argv[3]);
	for (;;)
		for (int i = 0; i < 2; i++)
			entry[i]();
}
int main(int argc, char **argv)
{
	pthread_t thread;

	(void)argc;
	prctl(PR_SET_NAME, "\n0 10 main;\033[");
	pthread_create(&thread, 0, run, argv);
	pthread_join(thread, 0);
}
END
SHOP_JQ=".process.args = $(jq -cn '$ARGS.positional' --args /mnt/evil "/mnt/$file" /mnt/named.so "$comm")"
ok "a container whose names are hostile" shop_create evil
trigger -d 2 -F 499 -f svg,html,folded,pprof,speedscope,firefox,json evil
is "  is recorded" "$status" 4
ok "  with samples" test "$(json .samples)" -gt 0
dir=$(dirname "$(json .graphs.folded)")
is "  in every format" "$(json '.graphs | length')" 7

cat >"$SHOP/check.py" <<'END'
import gzip, json, re, sys, xml.dom.minidom
control = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")

def strings(data):
    """The strings of a profile: field 6 of the outermost message."""
    at = 0

    def number():
        nonlocal at
        value = shift = 0
        while True:
            byte = data[at]
            at += 1
            value |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                return value

    while at < len(data):
        tag, value = number(), number()
        if tag & 7 == 2:
            if tag >> 3 == 6:
                yield data[at:at + value].decode()
            at += value

for path in sys.argv[1:]:
    data = open(path, "rb").read()
    if data[:2] == b"\x1f\x8b":
        data = gzip.decompress(data)
    if path.endswith(".pb.gz"):
        assert not any(control.search(s) or "<img" in s and "\n" in s for s in strings(data)), path
        continue
    text = data.decode()
    found = control.search(text)
    assert not found, (path, found)
    if path.endswith(".svg"):
        xml.dom.minidom.parseString(data)
    elif path.endswith(".json") or path.endswith(".json.gz"):
        json.loads(text)
    elif path.endswith(".folded"):
        for line in text.splitlines():
            assert re.fullmatch(r"[^;\n]+(;[^;\n]+)* \d+", line) and not line.startswith("0 10"), line
    if path.endswith((".svg", ".html")):
        assert "<img" not in text and "<b>" not in text, path
    assert "\n0 10 " not in text, path
END
for file in "$dir"/*; do
	[ -d "$file" ] || ok "  ${file##*/} is what its format says (case 67)" python3 "$SHOP/check.py" "$file"
done
ok "  the file's name is among the frames" grep -q ';\[x.*0 10 evil.*<img' "$(json .graphs.folded)"
ok "  the symbol's, too" grep -q ';s.0 10 evil.*<img' "$(json .graphs.folded)"
ok "  and the thread's" grep -q '^[^;]*c.*\[31m' "$(json .graphs.folded)"
plain() { ! LC_ALL=C grep -n $'[\001-\010\013-\037\177]' "$@"; }
ok "  nothing of it controls a terminal (case 67)" plain "$SHOP/out" "$SHOP/err"
"$DFG" --replay "$(json .session)" -o "$SHOP/again" -f folded >"$SHOP/replayed" 2>&1
ok "  nor does a replay" plain "$SHOP/replayed"
ok "  nor dfg-top" eval '"$BUILD/bin/dfg-top" -n 1 -d 1 evil >"$SHOP/top" 2>&1; plain "$SHOP/top"'

# ---- its map of compiled code ----
# The map's place in the container, as the host sees it; its process's user writes there.
map=$SHOP/evil/tmp/perf-1.map
as_user() { exec setpriv --reuid 1000 --regid 1000 --clear-groups sh -c "$1" sh "$map"; }
for kind in sparse grows shrinks replaced; do
	rm -f "$map"
	case $kind in
	sparse) as_user 'exec truncate -s 10T "$1"' & ;;
	grows) as_user 'while :; do head -c 65536 /dev/zero | tr "\0" 1 >>"$1"; sleep 0.001; done' & ;;
	shrinks) as_user 'while :; do truncate -s 64M "$1"; truncate -s 0 "$1"; done' & ;;
	replaced) as_user 'while :; do echo "0 ffffffffffff evil" >"$1.new"; mv "$1.new" "$1"; done' & ;;
	esac
	writer=$!
	wait_for test -e "$map"
	trigger -q -d 1 -f folded evil
	is "a map that is $kind: the graph is drawn (case 61)" "$status" 4
	ok "  with samples" test "$(json .samples)" -gt 0
	ok "  at most 64 MiB of it are kept" test "$(du -sm "$(json .session)/maps" | cut -f1)" -le 65
	kill "$writer" 2>/dev/null
	wait "$writer" 2>/dev/null
done
rm -f "$map" "$map.new"
for kind in fifo other link; do
	case $kind in
	fifo) mkfifo -m 666 "$map" && chown 1000 "$map" ;;
	other) echo "0 ffffffffffff evil" >"$map" ;; # root's
	link) ln -sf /etc/passwd "$map" ;;
	esac
	strace -f -qq -e trace=open,openat,openat2 -o "$SHOP/calls" "$DFG" -q -d 1 -f folded evil >/dev/null 2>&1
	ok "a map that is a $kind is looked at" grep -q 'perf-1\.map' "$SHOP/calls"
	ok "  but not opened (case 65)" eval '! grep "perf-1\.map" "$SHOP/calls" | grep -v O_PATH'
	rm "$map"
done
shop_stop evil
unset SHOP_JQ

# ---- its share ----
ok "a JVM in a container" shop_start shop
pid=$(bundle_pid shop)
share=$DFG_ROOT/containers/shop/out
inside() { bundle_exec shop sh -c "$1" >/dev/null 2>&1; }
ok "an agent in it" trigger -q -d 1 --source agent shop
is "  answers" "$(json '.jvms[0].source')" agent
inside 'cd /dev/dfg-out
	long=$(printf "%0250d" 7); : >"$long" ; : >"$(printf "a\nb\033[2J;rm -rf \001")"; : >-rf; : >"$(printf "\033]0;pwned\007")"
	ln -s /etc/passwd perf-1.map; mkfifo perf-2.map; mkdir "perf-'"$pid"'.0123456789abcdef.snap"
	echo "0 ffffffffffff forged" >perf-'"$pid"'.map; cp perf-'"$pid"'.map perf-4711.fedcba9876543210.snap
	printf "dfg1 agent signal=9 tid=1\n" >agent.4711; printf "dfg1 agent signal=9 tid=1\n" >agent.1'
files() { find "$share" -mindepth 1 ! -name "agent.$pid" ! -name 'perf-*' -printf '%P %s\0' | sort -z | sha256sum; }
before=$(files)
ok "  beside files of odd names" test "$(find "$share" -mindepth 1 -printf 'x\n' | wc -l)" -ge 9
for how in file signal; do
	ok "  asked by $how: dfg-trigger (case 62)" trigger -q -d 1 -f folded,perf-map --trigger $how shop
	ok "  the JVM lives (case 64)" test -d "/proc/$pid"
	is "  what was forged is in no graph or map (case 64)" "$(grep -c forged "$(json .graphs.folded)"; tar -xOf "$(json '.graphs["perf-map"]')" | grep -c forged)" "0
0"
	ok "  nothing controls a terminal" plain "$SHOP/out" "$SHOP/err"
done
is "  files of other names than dfg's are as they were" "$(files)" "$before"
is "  and none of theirs is in the session" "$(find "$(json .session)" -name '*fedcba*' -o -name 'perf-4711*' | wc -l)" 0
tap_done
