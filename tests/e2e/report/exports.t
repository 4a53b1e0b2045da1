#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# One recording of a real JVM in every format, read by those the formats are for: they see the same
# stacks and counts as the folded text has.
cd "$(dirname "$0")/../../.." || exit 1
. tests/lib/tap.sh
. bench/known.sh
need_root
need java javac jq perf python3 cc node npm
home=$(dirname "$(dirname "$(readlink -f "$(command -v java)")")")
pprof=$(ls /usr/lib/go-*/pkg/tool/linux_*/pprof 2>/dev/null | tail -n 1)
[ -n "$pprof" ] || tap_cannot "no pprof (golang-go)"
known_setup "$home"
unset http_proxy https_proxy all_proxy HTTP_PROXY HTTPS_PROXY ALL_PROXY

# Readers from npm, in the versions this was tried with.
npm=$BUILD/npm
mkdir -p "$npm"
lock npm
[ -d "$npm/node_modules/ajv" ] || timeout 300 npm install --prefix "$npm" --no-audit --no-fund --ignore-scripts --silent \
	speedscope@1.25.0 ajv@8.17.1 @firefox-devtools/profiler-cli@0.10.0 >/dev/null 2>&1
[ -d "$npm/node_modules/ajv" ] || tap_cannot "the packages from npm"

WARM=0
known_start "$home" streams 900
at_work "$known_pid" 200
# Few samples say little: a busy machine gets more time, not a failure.
for seconds in 3 10 40; do
	rm -rf "$KNOWN/out"
	"$BUILD/bin/dfg-trigger" --root "$KNOWN/root" -o "$KNOWN/out" --json -q --keep-stacks --by thread --full --unwind vm --source host -d $seconds -F 200 \
		-f folded,pprof,speedscope,firefox,json,perf-map --pid "$known_pid" >"$KNOWN/summary" 2>"$KNOWN/err" || cat "$KNOWN/err"
	[ "$(jq .samples "$KNOWN/summary" || echo 0)" -lt 100 ] || break
done
pid=$known_pid
known_stop
out=$KNOWN/out
session=$(jq -r .session "$KNOWN/summary")
samples=$(jq .samples "$KNOWN/summary")
diag "$samples samples"
sorted() { LC_ALL=C sort "$1"; }
tests/tools/exports.py folded "$out/flame.folded" | LC_ALL=C sort >"$KNOWN/plain"
sorted "$out/flame.folded" >"$KNOWN/kinds"
ok 'there are Java stacks' grep -q 'Known.run_\[.*Stream' "$out/flame.folded"

# ---- pprof ----
"$pprof" -symbolize=none -traces -sample_index=samples "$out/flame.pb.gz" >"$KNOWN/traces" 2>"$KNOWN/err"
tests/tools/exports.py traces "$KNOWN/traces" | LC_ALL=C sort >"$KNOWN/got"
ok 'pprof -traces: the same stacks' diff "$KNOWN/plain" "$KNOWN/got"
"$pprof" -symbolize=none -top -nodefraction=0 -sample_index=samples "$out/flame.pb.gz" >"$KNOWN/top" 2>>"$KNOWN/err"
ok 'pprof -top: all samples' grep -q "of $samples total" "$KNOWN/top"
leaf=$(awk '{ n = $NF; sub(/ [0-9]+$/, ""); sub(/.*;/, ""); self[$0] += n }
	END { for (f in self) if (self[f] > most) { most = self[f]; name = f } print most, name }' "$KNOWN/plain")
is 'pprof -top: the hottest method' "$(awk '$1 + 0 > 0 && /%/ && $2 ~ /%/ { print $1; exit }' "$KNOWN/top")" "${leaf%% *}"
ok 'pprof -top: by its name' grep -qF " ${leaf#* }" "$KNOWN/top"
"$pprof" -symbolize=none -raw "$out/flame.pb.gz" >"$KNOWN/raw" 2>>"$KNOWN/err"
ok 'pprof: source lines and inlined methods' grep -qE '^ +[a-z].* :[1-9][0-9]* s=0\(.*_\[j\]\)$' "$KNOWN/raw"
ok 'pprof: threads' grep -q "pid:\[$pid\].*tid:\[\|tid:\[.*pid:\[$pid\]" "$KNOWN/raw"
ok 'pprof: mappings' grep -q 'libjvm\.so' "$KNOWN/raw"

# ---- the others ----
node - "$npm" "$out/flame.speedscope.json" >"$KNOWN/got" 2>&1 <<'END'
const [npm, file] = process.argv.slice(2), fs = require('fs');
const Ajv = require(npm + '/node_modules/ajv').default;
const schema = JSON.parse(fs.readFileSync(npm + '/node_modules/speedscope/dist/release/file-format-schema.json'));
const valid = new Ajv({strict: false}).compile(schema);
console.log(valid(JSON.parse(fs.readFileSync(file))) ? 'valid' : JSON.stringify(valid.errors));
END
is 'speedscope: by its schema' "$(cat "$KNOWN/got")" valid
tests/tools/exports.py speedscope "$out/flame.speedscope.json" 5 | LC_ALL=C sort >"$KNOWN/got"
ok 'speedscope: the same stacks' diff "$KNOWN/plain" "$KNOWN/got"
tests/tools/exports.py json "$out/flame.json" | LC_ALL=C sort >"$KNOWN/got"
ok 'the call tree: the same stacks and kinds' diff "$KNOWN/kinds" "$KNOWN/got"
tests/tools/exports.py firefox "$out/flame.firefox.json" | LC_ALL=C sort >"$KNOWN/got"
ok 'Firefox Profiler: the same stacks and kinds' diff "$KNOWN/kinds" "$KNOWN/got"

# Its command line starts a server, which it waits for less long than a busy machine takes.
firefox() { HOME=$KNOWN node "$npm/node_modules/@firefox-devtools/profiler-cli/dist/profiler-cli.js" "$@"; }
firefox load "$out/flame.firefox.json" >"$KNOWN/load" 2>&1
ok 'Firefox Profiler: loads' wait_for firefox profile info
thread=$(awk -F';' '{ n = $0; sub(/.* /, "", n); all[$1] += n }
	END { for (t in all) if (all[t] > most) { most = all[t]; name = t } print most, name }' "$KNOWN/plain")
firefox thread samples >"$KNOWN/got" 2>&1
ok 'Firefox Profiler: the busiest thread' grep -qF "Thread: ${thread#* }" "$KNOWN/got"
ok 'Firefox Profiler: all its samples' grep -qE "\(${thread%% *} .*samples\)" "$KNOWN/got"
ok 'Firefox Profiler: categories' grep -qE '^ +Java, inlined ' "$KNOWN/got"
firefox stop --all >/dev/null 2>&1

# ---- stock perf ----
# It asks /tmp/perf-<pid>.map for memory without a file. A line of it is a whole compiled method.
trap 'rm -f "/tmp/perf-$pid.map"; known_teardown' EXIT
is 'perf map: one for the JVM' "$(tar -tf "$out/perf-map.tar")" "perf-$pid.map"
tar -C /tmp -xf "$out/perf-map.tar"
ok 'perf map: no two entries overlap' awk '
	function number(hex,  i, n) { for (i = 1; i <= length(hex); i++) n = n * 16 + index("0123456789abcdef", substr(hex, i, 1)) - 1; return n }
	{ start = number($1); if (start < end) { print; exit 1 } end = start + number($2) }' "/tmp/perf-$pid.map"
timeout 300 perf script -f -G --no-inline --max-stack 1 -i "$session/perf.data" -F ip,sym,dso 2>"$KNOWN/err" | grep -F "(/tmp/perf-$pid.map)" |
	sed -e 's/^ *[0-9a-f]* *//' -e 's/ ([^(]*$//' -e 's/+0x[0-9a-f]*$//' | LC_ALL=C sort | uniq -c | sort -rn >"$KNOWN/perf"
# Of our stacks that end in compiled code, the method that was compiled.
sed -nE '/_\[[ji]\] [0-9]+$/ { s/(_\[j\])(;[^;]*_\[i\])* /\1 /; s/.*;//; s/_\[j\] / /p }' "$out/flame.folded" |
	awk '{ n[$1] += $2 } END { for (m in n) print n[m], m }' | sort -rn >"$KNOWN/ours"
diag "perf: $(head -n 1 "$KNOWN/perf"); dfg: $(head -n 1 "$KNOWN/ours")"
ok 'perf script names Java code by it' test "$(awk '{ print $2 }' "$KNOWN/perf" | grep -cFxf <(awk '{ print $2 }' "$KNOWN/ours"))" -gt 0
is 'perf script: samples in the hottest compiled method' "$(awk -v m="$(awk 'NR == 1 { print $2 }' "$KNOWN/ours")" '$2 == m { print $1 }' "$KNOWN/perf")" \
	"$(awk 'NR == 1 { print $1 }' "$KNOWN/ours")"
rm -f "/tmp/perf-$pid.map"

# ---- a server ----
cat >"$KNOWN/server.py" <<'END'
import http.server, json, sys
class Server(http.server.BaseHTTPRequestHandler):
    def do_POST(self):
        body = self.rfile.read(int(self.headers['Content-Length']))
        open(sys.argv[1] + '/body', 'wb').write(body)
        json.dump({'path': self.path, 'headers': dict(self.headers)}, open(sys.argv[1] + '/request', 'w'))
        self.send_response(302 if '/moved/' in self.path else 401 if '/closed/' in self.path else 200)
        self.send_header('Location', 'http://127.0.0.1:1/')
        self.end_headers()
        self.wfile.write(b'no\x1b[31m entry')
    def log_message(self, *args): pass
s = http.server.HTTPServer(('127.0.0.1', 0), Server)
open(sys.argv[1] + '/port', 'w').write(str(s.server_port))
s.serve_forever()
END
mkdir "$KNOWN/server"
python3 "$KNOWN/server.py" "$KNOWN/server" &
server=$!
wait_for test -s "$KNOWN/server/port"
url=http://127.0.0.1:$(cat "$KNOWN/server/port")
push() { "$BUILD/bin/dfg-trigger" -q -f folded -o "$KNOWN/pushed" --replay --push "$@" "$session"; }

printf 'Authorization: Bearer secret\nX-Scope-OrgID: team\n' >"$KNOWN/headers"
chmod 600 "$KNOWN/headers"
DFG_PUSH_HEADERS=$KNOWN/headers ok 'push' push "$url/"
ok 'push: the profile' cmp "$KNOWN/server/body" "$KNOWN/pushed/flame.pb.gz"
request() { jq -r "$1" "$KNOWN/server/request"; }
is 'push: to /ingest' "$(request .path | cut -d'?' -f1)" /ingest
ok 'push: as pprof, with times' grep -qE '[?&]format=pprof&.*&from=1[0-9]{9}&until=1[0-9]{9}' <(request .path)
ok 'push: with labels' python3 - "$(request .path)" "$(hostname)" <<'END'
import sys, urllib.parse
name = urllib.parse.parse_qs(urllib.parse.urlparse(sys.argv[1]).query)['name'][0]
assert '{container=' in name and name.endswith('host=' + sys.argv[2] + '}'), name
END
is 'push: with the lines of the file' "$(request '.headers | .Authorization + .["X-Scope-OrgID"]')" 'Bearer secretteam'
chmod 644 "$KNOWN/headers"
DFG_PUSH_HEADERS=$KNOWN/headers push "$url" >/dev/null 2>"$KNOWN/err"
ok 'push: a file of secrets that others may read is refused' grep -q 'chmod 600' "$KNOWN/err"
push "$url/moved/" >/dev/null 2>"$KNOWN/err"
is 'push: a redirection fails' $? 1
ok 'and says so' grep -q '302, a redirection' "$KNOWN/err"
push "$url/closed/" >/dev/null 2>"$KNOWN/err"
ok 'push: what the server says, cleaned' grep -q '401: no?\[31m entry; credentials' "$KNOWN/err"
kill $server
wait $server 2>/dev/null
push "$url" >/dev/null 2>"$KNOWN/err"
ok 'push: nobody there' grep -qi "push to $url: couldn.t connect" "$KNOWN/err"
ok 'the pictures are there all the same' test -s "$KNOWN/pushed/flame.folded"
tap_done
