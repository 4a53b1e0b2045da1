#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# dfg-inject against processes that look like a JVM and misbehave. Needs no root; as root it also
# tries other users.
. "$(dirname "$0")/../../lib/tap.sh"
need cc strace
INJECT=$BUILD/payload/dfg-inject
[ -x "$INJECT" ] || tap_cannot "no $INJECT"
D=$(mktemp -d)
chmod 755 "$D"
pids=
trap 'kill -9 $pids 2>/dev/null; rm -rf "$D"; for p in $pids; do rm -rf /tmp/.java_pid$p /tmp/.attach_pid$p; done' EXIT
cc -o "$D/fakejvm" "$TOP/tests/e2e/inject/fake-jvm.c" || tap_cannot "fakejvm.c does not compile"
head -c 4096 /dev/zero >"$D/libjvm.so"
mkdir -m 777 "$D/cwd"
# The injector must reach whoever it runs as.
cp "$INJECT" "$D/dfg-inject"

# fake MODE [REPLY]: starts one and waits until it is ready; sets P (pid) and L (its log).
n=0
fake() {
	n=$((n + 1))
	L=$D/log$n
	: >"$L"
	chmod 666 "$L"
	mkfifo "$D/ready$n"
	# Files of an ended process with the same pid go first; with $AS, only root may remove them.
	(cd "$D/cwd" && rm -rf "/tmp/.java_pid$BASHPID" "/tmp/.attach_pid$BASHPID" &&
		exec ${AS:-} "$D/fakejvm" "$D/libjvm.so" "$L" "$@") >"$D/ready$n" &
	P=$!
	pids="$pids $P"
	read -r _ <"$D/ready$n"
}
# inject ARGS: sets RC, OUT (both streams) and MS.
inject() {
	local t0=${EPOCHREALTIME/./}
	OUT=$(${AS_INJECT:-} "$D/dfg-inject" "$@" 2>&1)
	RC=$?
	MS=$(((${EPOCHREALTIME/./} - t0) / 1000))
}
says() { case $OUT in *"$1"*) true ;; *) echo "$OUT" && false ;; esac; }
quits() { grep -c '^quit' "$L"; }
one_line() { [ "$(printf '%s\n' "$OUT" | wc -l)" = 1 ] || { echo "$OUT" && false; }; }
clean() { ! ls "/tmp/.attach_pid$P" "$D/cwd/.attach_pid$P" 2>/dev/null; }
end() { kill -9 "$P" 2>/dev/null; wait "$P" 2>/dev/null; rm -rf "/tmp/.java_pid$P" "/tmp/.attach_pid$P"; }

# ---- it works
fake ok
inject "$P" /some/agent.so 'a b;c=1'
is "loads" "$RC $OUT" "0 "
is "version 1 request" "$(grep ^request "$L")" "request 1|load|/some/agent.so|true|a b;c=1|"
is "one SIGQUIT" "$(quits)" 1
ok "trigger file is gone" clean
inject "$P" /some/agent.so
is "loads again" "$RC" 0
is "without another SIGQUIT" "$(quits)" 1
end

fake early
inject "$P"
is "listening already: loads" "$RC" 0
is "no SIGQUIT" "$(quits)" 0
is "default agent" "$(grep ^request "$L")" "request 1|load|/dev/dfg/libdfg-agent.so|true||"
end

fake late
inject "$P"
is "just starting: waited for" "$RC" 0
end

fake ok
"$D/dfg-inject" "$P" &
A=$!
inject "$P"
wait "$A"
is "two at once: both load (case 54)" "$? $RC" "0 0"
is "one SIGQUIT" "$(quits)" 1
ok "trigger file is gone" clean
end

# A dead JVM's socket at the name of a new one with the same pid.
fake ok
python3 - "$P" <<-'PY' 2>/dev/null || perl -MSocket -e 'socket(S,PF_UNIX,SOCK_STREAM,0); bind(S,sockaddr_un("/tmp/.java_pid'"$P"'"))'
	import socket, sys
	socket.socket(socket.AF_UNIX).bind("/tmp/.java_pid" + sys.argv[1])
PY
inject "$P"
is "a dead JVM's socket is replaced" "$RC $(quits)" "0 1"
end

# ---- answers
fake early $'-1\n\033]0;pwned\007\033[2J\033[31mred\xe2\x80\xae\n'
inject "$P"
is "escape sequences: fails" "$RC" 1
ok "none is printed (case 50)" test -z "$(printf %s "$OUT" | LC_ALL=C tr -d ' -~')"
ok "in one line" one_line
end

fake early $'0\nreturn code: 7\n'
inject "$P" /x.so
is "the agent's code is a failure" "$RC $OUT" "1 dfg-inject: /x.so was loaded, but returned 7"
end

for m in mute drip deaf full; do
	fake "$m"
	inject -t 600 "$P"
	is "$m: fails (case 50)" "$RC" 1
	ok "$m: in time ($MS ms)" test "$MS" -lt 15000
	ok "$m: in one line" one_line
	ok "$m: trigger file is gone" clean
	end
done

fake flood
inject -t 100000 "$P"
is "1 GiB of answer: fails (case 50)" "$RC" 1
ok "says so" says "too long"
ok "at once ($MS ms)" test "$MS" -lt 50000
end

fake nosocket
inject -t 600 "$P"
is "never listens: fails" "$RC" 1
ok "names DisableAttachMechanism" says DisableAttachMechanism
is "one SIGQUIT only" "$(quits)" 1
ok "trigger file is gone" clean
end

# ---- it ends meanwhile
for m in die-quit die-accept die-request; do
	fake "$m"
	inject -t 100000 "$P"
	is "$m: gone (case 48)" "$RC" 3
	ok "$m: at once ($MS ms)" test "$MS" -lt 50000
	ok "$m: trigger file is gone" clean
	end
done
inject "$P"
is "no such process" "$RC" 3

# ---- what SIGQUIT would kill, or must not reach
for m in default ignore; do
	fake "$m"
	inject -t 2000 "$P"
	is "$m: no JVM (case 46)" "$RC" 4
	ok "$m: lives" kill -0 "$P"
	ok "$m: no trigger file was left" clean
	end
done
sleep infinity &
P=$!
pids="$pids $P"
inject "$P"
is "another program: no JVM" "$RC" 4
ok "lives" kill -0 "$P"
end

fake ok
kill -STOP "$P"
wait_for grep -q '^State:	T' "/proc/$P/status"
inject -t 2000 "$P"
is "stopped: refused (case 47)" "$RC" 1
kill -CONT "$P"
sleep 0.1
is "no SIGQUIT was waiting" "$(quits)" 0
strace -o /dev/null -p "$P" 2>/dev/null &
S=$!
pids="$pids $S"
wait_for grep -q '^TracerPid:	[1-9]' "/proc/$P/status"
inject -t 2000 "$P"
is "traced: refused (case 47)" "$RC" 1
ok "says so" says "is traced"
is "no SIGQUIT" "$(quits)" 0
kill "$S"
wait "$S" 2>/dev/null
inject "$P"
is "afterwards it loads" "$RC" 0
end

# ---- what lies at the names
fake ok
echo precious >"/tmp/.java_pid$P"
inject "$P"
is "a regular file at the socket's name: refused (case 50)" "$RC" 1
ok "says so" says "is not a socket"
is "no SIGQUIT" "$(quits)" 0
is "untouched" "$(cat "/tmp/.java_pid$P")" precious
end

fake early
OTHER=$P
OTHERLOG=$L
fake ok
ln -s "/tmp/.java_pid$OTHER" "/tmp/.java_pid$P"
inject "$P"
is "a link at the socket's name: refused (case 50)" "$RC" 1
is "no SIGQUIT" "$(quits)" 0
rm "/tmp/.java_pid$P"
ln "/tmp/.java_pid$OTHER" "/tmp/.java_pid$P"
inject "$P"
is "another process's socket: refused (case 50, case 53)" "$RC" 1
ok "names who listens" says "process $OTHER of user $(id -u) listens"
is "no SIGQUIT" "$(quits)" 0
is "nothing was sent to it" "$(cat "$OTHERLOG")" ""
end
P=$OTHER
end

echo precious >"$D/victim"
fake ok
ln -s "$D/victim" "/tmp/.attach_pid$P"
inject "$P"
is "trigger name is a link: the working directory serves (case 51)" "$RC" 0
is "its target is untouched" "$(cat "$D/victim")" precious
ok "nothing left in the working directory" test ! -e "$D/cwd/.attach_pid$P"
end
fake ok
mkdir "/tmp/.attach_pid$P"
inject "$P"
is "trigger name is a directory: the working directory serves (case 51)" "$RC" 0
end
fake ok
mkdir "/tmp/.attach_pid$P" "$D/cwd/.attach_pid$P"
inject "$P"
is "both taken: refused" "$RC" 1
ok "says so" says "is in the way"
is "no SIGQUIT" "$(quits)" 0
end
fake ok
: >"/tmp/.attach_pid$P"
inject "$P"
is "a dead client's file is taken over" "$RC" 0
ok "and removed" clean
end

# ---- the injector is killed
fake nosocket
"$D/dfg-inject" -t 5000 "$P" &
A=$!
ok "trigger file is there" wait_for test -e "/tmp/.attach_pid$P"
kill -9 "$A"
wait "$A" 2>/dev/null
ok "killed: its file goes all the same (case 55)" wait_for clean
end

# ---- frozen, as by `docker pause`
# freeze FILE DIR ON OFF TOLD WORDS: a cgroup of our own in which writing ON to FILE freezes, as WORDS in TOLD say.
freeze() {
	local g=$2/${BOX:-dfg-test-$$}
	mkdir "$g" 2>/dev/null || return 0
	fake ok
	if echo "$P" 2>/dev/null >"$g/cgroup.procs" && echo "$3" 2>/dev/null >"$g/$1"; then
		wait_for grep -qx "$6" "$g/$5"
		inject -t 2000 "$P"
		is "frozen ($1): refused (case 47)" "$RC" 1
		ok "says so" says "frozen"
		echo "$4" >"$g/$1"
		sleep 0.1
		is "no SIGQUIT was waiting" "$(quits)" 0
		inject "$P"
		is "thawed: loads" "$RC" 0
	fi
	end
	rmdir "$g"
}
if [ "$(id -u)" = 0 ]; then
	for g in /sys/fs/cgroup /sys/fs/cgroup/unified; do
		[ ! -e "$g/cgroup.controllers" ] || freeze cgroup.freeze "$g" 1 0 cgroup.events "frozen 1"
	done
	[ ! -d /sys/fs/cgroup/freezer ] || freeze freezer.state /sys/fs/cgroup/freezer FROZEN THAWED freezer.state FROZEN
fi

# ---- other users
if [ "$(id -u)" = 0 ]; then
	AS="setpriv --reuid 12345 --regid 12346 --clear-groups"
	fake ok
	inject "$P"
	is "root to another user's: loads" "$RC" 0
	is "nothing of root's is left" "$(find /tmp -maxdepth 1 -name ".attach_pid$P")" ""
	AS_INJECT="setpriv --reuid 54321 --regid 54321 --clear-groups"
	inject "$P"
	is "a third user: not permitted" "$RC" 5
	AS_INJECT=$AS
	inject "$P"
	is "the same user: loads" "$RC" 0
	AS_INJECT="setpriv --bounding-set -sys_ptrace,-dac_override,-dac_read_search"
	inject "$P"
	is "a container's root, who may not look: loads" "$RC" 0
	end
	AS_INJECT=
	fake ok
	: >"/tmp/.attach_pid$P"
	inject "$P"
	is "root's file in the way: the working directory serves (case 51)" "$RC" 0
	is "and stays" "$(stat -c %u "/tmp/.attach_pid$P")" 0
	end
	AS=
	fake ok
	AS_INJECT="setpriv --reuid 54321 --regid 54321 --clear-groups"
	inject "$P"
	is "a user to root's: not permitted" "$RC" 5
	is "no SIGQUIT" "$(quits)" 0
	AS_INJECT=
	end
fi

# ---- usage
inject -t 0 1
is "bad time-out" "$RC" 2
inject 12x
is "bad pid" "$RC" 2
inject 1 relative.so
is "relative path" "$RC" 2
inject 1 /a b c
is "too many arguments" "$RC" 2
inject --help
is "help" "$RC ${OUT%% *}" "0 usage:"
tap_done
