#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Where a sample stands when one instruction takes nearly all of the time: at it, or after it? A loop
# of one division and six cheap instructions, sampled by perf's clock as dfg does. Prints the share
# of the samples in the loop at the division, right after it, and elsewhere.
#
#	bench/skid.sh		HZ (999), SECONDS_EACH (3)
set -eu
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cat >"$dir/skid.s" <<'END'
	.globl main
main:	mov $0x7fffffff12345678, %rax
	xor %edx, %edx
	mov $3, %ecx
at:	div %rcx
behind:	add $1, %rsi
	add $1, %rdi
	jmp main
end:	.section .note.GNU-stack,"",@progbits
END
"${CC:-cc}" -no-pie -o "$dir/skid" "$dir/skid.s"
perf record -q -e cpu-clock:u -F "${HZ:-999}" -o "$dir/data" timeout "${SECONDS_EACH:-3}" "$dir/skid" >/dev/null 2>&1 || :
perf script -i "$dir/data" -F ip |
	awk -v symbols="$(nm "$dir/skid" | awk '{print $3 "=" $1}')" '
		BEGIN {
			n = split(symbols, s, "\n")
			for (i = 1; i <= n; i++) {
				split(s[i], kv, "=")
				sub(/^0+/, "", kv[2])
				name[kv[2]] = kv[1]
			}
		}
		{sub(/^ *0*/, ""); sub(/ *$/, ""); count[name[$0]]++; all++}
		END {printf "%d samples: at %.1f %%, right behind %.1f %%\n", all, 100 * count["at"] / all, 100 * count["behind"] / all}'
