#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# What every program and library of dfg is built with, read from the files themselves.
. "$(dirname "$0")/../lib/tap.sh"
need readelf nm

programs=("$BUILD"/bin/dfg-* "$BUILD"/libexec/dfg-* "$BUILD/payload/dfg-inject")
agent=$BUILD/payload/libdfg-agent.so
objects=$(find "$BUILD"/dyn/{common,hook,host,hotspot,injector,oci} "$BUILD"/static/{common,injector} \
	"$BUILD"/agent/{agent-jni,hotspot} -name '*.o')
debugged=$(grep -v /static/ <<<"$objects") # those of the injector have no debug information

# The files among the arguments after the first whose readelf -W output lacks the pattern.
lacks() {
	local f pattern=$1
	for f in "${@:2}"; do
		readelf -hldnW "$f" 2>/dev/null | grep -qE "$pattern" || echo "$f"
	done
}
has() {
	local f pattern=$1
	for f in "${@:2}"; do
		! readelf -hldnW "$f" 2>/dev/null | grep -qE "$pattern" || echo "$f"
	done
}
# The files that need no such function of a library.
needs_none() {
	local f pattern=$1
	for f in "${@:2}"; do
		readelf --dyn-syms -W "$f" | grep -q "$pattern" || echo "$f"
	done
}
# The same of a static program.
defines_none() {
	local f
	for f in "${@:2}"; do
		nm "$f" | grep -q "$1" || echo "$f"
	done
}
# The objects whose compiler was not given the option: gcc notes its options beside the debug information.
without() {
	# shellcheck disable=SC2086
	grep -LF -- "$1" $debugged
}

ok "there are programs" test "${#programs[@]}" -ge 10
ok "there are objects" test "$(wc -w <<<"$objects")" -gt 150
is "programs are position-independent" "$(lacks 'Type: +DYN' "${programs[@]}")" ""
is "relocations are read-only after the start" "$(lacks GNU_RELRO "${programs[@]}" "$agent")" ""
is "nothing is bound later" "$(lacks 'BIND_NOW|Flags: .*NOW' "${programs[@]}" "$agent")" ""
is "stacks are not executable" "$(lacks 'GNU_STACK.* RW ' "${programs[@]}" "$agent")" ""
is "no memory is writable and executable" "$(has 'LOAD.* RWE' "${programs[@]}" "$agent")" ""
is "no library is searched beside the system's" "$(has 'R(UN)?PATH' "${programs[@]}" "$agent")" ""

gcc_made() {
	case $(readelf --debug-dump=info "$BUILD/dyn/common/err.o" | grep -m1 DW_AT_producer) in
	*-fsanitize*) false ;;
	*'GNU C'*) true ;;
	*) false ;;
	esac
}
# What is installed is made by gcc; the trees of clang and of the sanitizers are for tests.
if gcc_made; then
	case $(readelf -hW "$agent") in
	*AArch64*) property='BTI, PAC' ;;
	*) property='IBT, SHSTK' ;;
	esac
	# shellcheck disable=SC2086
	is "calls and returns are protected" "$(lacks "$property" $objects)" ""
	is "large stack frames are probed" "$(without -fstack-clash-protection)" ""
	dynamic=("$BUILD"/bin/dfg-* "$BUILD/libexec/dfg-push") static=("$BUILD"/libexec/dfg-{hook,runtime})
	is "programs check the sizes of what they copy" \
		"$(needs_none '__[a-z]*_chk@' "${dynamic[@]}"; defines_none ' T __[a-z]*_chk$' "${static[@]}")" ""
	is "programs check their stacks" \
		"$(needs_none '__stack_chk_fail@' "${dynamic[@]}"; defines_none ' T __stack_chk_fail$' "${static[@]}")" ""
	ok "so does the injector, whose functions are not named" grep -q ' U __stack_chk_fail$' \
		<(nm "$BUILD"/static/injector/*.o)
	is "each program is one of these" "$(printf '%s\n' "${programs[@]}" | wc -l)" $((${#dynamic[@]} + ${#static[@]} + 1))
	is "no file tells where it was built" "$(grep -lF "$TOP/" "${programs[@]}" "$agent")" ""
fi
tap_done
