#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# How whole the stacks of real Java programs are that run without any flag for it, by the size of the
# stack copies, and walked in the kernel: programs in runc containers, recorded with --unwind vm and bpf.
#
#	bench/real.sh [javac|ecj|hsqldb|tomcat]...      default: all
#
# Root; needs runc, jq, perf, a JDK, and for the programs the Debian packages ecj, libhsqldb-java,
# tomcat10, tomcat10-examples, wrk.
#	JAVA      the JVM (java)                  DURATION  seconds of each recording (10)
#	SOURCES   (agent host)                    STACKS    bytes, and bpf (8192 16384 32768 65528 bpf)
#	KEEP      directory to leave the recordings in
set -eu -o pipefail
cd "$(dirname "$0")/.."
. tests/lib/tap.sh
. tests/lib/bundle.sh
[ $# -gt 0 ] || set -- javac ecj hsqldb tomcat
read -ra SOURCES <<<"${SOURCES:-agent host}"
read -ra STACKS <<<"${STACKS:-8192 16384 32768 65528 bpf}"
DURATION=${DURATION:-10}
JAVA=$(readlink -f "$(command -v "${JAVA:-java}")")
DFG=$BUILD/bin/dfg-trigger
DIR=$(mktemp -d /tmp/dfg-real.XXXXXX)
OUT=${KEEP:-$DIR/kept}
TMPDIR=$DIR # runc's state, too
export DFG_ROOT=$DIR/root TMPDIR
LOAD=()
bundle_runtime runc

load_stop() {
	[ ${#LOAD[@]} = 0 ] || kill "${LOAD[@]}" 2>/dev/null || :
	[ ${#LOAD[@]} = 0 ] || wait "${LOAD[@]}" 2>/dev/null || :
	LOAD=()
}
cleanup() {
	local id
	set +e # all of it, whatever fails
	load_stop
	for id in $("${RUNTIME[@]}" list -q); do bundle_stop "$id"; done
	"$BUILD/libexec/dfg-hook" --release --root "$DFG_ROOT" >/dev/null 2>&1 || :
	awk -v d="$DIR/" 'index($5, d) == 1 {print $5}' /proc/self/mountinfo | sort -r | xargs -r umount -l
	rm -rf "$DIR"
}
trap cleanup EXIT
mkdir -p "$OUT" "$DIR/app"
chmod 755 "$DIR"

# container ID JVM-ARGUMENT...: the host's files with DIR/app as /app and a /tmp of its own
container() {
	local id=$1
	shift
	mkdir -p "$DIR/$id/tmp"
	chmod 1777 "$DIR/$id/tmp"
	# shellcheck disable=SC2034
	BUNDLE_HOOK=$BUILD/libexec/dfg-hook
	# shellcheck disable=SC2034
	BUNDLE_HOOK_ARGS=(--root "$DFG_ROOT" --payload "$BUILD/libexec/payload.squashfs")
	BUNDLE_MOUNTS=("$DIR/app:/app" "$DIR/$id/tmp:/tmp")
	bundle_make "$DIR/$id" host "$JAVA" "$@"
	bundle_start "$id" "$DIR/$id" || { cat "$DIR/$id/log" >&2; return 1; }
}

start_javac() {
	javac -d "$DIR/app" bench/Load.java
	container javac -cp /app Load 3600
}
start_ecj() {
	javac -d "$DIR/app" bench/Load.java bench/Ecj.java
	container ecj -cp /app:/usr/share/java/eclipse-jdt-core.jar Ecj 3600
}
start_hsqldb() {
	javac -d "$DIR/app" bench/Jdbc.java
	container hsqldb -cp /app:/usr/share/java/hsqldb.jar Jdbc 3600
}
# Servlets and pages of its examples; compiling the pages is part of the load of the first seconds.
start_tomcat() {
	local base=$DIR/app/tomcat url urls=(servlets/servlet/HelloWorldExample
		servlets/servlet/RequestHeaderExample jsp/jsp2/el/basic-arithmetic.jsp
		jsp/jsp2/tagfiles/products.jsp jsp/xml/xml.jsp)
	mkdir -p "$base"/{logs,work,temp,webapps,conf}
	cp -rL /etc/tomcat10/{server.xml,web.xml,context.xml,logging.properties,catalina.properties} "$base/conf"
	cp -rL /usr/share/tomcat10-examples/examples "$base/webapps"
	container tomcat -cp /usr/share/tomcat10/bin/bootstrap.jar:/usr/share/tomcat10/bin/tomcat-juli.jar \
		-Dcatalina.home=/usr/share/tomcat10 -Dcatalina.base=/app/tomcat \
		-Djava.io.tmpdir=/app/tomcat/temp org.apache.catalina.startup.Bootstrap start
	enter=(nsenter -t "$(bundle_pid tomcat)" -n)
	until "${enter[@]}" curl -sf -o /dev/null "http://127.0.0.1:8080/examples/"; do sleep 0.5; done
	for url in "${urls[@]}"; do
		"${enter[@]}" curl -sf -o /dev/null "http://127.0.0.1:8080/examples/$url"
		"${enter[@]}" wrk -t 1 -c 3 -d 3600 "http://127.0.0.1:8080/examples/$url" >/dev/null &
		LOAD+=($!)
	done
}

# Frames of each sample, with the thread's name: p50 p99 max.
depths() {
	awk '{n = $NF; $NF = ""; d = gsub(/;/, ";") + 1; count[d] += n; all += n; if (d > max) max = d}
	END {for (d = 1; d <= max; d++) {
		seen += count[d]
		if (!p50 && seen >= all / 2) p50 = d
		if (!p99 && seen >= all * 0.99) p99 = d
	} print p50, p99, max}' "$1"
}

record() {
	local id=$1 source=$2 stack=$3 out=$OUT/$1-$2-$3 how=(--unwind vm --stack "$3")
	rm -rf "$out"
	[ "$stack" != bpf ] || how=(--unwind bpf)
	"$DFG" --json -q --keep-stacks --by thread --full "${how[@]}" --source "$source" -F 199 -d "$DURATION" -o "$out" "$id" \
		>"$DIR/json" 2>"$DIR/err" || { cat "$DIR/err" >&2; return 1; }
	read -r p50 p99 max < <(depths "$out/flame.folded")
	jq -r --arg p "$id" --arg s "$source" --arg b "$stack" --arg d "$p50/$p99/$max" \
		--arg bytes "$(stat -c %s "$out/session/perf.data")" '
		def percent: . * 10000 | round / 100 | tostring;
		[$p, $s, $b, .samples, .java_samples, (.complete | percent), (.truncated | percent),
		 (.unknown_frames | percent), $d, ($bytes | tonumber / 1e6 * 10 | round / 10),
		 .jvms[0].methods, (.jvms[0].dump_ms | round), .post_ms, .lost, (.fallback // 1 | percent), .jvms[0].source] | @tsv' "$DIR/json"
	[ -n "${KEEP:-}" ] || rm -rf "$out"
}

row='%-8s %-6s %6s %8s %8s %9s %9s %9s %12s %7s %8s %8s %8s %6s %8s %s\n'
echo "load average $(cut -d' ' -f1-3 /proc/loadavg) on $(nproc) CPUs, Linux $(uname -r), $("$JAVA" -version 2>&1 | tail -n 1)"
# shellcheck disable=SC2059
printf "$row" program source stack samples java complete% trunc.% unknown% depth MB methods dump_ms post_ms lost copied% used
for program; do
	"start_$program"
	sleep "${WARM:-15}"
	for stack in "${STACKS[@]}"; do
		for source in "${SOURCES[@]}"; do
			IFS=$'\t' read -ra f < <(record "$program" "$source" "$stack")
			# shellcheck disable=SC2059
			printf "$row" "${f[@]}"
		done
	done
	load_stop
	bundle_stop "$program" || :
done
echo "load average $(cut -d' ' -f1-3 /proc/loadavg)"
