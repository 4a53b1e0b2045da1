#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# dfg-trigger --replay: a session that was made by hand, in every format, without root.
. "$(dirname "$0")/../lib/tap.sh"
need python3
here=$TOP/tests/golden/replay
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
fakeperf=$BUILD/tools/fakeperf

# make NAME: a session in $work/NAME
make() {
	mkdir -p "$work/$1/session/maps"
	cp "$here/session.json" "$work/$1/session"
	"$fakeperf" make 4242 "$work/$1/session/perf.data"
	"$fakeperf" map >"$work/$1/session/maps/perf-4242.map"
}
replay() { "$BUILD/bin/dfg-trigger" --replay "$@"; }
# run ARGUMENTS…: with stdout, stderr and status in files
run() { replay "$@" >"$work/out" 2>"$work/err"; echo $? >"$work/status"; }
status() { cat "$work/status"; }
printed() { sed "s|$work|WORK|g" "$1"; }
same() { [ -z "${UPDATE:-}" ] || printed "$2" >"$here/$1"; diff -u "$here/$1" <(printed "$2"); }


formats=svg,html,folded,pprof,speedscope,firefox,json,perf-map
make web
cp -a "$work/web/session" "$work/before"
run -f $formats "$work/web/session"
is 'a session is drawn in all formats' "$(status)" 0
ok 'the summary is as expected' same summary "$work/out"
is 'nothing is said besides' "$(cat "$work/err")" ''
is 'the graphs are beside the session, and nothing else' "$(ls -A "$work/web" | tr '\n' ' ')" \
	'flame.firefox.json flame.folded flame.html flame.json flame.pb.gz flame.speedscope.json flame.svg perf-map.tar session '
ok 'the session is as it was' diff -r "$work/before" "$work/web/session"

# Every format says the same.
ok 'folded' diff -u "$here/folded" "$work/web/flame.folded"
ok 'pprof' diff -u "$here/folded" <("$BUILD/tools/draw" folded <"$work/web/flame.pb.gz")
for format in json firefox speedscope; do
	file=$work/web/flame.$format.json
	ok "$format" diff -u "$here/folded" \
		<("$TOP/tests/tools/exports.py" $format "${file/.json.json/.json}" 10.101 | LC_ALL=C sort)
done
for format in svg html; do
	ok "$format has the container, the machine and the time" \
		grep -q 'shop/web-1/app: 1.5 s at 99 Hz' "$work/web/flame.$format"
done
ok 'svg has all samples' grep -q '>all (6 samples, 100%)<' "$work/web/flame.svg"
is 'perf-map of a session without a JVM is empty' "$(tar -tf "$work/web/perf-map.tar")" ''

run -f svg "$work/web"
is 'the directory with the session is taken as well' "$(status)" 0
is 'that a picture is replaced is said' "$(printed "$work/err")" 'dfg-trigger: replaced in WORK/web: flame.svg'
run -q -f svg "$work/web"
is 'unless quiet' "$(cat "$work/err")" ''
ok 'with the graphs at the same place' grep -qx "  svg          $work/web/flame.svg" "$work/out"

run --json -f folded,json -o "$work/elsewhere" "$work/web/session"
is 'a session is drawn elsewhere' "$(status)" 0
is 'the formats that are asked for' "$(ls -A "$work/elsewhere" | tr '\n' ' ')" 'flame.folded flame.json '
ok 'and no others in the summary as JSON, which is as expected' same summary.json <(sed 's/"post_ms": [0-9]*/"post_ms": 0/' "$work/out")
make second
run --json -f folded "$work/web/session" "$work/second/session"
is 'two sessions have one summary' "$(python3 -c 'import json, sys
print([(r["container"]["name"], r["samples"]) for r in json.load(sys.stdin)["recordings"]])' <"$work/out")" \
	"[('app', 6), ('app', 6)]"
is 'each has its graph beside it' "$(cmp "$work/web/flame.folded" "$work/second/flame.folded" && echo same)" same

# ---- filters ----
# filtered OPTION…: the folded text
filtered() { run -q -f folded,svg -o "$work/filtered" "$@" "$work/web"; cat "$work/filtered/flame.folded"; }
is '--include: stacks with a frame' "$(filtered --include GET; filtered --include get)" 'main;run;get 3'
is '--exclude: stacks without' "$(filtered --exclude 'get|put')" 'worker;run 1'
ok '  the picture says so' grep -q 'not get|put' "$work/filtered/flame.svg"
is '--from, --to: a span' "$(filtered --from 0 --to 10:00:01)" "$(cat "$here/folded")"
is '  another one is empty' "$(filtered --from 1h)" ''
is '  which is said' "$(grep -c 'passes --include' "$work/err")" 1
run --from 2 --to 1 "$work/web"
is '  one that ends before it begins is a usage error' "$(status) $(cat "$work/err")" '2 dfg-trigger: --to 1 is not after --from 2'
is 'dfg-diff takes them' "$("$BUILD/bin/dfg-diff" -f folded --include get -o "$work/filtered" "$work/web" "$work/web" >/dev/null &&
	cat "$work/filtered/diff.folded")" 'main;run;get 3 3'
is 'dfg-merge takes them' "$("$BUILD/bin/dfg-merge" -q --by none -f folded --include put -o "$work/filtered" "$work/web" "$work/web" >/dev/null &&
	cat "$work/filtered/flame.folded")" 'run;put 4'

# ---- opening ----
mkdir "$work/programs"
printf '#!/bin/sh\necho "$1" >"%s/opened"\n' "$work" >"$work/programs/xdg-open"
chmod 755 "$work/programs/xdg-open"
# opens DISPLAY [USER]: by sudo, where root runs this
opens() {
	local sudo=()
	[ "$(id -u)" != 0 ] || sudo=(env "SUDO_UID=${2:-65534}" SUDO_GID=65534)
	DISPLAY=$1 WAYLAND_DISPLAY='' PATH=$work/programs:$PATH "${sudo[@]}" "$BUILD/bin/dfg-trigger" -q --open -f svg,html \
		--replay "$work/web" >"$work/out" 2>"$work/err"
	echo $?
}
chmod 777 "$work/programs"
sed -i "s|$work/opened|$work/programs/opened|" "$work/programs/xdg-open"
chmod 711 "$work"
is '--open: without a display the pictures are drawn' "$(opens '')" 0
is '  and a line says so' "$(printed "$work/err")" \
	'dfg-trigger: warning: --open: there is no display (DISPLAY, WAYLAND_DISPLAY); open WORK/web/flame.html yourself'
is '  with one' "$(opens :0)" 0
is '  the page is opened' "$(cat "$work/programs/opened")" "$work/web/flame.html"
[ "$(id -u)" != 0 ] ||
	is '  as the user who called sudo' "$(stat -c %u "$work/programs/opened")" 65534

# ---- pushing ----
unset http_proxy https_proxy all_proxy HTTPS_PROXY ALL_PROXY
mkfifo "$work/port"
python3 -c 'import gzip, http.server, sys
class Handler(http.server.BaseHTTPRequestHandler):
    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        self.send_response(200)
        self.send_header("Content-Length", "0")
        self.end_headers()
        print(self.path.split("%7B")[0], b"get" in gzip.decompress(body))
    def log_message(self, *_):
        pass
server = http.server.HTTPServer(("127.0.0.1", 0), Handler)
with open(sys.argv[1], "w") as f:
    print(server.server_port, file=f)
server.handle_request()' "$work/port" >"$work/pushed" &
read -r port <"$work/port"
run -f folded --push "http://127.0.0.1:$port" "$work/second/session"
wait $!
is 'a session is pushed' "$(status)" 0
is 'the server gets its profile' "$(cat "$work/pushed")" '/ingest?format=pprof&spyName=dfg&name=app True'
rm "$work"/second/flame.*
run -f folded --push "http://127.0.0.1:$port" "$work/second/session"
is 'where there is no server it fails' "$(status)" 1
ok 'with a message' grep -q "push to http://127.0.0.1:$port" "$work/err"
is 'but the graphs stay' "$(ls -A "$work/second" | tr '\n' ' ')" 'flame.folded flame.pb.gz session '

# ---- what fails ----
run -q --json -f folded "$work/second/session" "$work/none" "$work/web/session"
is 'a session that does not exist fails' "$(status)" 1
is 'in one line' "$(printed "$work/err")" 'dfg-trigger: open session WORK/none: No such file or directory'
is 'the summary has the others' "$(python3 -c 'import json, sys; print(len(json.load(sys.stdin)["recordings"]))' <"$work/out")" 2
run --json -f folded "$work/none"
is 'alone it has no summary' "$(cat "$work/out")" ''
make bare
rm "$work/bare/session/perf.data"
rm -f "$work/second/flame.folded"
run -f folded "$work/bare/session" "$work/second/session"
is 'a session without a recording fails' "$(status)" 1
is 'and says that it is kept' "$(printed "$work/err" | grep -c 'WORK/bare/session\|perf.data')" 1
ok 'sessions after it are drawn (case 94)' test -s "$work/second/flame.folded"
is 'nothing is left of its graph' "$(ls -A "$work/bare")" session
make empty
head -c 512 "$work/web/session/perf.data" >"$work/empty/session/perf.data"
run -f folded "$work/empty/session"
is 'a recording without a sample is drawn' "$(status)" 0
is 'with a warning' "$(cat "$work/err")" \
	'dfg-trigger: warning: no sample of shop/web-1/app: its processes used no CPU in this time'
make cut
head -c -24 "$work/web/session/perf.data" >"$work/cut/session/perf.data"
run -f folded "$work/cut/session"
is 'a recording that was cut is drawn' "$(status)" 0
ok 'the summary says how much is missing' grep -q '^  damaged      [0-9]* bytes at the end' "$work/out"
run -f folded -o "$work/web/session/perf.data" "$work/web/session"
is 'a directory that cannot be made fails' "$(status)" 1
# make_two NAME EVENT TREE: a session of the processor's time and another event, as profiles.
make_two() {
	make "$1"
	rm "$work/$1/session/perf.data"
	python3 - "$work/$1/session/session.json" "$2" <<-'END'
		import json, sys
		s = json.load(open(sys.argv[1]))
		s["events"] = ["cpu", sys.argv[2]]
		json.dump(s, open(sys.argv[1], "w"))
	END
	cp "$TOP/tests/fuzz/corpus/tree/profile" "$work/$1/session/tree"
	cp "$work/$1/session/tree" "$work/$1/session/$3"
}
# Of a session with two events, one of which is damaged, the other one is drawn.
make_two two alloc tree-alloc
run -q -f folded "$work/two"
is 'two events are drawn' "$(status) $(cd "$work/two" && echo flame*)" '0 flame-alloc.folded flame.folded'
ok '  each has its part of the summary' grep -q '^  alloc  ' "$work/out"
rm "$work/two"/flame*
echo dfgtree3 >"$work/two/session/tree-alloc"
run -q -f folded "$work/two"
is 'one that cannot be read costs the other nothing' "$(status) $(cd "$work/two" && echo flame*)" '1 flame.folded'
ok '  and is named' grep -q 'call tree of a session' "$work/err"
run -q -f folded -e alloc "$work/two"
is '  alone, it is an error' "$(status) $(wc -l <"$work/out")" '1 0'
# An event of perf's has a name that somebody else may have written.
make_two named $'<b onclick=\'x\'>\e[31m&' tree-perf
run -q -f html "$work/named"
is 'an event of another name is drawn' "$(status) $(cd "$work/named" && echo flame*)" '0 flame-perf.html flame.html'
ok '  its page links to it by text' grep -q '>&lt;b onclick' "$work/named/flame.html"
ok '  and by nothing else' eval '! grep -q "<b onclick" "$work/named/flame.html" "$work/named/flame-perf.html"'
ok '  the summary has no control character' eval '! grep -q "$(printf "\033")" "$work/out"'
run -q -e alloc "$work/web"
is 'a session has only what was recorded' "$(status) $(printed "$work/err")" \
	'1 dfg-trigger: WORK/web/session has none of these events'

tap_done
