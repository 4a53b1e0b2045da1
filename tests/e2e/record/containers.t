#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# JVMs in containers of every kind, all recorded at once: read by the host, by agents loaded where
# one can be, by those that are then resident. No JVM is ended, stopped, or made to print anything.
cd "$(dirname "$0")/../../.." || exit 1
. tests/lib/tap.sh
. tests/lib/bundle.sh
. tests/lib/shop.sh
. tests/lib/cases.sh
need strace cc ldd unshare
shop_setup
trap 'kill $tracer 2>/dev/null; shop_teardown' EXIT
read -r _ trixie java21 < <(tests/lib/jdk-roots.sh 21) || tap_cannot "JDK 21"
java21=$java21/bin/java

# Something that is no JVM.
cat >"$SHOP/app/burn.c" <<'END'
volatile unsigned sum;
static __attribute__((noinline)) void burn_some(void)
{
	for (unsigned i = 0; i < 1000000; i++)
		sum += i;
}
int main(void)
{
	for (;;)
		burn_some();
}
END
cc -O1 -o "$SHOP/app/burn" "$SHOP/app/burn.c"
case_bare "$SHOP/bare"

case_make plain agent
case_make root agent SHOP_USER=0:0 SHOP_CAPS="CAP_CHOWN CAP_SETUID CAP_SETGID CAP_KILL" \
	SHOP_JQ=".root.readonly = false"
# Cases 9, 33, 35, 36, 39, 45, 46 and 47, by their names.
case_make user-namespace agent SHOP_USERNS=100000:65536
case_make distroless /tmp SHOP_ROOT="$SHOP/bare" SHOP_JQ="$CASE_NO_TMP"
case_make tmp-read-only /tmp SHOP_JQ="$CASE_NO_TMP"
case_make tmp-full /tmp SHOP_JQ="$(case_tmp nr_inodes=1)"
case_make no-hook agent SHOP_HOOK=none
case_make init agent SHOP_JQ="$(case_script '"$@" & wait')"
case_make several agent SHOP_JQ="$(case_script '"$@" & "$@" & nice -n 5 /mnt/burn & nice -n 5 sh -c "while :; do :; done"')"
case_make host-pids agent SHOP_JQ="$CASE_HOST_PIDS"
# Two JVMs with the pid 1, in pid namespaces inside the container's.
nested='unshare --pid --fork --mount-proc'
case_make nested-pids host SHOP_USER=0:0 SHOP_CAPS=CAP_SYS_ADMIN \
	SHOP_JQ="$(case_script "$nested \"\$@\" & $nested \"\$@\" & wait")"
# A container in the container, with a /dev of its own.
case_make inner /dev/dfg SHOP_USER=0:0 SHOP_CAPS=CAP_SYS_ADMIN \
	SHOP_JQ="$(case_script "$nested sh -c 'mount -t tmpfs dev /dev && mkdir /dev/shm && exec \"\$@\"' sh \"\$@\"")"
case_make jdk-21 agent SHOP_ROOT="$trixie" SHOP_JAVA="$java21"
case_make no-loading "not enabled" SHOP_ROOT="$trixie" SHOP_JAVA="$java21" -XX:-EnableDynamicAgentLoading
case_make no-attach DisableAttachMechanism -XX:+DisableAttachMechanism
case_make no-signals -Xrs -Xrs
case_make stopped stopped
case_make paused frozen
case_make traced "is traced"
wait
case_make shared-pids agent SHOP_JQ="$(case_pids_of plain)"
wait
for name in "${CASES[@]}"; do
	case_at_work "$name" >"$SHOP/$name.work"
	is "$name is at work" $? 0
done
kill -STOP "$(case_pids stopped)"
# On a busy machine it gives up.
pause() { wait_for "${RUNTIME[@]}" pause "$(case_id "$1")"; }
pause paused
strace -qq -o /dev/null -e trace=none -p "$(case_pids traced)" & tracer=$!
wait_for grep -q '^TracerPid:	[1-9]' "/proc/$(case_pids traced | tr -d ' ')/status"
declare -A before
ids=()
for name in "${CASES[@]}"; do
	before[$name]=$(case_state "$name")
	ids+=("$(case_id "$name")")
done

# sources NAME WORD: one for each of its JVMs
sources() { case_sources "$1" $(printf "$2 %.0s" $(case_pids "$1")); }
works() { case $1 in stopped | paused) false ;; esac }

# On a busy machine some get next to no time, and their agents do not answer in that of dfg-trigger.
all_recorded() {
	local seconds
	for seconds in 4 15 50; do
		trigger -q -d $seconds -F 499 -f folded "$@" "${ids[@]}" || return
		[ "$(json '[.recordings[] | select(any(.jvms[]; .source != "none") and (.container.name |
			test("stopped|paused|plain|init") | not)) | .java_samples] | min')" -lt 30 ] ||
			grep -q "did not answer within" "$SHOP/out" "$SHOP/err" || return 0
	done
}

ok "by the host" all_recorded --source host
diag "$(cat "$SHOP/err")" "$(case_table host)"
for name in "${CASES[@]}"; do
	ok "$name: read by the host" sources "$name" host
	! works "$name" || ok "$name: stacks" case_stacks "$name"
	is "$name: untouched" "$(case_state "$name")" "${before[$name]}"
	is "$name: no agent" "$(case_agents "$name")" 0
done
for frame in "burn;.*;burn_some " "^sh"; do
	ok "several: no JVM, and in the graph: $frame" grep -q "$frame" "$(case_summary several .graphs.folded)"
done

# More than four JVMs for each processor: no agent is loaded that would wait for what its quota leaves it.
if [ "$(for name in "${CASES[@]}"; do case_pids "$name"; done | wc -w)" -gt $((4 * $(nproc))) ]; then
	ok "many at once" all_recorded
	for name in "${CASES[@]}"; do
		ok "$name: read by the host, as they are many" sources "$name" host
		is "$name: no agent is loaded" "$(case_agents "$name")" 0
	done
fi

ok "by the agent" all_recorded --source agent
diag "$(cat "$SHOP/err")" "$(case_table agent)"
for name in "${CASES[@]}"; do
	words=${AGENT[$name]}
	if [ "$words" = agent ] || [ "$words" = host ]; then
		ok "$name: by the $words" sources "$name" "$words"
		ok "$name: stacks" case_stacks "$name"
	else
		ok "$name: no agent" sources "$name" none
		for pid in $(case_pids "$name"); do
			is "$name: one line that says \"$words\"" "$(grep -c "code of $pid: .*$words" "$SHOP/err")" 1
		done
	fi
	# JDK 21 says itself that an agent was loaded.
	is "$name: untouched otherwise" "$(case_state "$name" | grep -v "^WARNING: \|/\.java_pid")" \
		"$(grep -v '/\.java_pid' <<<"${before[$name]}")"
done

# All of them go on; of those with an agent, two can give no answer now.
kill -CONT "$(case_pids stopped)"
"${RUNTIME[@]}" resume "$(case_id paused)"
kill $tracer
wait $tracer 2>/dev/null
kill -STOP "$(case_pids plain)"
pause init
ok "by what is there" all_recorded
diag "$(cat "$SHOP/err")" "$(case_table auto)"
for name in "${CASES[@]}"; do
	case ${AGENT[$name]}-$name in
	agent-plain | agent-init)
		ok "$name: by the host, since it cannot answer" sources "$name" host
		is "$name:   which is seen, not waited for" "$(case_summary "$name" .jvms[0].note)" \
			"the agent cannot answer: process $(case_pids "$name" | tr -d ' ') is $([ $name = plain ] && echo stopped || echo frozen)" ;;
	agent-*) ok "$name: by the resident agent" sources "$name" agent ;;
	*) case $name in
		stopped | paused | traced) ;; # loaded or not: it can be, now
		*) ok "$name: by the host" sources "$name" host ;;
		esac ;;
	esac
	case $name in plain | init) ;; *) ok "$name: stacks" case_stacks "$name" ;; esac
done
tap_done
