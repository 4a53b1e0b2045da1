#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# dfg-inject and a real JVM: in its states, under other ids, in namespaces and odd file systems.
. "$(dirname "$0")/../../lib/tap.sh"
need_root
unset IN EXE
need cc java javac unshare nsenter setpriv pivot_root
INJECT=$BUILD/payload/dfg-inject
[ -x "$INJECT" ] || tap_cannot "no $INJECT"
D=$(mktemp -d)
chmod 755 "$D"
pids=
trap 'kill -9 $pids 2>/dev/null; wait 2>/dev/null; rm -rf "$D"' EXIT
mkdir "$D/dfg" "$D/root"
mkdir -m 777 "$D/cwd"
cp "$INJECT" "$D/dfg/"
cc -shared -fPIC -o "$D/dfg/agent.so" "$TOP/tests/e2e/inject/test-agent.c" || tap_cannot "no agent"
cat >"$D/Sleep.java" <<'JAVA'
public class Sleep {
	public static void main(String[] args) throws Exception {
		System.out.println("ready");
		Thread.sleep(Long.parseLong(args[0]) * 1000);
	}
}
JAVA
javac -d "$D/dfg" "$D/Sleep.java" || tap_cannot "javac failed"
OPTS="-Xmx32m -XX:TieredStopAtLevel=1 -XX:+UseSerialGC -cp $D/dfg:/dfg"

# Each starter sets P (pid here) and LOG (the JVM's output), and waits until the JVM runs.
n=0
wait_ready() {
	wait_for grep -qs ready "$LOG" || diag "no JVM: $(cat "$LOG")"
}
# jvm ARGS: with $AS in front, on this file system.
jvm() {
	n=$((n + 1)) LOG=$D/log$n
	(cd "$D/cwd" && exec ${AS:-} java $OPTS "$@" Sleep 900) >"$LOG" 2>&1 &
	P=$!
	pids="$pids $P"
	wait_ready
}
# box SETUP ARGS: in mount and pid namespaces of its own, with a root of its own in $D/root where the
# shell code SETUP has been run last, without a trace on this file system.
box() {
	n=$((n + 1)) LOG=$D/log$n
	cat >"$D/box.sh" <<-SH
		set -e
		mount -t tmpfs box $D/root
		cd $D/root
		mkdir usr etc proc dev dfg old
		mkdir -m 1777 tmp cwd
		for l in bin lib lib64 sbin; do ln -s usr/\$l \$l; done
		mount --rbind /usr usr
		mount --bind /etc etc
		mount --bind $D/dfg dfg
		mount --bind /dev dev
		mount -t proc proc proc
		$1
		pivot_root . old
		cd /
		umount -l old
		exec sh -c 'cd /cwd 2>/dev/null; exec ${AS:-} java $OPTS ${*:2} Sleep 900'
	SH
	unshare -fpm --kill-child sh "$D/box.sh" >"$LOG" 2>&1 &
	U=$!
	pids="$pids $U"
	wait_ready
	P=$(cut -d' ' -f1 "/proc/$U/task/$U/children" 2>/dev/null)
}
# inject ARGS: sets RC, OUT and MS. inject_in: the same inside the JVM's namespaces, after $IN.
inject() {
	local t0=${EPOCHREALTIME/./}
	OUT=$(${IN:-} "${EXE:-$D/dfg/dfg-inject}" "$@" 2>&1)
	RC=$?
	MS=$(((${EPOCHREALTIME/./} - t0) / 1000))
}
inject_in() { EXE=/dfg/dfg-inject IN="nsenter -t $P -m -p -r -w $IN" inject "$@"; }
says() { case $OUT in *"$1"*) true ;; *) echo "$OUT" && false ;; esac; }
dumps() { grep -c 'Full thread dump' "$LOG"; }
loads() { wc -l <"/proc/$P/root/$1" 2>/dev/null; }
clean() { ! ls -d "/proc/$P/root/tmp/.attach_pid"* "/proc/$P/cwd/.attach_pid"* 2>/dev/null; }
alive() { kill -0 "$P" && ! grep -q '^State:	Z' "/proc/$P/status"; }
end() { kill -9 "$P" ${U:-} 2>/dev/null; wait "$P" ${U:-} 2>/dev/null; rm -f "/tmp/.java_pid$P"; U=; }

# ---- an ordinary JVM
jvm
inject "$P" "$D/dfg/agent.so" "$D/cwd/out"
is "loads" "$RC $OUT" "0 "
diag "first load: $MS ms"
ok "trigger file is gone" clean
inject "$P" "$D/dfg/agent.so" "$D/cwd/out"
is "loads again" "$RC" 0
diag "next load: $MS ms"
is "the agent ran twice" "$(loads "$D/cwd/out")" 2
inject "$P" "$D/dfg/agent.so" code=7
is "the agent's code" "$RC $OUT" "1 dfg-inject: $D/dfg/agent.so was loaded, but returned 7"
inject "$P" "$D/dfg/agent.so" code=-1
ok "a negative one" says "returned -1"
inject "$P" /nowhere/x.so
is "missing library" "$RC" 1
ok "in the JVM's words" says "/nowhere/x.so: cannot open shared object file"
inject "$P" "$D/log1"
is "not a library" "$RC" 1
libm=$(ldd "$(command -v prove)" /usr/bin/perl 2>/dev/null | awk '/libm\.so/ {print $3; exit}')
inject "$P" "${libm:-/lib/x86_64-linux-gnu/libm.so.6}"
ok "not an agent" says "Agent_OnAttach is not available"
rm "/tmp/.java_pid$P"
inject "$P" "$D/dfg/agent.so" "$D/cwd/out"
is "its socket was cleaned away: loads" "$RC" 0
kill -STOP "$P"
wait_for grep -q '^State:	T' "/proc/$P/status"
rm "/tmp/.java_pid$P"
inject "$P" "$D/dfg/agent.so" "$D/cwd/out"
is "stopped: refused" "$RC" 1
kill -CONT "$P"
sleep 0.3
is "no thread dump in all this" "$(dumps)" 0
ok "lives" alive
end

# ---- JVMs that do not want to
jvm -Xrs
inject "$P" "$D/dfg/agent.so"
is "-Xrs: no JVM to attach to (case 46)" "$RC" 4
ok "lives" alive
end
jvm -XX:+DisableAttachMechanism
inject -t 100000 "$P" "$D/dfg/agent.so"
is "DisableAttachMechanism: fails (case 45)" "$RC" 1
ok "says so" says "-XX:+DisableAttachMechanism"
ok "at once ($MS ms)" test "$MS" -lt 50000
is "no thread dump" "$(dumps)" 0
end
AS="env JDK_JAVA_OPTIONS=-XX:+DisableAttachMechanism" jvm
inject "$P" "$D/dfg/agent.so"
is "in the environment: fails (case 45)" "$RC" 1
sleep 0.2
is "no thread dump" "$(dumps)" 0
end
echo "-XX:+DisableAttachMechanism" >"$D/cwd/args"
jvm @args
inject -t 1000 "$P" "$D/dfg/agent.so"
is "in an argument file: fails (case 45)" "$RC" 1
ok "in time ($MS ms)" test "$MS" -lt 16000
is "one thread dump" "$(dumps)" 1
ok "lives" alive
ok "trigger file is gone" clean
end
jvm -XX:-EnableDynamicAgentLoading
inject "$P" "$D/dfg/agent.so"
is "EnableDynamicAgentLoading off: refused (case 58)" "$RC" 1
ok "in the JVM's words" says "Dynamic agent loading is not enabled"
end

# ---- ids and namespaces
AS="setpriv --reuid 12345 --regid 12346 --clear-groups"
jvm
inject "$P" "$D/dfg/agent.so" "$D/cwd/out2"
is "another user's: loads" "$RC" 0
is "as that user" "$(stat -c %u:%g "/tmp/.java_pid$P")" 12345:12346
IN=$AS inject "$P" "$D/dfg/agent.so" "$D/cwd/out2"
is "from that user: loads" "$RC" 0
IN="setpriv --reuid 54321 --regid 54321 --clear-groups" inject "$P" "$D/dfg/agent.so"
is "from a third user: not permitted" "$RC" 5
end
box ""
is "pid inside is another" "$(awk '/^NSpid/ {print $3}' "/proc/$P/status")" 1
inject "$P" /dfg/agent.so /tmp/out
is "pid and mount namespace, user: loads" "$RC" 0
is "ran inside" "$(loads tmp/out)" 1
ok "trigger file is gone" clean
IN=$AS inject_in
is "from inside, default agent is missing" "$RC" 1
ok "found the only JVM" says "/dev/dfg/libdfg-agent.so was not loaded"
IN=$AS inject_in 1 /dfg/agent.so /tmp/out
is "from inside, as its user: loads" "$RC" 0
IN= inject_in 1 /dfg/agent.so /tmp/out
is "from inside, as root: loads" "$RC" 0
IN="setpriv --bounding-set -sys_ptrace,-dac_override" inject_in 1 /dfg/agent.so /tmp/out
is "from inside, as root who may not trace: loads" "$RC" 0
is "ran four times" "$(loads tmp/out)" 4
is "no thread dump" "$(dumps)" 0
end
AS=

# ---- a user namespace: root inside is user 100000 here
cat >"$D/dfg/userns" <<-'SH'
	#!/bin/sh
	exec unshare -U --keep-caps sh -c 'until grep -q . /proc/self/gid_map; do sleep 0.02; done
		exec setpriv --reuid 0 --regid 0 --clear-groups "$@"' - "$@"
SH
chmod 755 "$D/dfg/userns"
AS=/dfg/userns
box '(until [ "$(readlink proc/1/ns/user)" != "$(readlink proc/self/ns/user)" ]; do sleep 0.02; done
	echo 0 100000 65536 >proc/1/uid_map; echo 0 100000 65536 >proc/1/gid_map) &'
AS=
is "user inside is root, here 100000" "$(awk '/^Uid/ {print $3}' "/proc/$P/status")" 100000
inject "$P" /dfg/agent.so /tmp/out
is "user, pid and mount namespace: loads (case 33)" "$RC $OUT" "0 "
is "ran inside" "$(stat -c %u "/proc/$P/root/tmp/out")" 100000
end

# ---- file systems
box "mount -o remount,ro . && mount -t tmpfs -o noexec,nosuid,nodev,mode=1777 tmp tmp"
inject "$P" /dfg/agent.so /tmp/out
is "read-only root, noexec /tmp: loads (case 39)" "$RC" 0
end
box "rmdir tmp"
inject "$P" /dfg/agent.so
is "no /tmp: fails (case 9)" "$RC" 1
ok "says so" says "/tmp"
is "no thread dump" "$(dumps)" 0
end
box "mount -o remount,ro ."
inject "$P" /dfg/agent.so
is "read-only /tmp: fails (case 39)" "$RC" 1
ok "says so" says "Read-only file system"
is "no thread dump" "$(dumps)" 0
end
box "mount -t tmpfs -o nr_inodes=2,mode=1777 tmp tmp; touch tmp/x"
inject "$P" /dfg/agent.so
is "full /tmp: fails (case 39)" "$RC" 1
ok "says so" says "No space left"
is "no thread dump" "$(dumps)" 0
end
box "mkdir -m 1777 etc-like; rmdir tmp; ln -s /etc-like tmp"
inject "$P" /dfg/agent.so /etc-like/out
is "/tmp is an absolute link: stays inside, loads (case 52)" "$RC" 0
ok "nothing was looked for in this file system" test ! -e /etc-like
end
box "rmdir tmp; ln -s /proc/1/root/usr tmp"
inject -t 1000 "$P" /dfg/agent.so
is "/tmp is a link through /proc: refused (case 52)" "$RC" 1
is "no thread dump" "$(dumps)" 0
end

# ---- too young: whatever the moment, it survives
born=0 died=0 young=0 loaded=0
for i in $(seq ${STARTS:-50}); do
	(cd "$D/cwd" && exec java $OPTS Sleep 900) >"$D/young" 2>&1 &
	P=$! LOG=$D/young
	sleep "0.$(printf %03d $(((i - 1) * 4)))"
	inject -t 2000 "$P" "$D/dfg/agent.so" "$D/cwd/young.out"
	[ "$RC" = 0 ] && young=$((young + 1))
	[ "$RC" = 0 ] || [ "$RC" = 4 ] || diag "start $i: $RC $OUT"
	born=$((born + 1))
	wait_ready
	inject "$P" "$D/dfg/agent.so" "$D/cwd/young.out"
	[ "$RC" = 0 ] && loaded=$((loaded + 1))
	kill -0 "$P" 2>/dev/null || died=$((died + 1))
	grep -q 'Full thread dump' "$D/young" && diag "start $i: thread dump"
	kill -9 "$P" 2>/dev/null
	wait "$P" 2>/dev/null
	rm -f "/tmp/.java_pid$P"
done
is "$born starts, injected after 0 to 196 ms: died (case 46)" "$died" 0
is "loaded in all that had started, in $young before" "$loaded" "$born"
tap_done
