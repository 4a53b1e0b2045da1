#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# bash completes the options, words and operands of all commands.
cd "$(dirname "$0")/../.." || exit 1
. tests/lib/tap.sh
[ -e /usr/share/bash-completion/bash_completion ] || tap_cannot "no bash-completion"
PATH=$BUILD/bin:$PATH
# shellcheck disable=SC1091
. /usr/share/bash-completion/bash_completion
. packaging/dfg.bash-completion
compopt() { :; } # outside of a completion

# completed WORD…: what the last word may become
completed() {
	COMP_WORDS=("$@") COMP_CWORD=$(($# - 1)) COMP_LINE="$*" COMP_POINT=0 COMPREPLY=()
	COMP_POINT=${#COMP_LINE}
	_dfg "$1" "${*: -1}" "${*: -2:1}" >/dev/null
	printf '%s\n' "${COMPREPLY[@]}" | sort -u | tr '\n' ' '
}

for command in "$BUILD"/bin/dfg-*; do
	name=${command##*/}
	complete -p "$name" >/dev/null 2>&1 # which a subshell does not know
	is "$name is completed" $? 0
	is "  its options" "$(completed "$name" --)" \
		"$({ "$command" --help | tr -c 'a-z-' '\n' | grep -x -- '--[a-z-]*[a-z]'; echo --help; } | sort -u | tr '\n' ' ')"
done
is "an option's beginning" "$(completed dfg-trigger --dur)" "--duration "
is "one of the usage lines" "$(completed dfg-trigger --rep)" "--replay "
is "the words of an option" "$(completed dfg-trigger --unwind '')" "auto bpf fp vm "
is "  of which some begin so" "$(completed dfg-top --source a)" "agent auto "
is "  of the kinds of a JFR recording" "$(completed dfg-merge --event a)" "alloc "
is "a list's last" "$(completed dfg-trigger -f svg,p)" "svg,perf-map svg,pprof "
is "  of events" "$(completed dfg-trigger --event cpu,)" "cpu,alloc cpu,compile cpu,cpu cpu,deopt cpu,lock cpu,safepoint cpu,wall "
is "  of those that are shown live" "$(completed dfg-top --event '')" "alloc compile cpu deopt lock safepoint wall "
is "  what each command knows" "$(completed dfg-diff -f '')" "folded html svg "
is "dfg-setup's commands" "$(completed dfg-setup '')" "install remove status "
is "  engines" "$(completed dfg-setup install c)" "cdi containerd cri-o crun "
is "  behind an option" "$(completed dfg-setup install --force d)" "docker "
for engine in $(completed dfg-setup install ''); do
	is "  $engine is one" "$(dfg-setup status "$engine" --bundle /nonexistent 2>&1 | grep -c 'no engine')" 0
done
is "files" "$(completed dfg-diff VERS)" "VERSION "
is "no words where a number is due" "$(completed dfg-trigger -d '')" " "
tap_done
