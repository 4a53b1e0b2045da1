# SPDX-License-Identifier: Apache-2.0
# The steps of run.sh, in its order; run.sh sources it. shellcheck disable=SC2154,SC2086,SC2015,SC2016
top=$here/../..
daemon='' trigger='' first=''
: "${LOAD:=jmeter}" "${CLIENTS:=8}" "${ROUNDS:=5}" "${SECONDS_EACH:=12}" "${WARM_UP:=30}" "${FREQUENCY:=99}"
: "${MATRIX:=$here/matrix}" "${MIRROR:=${DFG_MIRROR:-http://deb.debian.org/debian}}"

say() { printf '\n== %s  %s\n' "$(date +%T)" "$*"; }
die() { echo "run.sh: $*" >&2; exit 1; }

options() {
	mode=
	case ${1:-} in
	--same | --images) mode=$1; shift ;;
	-*) echo "run.sh: unknown option '$1': expected --same or --images" >&2; exit 2 ;;
	esac
	case $LOAD in jmeter | wrk) ;; *) echo "run.sh: LOAD=$LOAD: expected jmeter or wrk" >&2; exit 2 ;; esac
	[ "$(id -u)" = 0 ] || die "needs root, for Docker and perf: sudo sh $0"
	[ "$(nproc)" -gt 1 ] || die "needs two processors: one for the server, one for the load"
	out=$(readlink -m "${1:-compare-$(date +%Y%m%dT%H%M%S)}")
	work=$(mktemp -d /var/tmp/dfg-compare.XXXXXX)
	[ ! -e "$out/rounds" ] || die "$out has a result already"
	mkdir -p "$out"
	trap finish EXIT
	trap 'exit 1' INT TERM
	grep -v -e '^#' -e '^ *$' "$MATRIX" >"$work/matrix" || die "$MATRIX: no configuration"
	if [ "$mode" = --same ]; then
		sed -n '1{p;s/^[^ ]*/&-again/p;}' "$work/matrix" >"$work/same"
		mv "$work/same" "$work/matrix"
	fi
	awk -v requests=5000 -f "$here/load/mix.awk" >"$work/mix"
}

packages() { sh "$top/packages.sh" demo compare "$LOAD"; }

# DFG_BUILD=DIR: one that was built before.
build() {
	[ -z "${DFG_BUILD:-}" ] || return 0
	DFG_BUILD=$top/build
	say "building dfg"
	make -s -C "$top" -j"$(nproc)" all
}

# The machine's Docker; where it does not run (no systemd), one for as long as this takes.
engine() {
	docker info >/dev/null 2>&1 || {
		say "starting a Docker daemon of this example's own"
		mkdir -p /var/lib/dfg-compare
		exec 9>/var/lib/dfg-compare/lock
		flock -w 600 9 || die "another run of this example does not end"
		export DOCKER_HOST="unix://$work/docker.sock"
		dockerd --host "$DOCKER_HOST" --data-root /var/lib/dfg-compare/docker --exec-root "$work/exec" \
			--pidfile "$work/dockerd.pid" --bridge none --iptables=false --ip6tables=false \
			--exec-opt native.cgroupdriver=cgroupfs ${DOCKERD_OPTIONS:-} >"$out/dockerd.log" 2>&1 9>&- &
		daemon=$!
		wait_for docker info || die "dockerd does not start: see $out/dockerd.log"
	}
}

# wait_for COMMAND...: until it succeeds, two minutes at most.
wait_for() {
	tries=0
	until "$@" >/dev/null 2>&1; do
		tries=$((tries + 1))
		[ $tries -le 600 ] || return 1
		sleep 0.2
	done
}

# configurations COMMAND: with the variables of each row of the matrix.
configurations() {
	number=0
	while read -r name database jdk collector pool heap; do
		number=$((number + 1))
		app=dfg-compare-$name db=dfg-compare-$name-db
		"$@" </dev/null
	done <"$work/matrix"
}

# ---- images ----

# base SUITE: Debian's minimal system, as an image.
base() {
	docker image inspect "dfg-compare-debian:$1" >/dev/null 2>&1 || {
		say "image: Debian $1 (debootstrap)"
		[ -d "$work/$1" ] || env -i PATH="$PATH" ${http_proxy:+"http_proxy=$http_proxy"} \
			debootstrap --variant=minbase "$1" "$work/$1" "$MIRROR" >"$out/debootstrap.log" 2>&1 ||
			die "debootstrap: $(tail -n 1 "$out/debootstrap.log")"
		# A mirror that stands still has dates that have passed.
		echo 'Acquire::Check-Valid-Until "false";' >"$work/$1/etc/apt/apt.conf.d/90compare"
		tar -C "$work/$1" -c . | docker import - "dfg-compare-debian:$1" >/dev/null
		rm -rf "${work:?}/$1"
	}
}

# image NAME FILE [ARGUMENT...]: built of a Dockerfile; what was built before is taken from Docker's cache.
image() {
	image=$1 file=$2
	shift 2
	say "image: $image"
	DOCKER_BUILDKIT=0 docker build --network host ${http_proxy:+--build-arg http_proxy="$http_proxy"} "$@" \
		-t "$image" -f "$here/images/$file" "$here" >"$out/$file.log" 2>&1 ||
		die "docker build: $(tail -n 1 "$out/$file.log"), see $out/$file.log"
}

images() {
	case $jdk in 17) suite=bookworm ;; *) suite=trixie ;; esac
	base $suite
	image "dfg-compare:$jdk" app.Dockerfile --build-arg SUITE=$suite --build-arg JDK="$jdk"
	[ "$database" = hsqldb ] || { base bookworm; image dfg-compare:db db.Dockerfile; }
}

# ---- configurations ----

# The server's containers have one half of the processors, the load generator the other: neither takes the other's.
half=$(($(nproc) / 2))
server=0-$((half - 1)) generator=$half-$(($(nproc) - 1))

start() {
	say "$name: starting Tomcat on JDK $jdk with $collector, heap $heap, $pool connections to $database"
	docker rm -f "$app" "$db" >/dev/null 2>&1 || true
	case $database in
	hsqldb)
		network=none url="jdbc:hsqldb:mem:shop;hsqldb.tx=mvcc" driver=org.hsqldb.jdbc.JDBCDriver user=SA ;;
	postgresql)
		network=container:$db url=jdbc:postgresql://127.0.0.1/shop driver=org.postgresql.Driver user=postgres
		docker run -d --name "$db" --network none --cpuset-cpus $server dfg-compare:db >/dev/null
		wait_for docker exec "$db" pg_isready -q -h 127.0.0.1 || die "$name: PostgreSQL does not start"
		;;
	*) die "$MATRIX: $name: unknown database '$database': expected hsqldb or postgresql" ;;
	esac
	docker run -d --name "$app" --network "$network" --cpuset-cpus $server -e CATALINA_OPTS="-Dshop.url='$url' \
		-Dshop.driver=$driver -Dshop.user=$user -Dshop.password= -Dshop.pool=$pool \
		-XX:+Use${collector}GC -Xms$heap -Xmx$heap -XX:+UnlockDiagnosticVMOptions -XX:+DebugNonSafepoints" \
		"dfg-compare:$jdk" >/dev/null
	wait_for page_or_end
	get /list >/dev/null || {
		docker logs "$app" >"$out/$name-tomcat.log" 2>&1
		die "$name: the shop does not start: see $out/$name-tomcat.log"
	}
}

page_or_end() { get /list || [ "$(docker inspect -f '{{.State.Running}}' "$app")" = false ]; }
stop() { docker rm -f "$app" "$db" >/dev/null 2>&1 || true; }

finish() {
	status=$?
	trap '' INT TERM
	[ -z "$trigger" ] || kill "$trigger" 2>/dev/null || true
	configurations stop
	[ -z "$daemon" ] || { kill "$daemon"; wait "$daemon" || true; umount "$work"/exec/netns/*; } 2>/dev/null || true
	rm -rf "$work"
	exit $status
}

# inside COMMAND...: in the container's network, which no one else reaches: each Tomcat has the port 8080 of its own.
inside() { nsenter --net="$(network_of)" "$@"; }
network_of() { docker inspect -f '/proc/{{.State.Pid}}/ns/net' "$app"; }

# get PATH [METHOD]: a page.
get() { inside curl -sf --noproxy '*' -X "${2:-GET}" "http://127.0.0.1:8080$1"; }

# Every kind of page, to see that all configurations serve the same.
same_pages() {
	{
		get "/list?category=3&page=2" && get "/search?word=oak" && get "/detail?product=77" &&
			get "/cart?cart=999&product=77" POST && get "/cart?cart=999&product=78" POST && get "/cart?cart=999"
	} >"$out/$name-pages.html" || die "$name: a page is missing: see $out/$name-pages.html"
	[ -n "$first" ] || first=$name
	cmp "$out/$first-pages.html" "$out/$name-pages.html" || die "$first and $name do not serve the same pages"
}

# ---- load ----

# load SECONDS RESULT: on this configuration.
load() {
	case $LOAD in
	wrk)
		MIX=$work/mix RESULT=$2 inside taskset -c $generator wrk -t 1 -c "$CLIENTS" -d "$1" --timeout 20 --latency \
			-s "$here/load/wrk.lua" "http://127.0.0.1:8080" >"$work/load.log" 2>&1 ;;
	jmeter)
		inside taskset -c $generator java -Xmx512m -Djmeter.home=/usr/share/jmeter -cp /usr/share/jmeter/bin/ApacheJMeter.jar \
			"$here/load/Jmeter.java" -n -t "$here/load/plan.jmx" -j "$work/jmeter.log" -l "$2" \
			-Jthreads="$CLIENTS" -Jseconds="$1" -Jmix="$work/mix" \
			-Jjmeter.save.saveservice.output_format=csv >"$work/load.log" 2>&1 ;;
	esac && [ -s "$2" ] || die "$name: $LOAD fails: $(tail -n 1 "$work/load.log")"
}

# Processor time that a container has used, in nanoseconds (control groups of version 2, or 1).
cpu_of() {
	docker exec "$1" sh -c 'awk "/^usage_usec/ {print \$2 * 1000}" /sys/fs/cgroup/cpu.stat 2>/dev/null ||
		cat /sys/fs/cgroup/cpuacct/cpuacct.usage' 2>/dev/null || echo 0
}

# Until the JVM has used so much processor time: on a busy machine, too, its compilers have then seen as much.
warm_up() {
	say "$name: warm-up, until the JVM has used $WARM_UP s of processor time"
	until [ "$(($(cpu_of "$app") / 1000000000))" -ge "$WARM_UP" ]; do
		load 10 "$work/warm-up"
		rm -f "$work/warm-up"
	done
}

# One recording of all configurations, for as long as the rounds take.
record_begin() {
	say "recording"
	# shellcheck disable=SC2046
	"$DFG_BUILD/bin/dfg-trigger" -q --json -d 2h -F "$FREQUENCY" --root "$work/root" -o "$out/recordings" \
		$(configurations eval 'echo "$app"') >"$out/recordings.json" 2>"$out/dfg.log" &
	trigger=$!
	wait_for records || die "dfg-trigger records nothing: $(tail -n 1 "$out/dfg.log")"
	date +%s >"$out/began"
}

records() { find "$work/root" -name perf.data -size +0 | grep -q .; }

# Each configuration in turn, several times, so that what the machine does meanwhile meets all of them.
rounds() {
	round=0
	while [ $round -lt "$ROUNDS" ]; do
		round=$((round + 1))
		say "round $round of $ROUNDS: $SECONDS_EACH s of $LOAD with $CLIENTS clients on each configuration"
		configurations one_round
	done
}

# A line in the file "rounds": name, number, begin and end, processor time of JVM and database in ns.
one_round() {
	begin=$(date +%s) before=$(cpu_of "$app") db_before=$(cpu_of "$db")
	load "$SECONDS_EACH" "$out/$name-$round.load"
	after=$(cpu_of "$app") db_after=$(cpu_of "$db")
	echo "$name $round $begin $(date +%s) $((after - before)) $((db_after - db_before))" >>"$out/rounds"
}

record_end() {
	say "drawing"
	kill -INT "$trigger" && wait "$trigger" || die "dfg-trigger: $(tail -n 1 "$out/dfg.log")"
	trigger=
	configurations pages
}

pages() { cp "$out/recordings/$app/flame.html" "$out/$name.html"; }

# The first configuration with each of the others.
differences() {
	configurations difference
}

difference() {
	[ "$number" != 1 ] || { first=$name; return 0; }
	"$DFG_BUILD/bin/dfg-diff" -f html -o "$work/diff" --json --fail-on 5% "$out/recordings/dfg-compare-$first" \
		"$out/recordings/$app" >"$out/$first-$name.json" 2>"$out/dfg.log" || [ $? = 6 ] ||
		die "dfg-diff: $(tail -n 1 "$out/dfg.log")"
	mv "$work/diff/diff.html" "$out/$first-$name.html"
}

table() {
	say "the result"
	DFG_TRIGGER=$DFG_BUILD/bin/dfg-trigger python3 -B "$here/table.py" "$out"
	# Under sudo they belong to the user who called it, the recordings to root. The directory comes last.
	[ -z "${SUDO_UID:-}" ] || chown -h "$SUDO_UID:$SUDO_GID" "$out"/*.* "$out"
	echo
	ls "$out"/*.html "$out"/table.* | grep -v -e '-pages.html$'
}
