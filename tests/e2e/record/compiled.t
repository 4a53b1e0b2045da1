#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Compilations (-e compile) and uncommon traps (-e deopt) of real JVMs: as JFR has them, which they do not need. JDK 17 and
# 25; DFG_FULL=1: others.
cd "$(dirname "$0")/../../.." || exit 1
. tests/lib/tap.sh
. tests/lib/bundle.sh
. tests/lib/shop.sh
. tests/lib/jvms.sh
. tests/lib/events.sh
need python3 jfr
events_setup Traps.java
cp tests/java/traps.jfc "$SHOP/app"
rounds() { grep -c round "$SHOP/$1/log"; }
# more ID N: N rounds more
more() { local n=$(($(rounds "$1") + $2)) && WAIT_SECONDS=300 wait_for eval "[ \$(rounds '$1') -gt $n ]"; }
# recorded ID: for as long as some thirty rounds take, which are slow on a busy machine.
recorded() {
	local began=$SECONDS
	more "$1" 10 && trigger -q -d $((6 + 3 * (SECONDS - began))) -e cpu,compile,deopt -f folded,html --by thread --full -o "$SHOP/$1.out" "$1"
}
ends() { more "$1" 2 && touch "$SHOP/$1/tmp/end" && wait_for grep -q "^sum" "$SHOP/$1/log" && wait_for test -s "$SHOP/$1/tmp/traps.jfr"; }
compared() { python3 tests/java/traps.py "$SHOP/$1/tmp/traps.jfr" "$SHOP/$1.out/session" "$SHOP/$1.out/$2" "$SHOP/$1.out/$3" "$SHOP/out" "$SHOP/$1/log" >"$SHOP/facts"; }
# below DIR: the method that is compiled, one of the recorded compilations', is below the compilers' functions in nine of ten samples of these,
# but for those of compilations that an end of the recording has cut.
below() {
	local all with cut
	cut=$(sed -n 's/^# compilations.* cut \([0-9]*\) ms$/\1/p' "$SHOP/facts")
	all=$(grep ';CompileBroker::invoke_compiler_on_method[; ]' "$1/flame.folded" | sum -)
	with=$(grep ';CompileBroker::invoke_compiler_on_method;[^;]* (C[12])[; ]' "$1/flame.folded" | sum -)
	sed -n 's/.*;CompileBroker::invoke_compiler_on_method;\([^;]* (C[12])\)[; ].*/\1/p' "$1/flame.folded" | sort -u >"$SHOP/methods"
	sed 's/.*;//; s/ [0-9]*$//' "$1/flame-compile.folded" | sort -u >"$SHOP/compiled"
	[ "$all" -gt 0 ] && [ $((10 * with)) -ge $((9 * (all - 99 * cut / 1000))) ] && [ -z "$(comm -23 "$SHOP/methods" "$SHOP/compiled")" ] ||
		{ echo "$with of $all, ${cut} ms cut" && comm -23 "$SHOP/methods" "$SHOP/compiled" && false; }
}
# In the foreground (-Xbatch), so that on a busy machine, too, the program goes on when its method is compiled.
jit() { # ID VERSION [JVM OPTION…]
	local id=$1 root=JVMS_ROOT_$2 home=JVMS_HOME_$2
	shift 2
	SHOP_JQ=${jq:-.} SHOP_ROOT=${!root} SHOP_JAVA=${!home}/bin/java SHOP_MAIN="Traps /tmp/end" shop_create "$id" -Xbatch "$@" && more "$id" 3
}

for v in $versions; do
	id=$v
	ok "$v: a program that is compiled, and traps" jit "$id" "$v" \
		-XX:+PrintCompilation -XX:StartFlightRecording=filename=/tmp/traps.jfr,settings=/mnt/traps.jfc
	ok "  is recorded" recorded "$id"
	is "  three events" "$(json '.more_events | map("\(.event) \(.unit)") | join(",")')" "compile ns,deopt traps"
	is "  none is lost" "$(json '.more_events | map(.lost) | add')" 0
	ok "  and ends" ends "$id"
	ok "  JFR has the same time" compared "$id" flame-compile.folded flame-deopt.folded
	diag "$(grep '^#' "$SHOP/facts")"
	ok "  as much of compilations" right compilations
	ok "  of the same methods" right methods
	ok "  above all" right largest
	ok "  as often as the JVM has said" right times
	ok "  and code made not entrant" right "not entrant"
	ok "  of the methods with the most" right "methods compiled again"
	ok "  the compilers' processor time is below what they compile" below "$SHOP/$id.out"
	ok "  the summary names the compiler" eval 'json ".more_events[0].verdict.top_subjects[0].class" | grep -q " (C[12])$"'
	# jdk.Deoptimization came with JDK 14.
	if [ "$v" -ge 14 ]; then
		ok "  as many traps, in the method that has them" right traps
		ok "  for the same reasons" right reasons
	fi
done
if [ -n "${DFG_FULL:-}" ]; then
	jq='.mounts += [{destination: "/usr/lib/debug", type: "tmpfs", source: "tmpfs"}]' \
		ok "JDK 8, without symbols" jit old 8
	ok "  has no such events" trigger -q -d 1 -e compile,deopt -f folded -o "$SHOP/old.out" old
	ok "  which is said" eval 'json ".cut[]" | grep -q "compilations of 1 JVMs are not recorded"'
fi
tap_done
