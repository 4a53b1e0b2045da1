#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# What libdfg-agent.so brings into a JVM, and what it asks of it: nothing.
. "$(dirname "$0")/../lib/tap.sh"
need readelf bc

so=$BUILD/payload/libdfg-agent.so
[ -f "$so" ] || tap_cannot "no $so"

symbols() { readelf --dyn-syms -W "$so" | awk '$1 ~ /^[1-9][0-9]*:$/'; }
none() { ! "$@" | grep .; }
dynamic() { readelf -dW "$so"; }

is "needs no library" "$(dynamic | grep -c '(NEEDED)')" 0
is "no undefined symbol" "$(symbols | awk '$7 == "UND"' | wc -l)" 0
is "exports two functions" "$(symbols | awk '$7 != "UND" && $5 != "LOCAL" {print $4, $5, $8}' | sort | paste -sd,)" \
	"FUNC GLOBAL Agent_OnAttach,FUNC GLOBAL Agent_OnLoad"
is "no symbol has a version" "$(symbols | grep -c '@')" 0
is "asks for no version of a libc" "$(dynamic | grep -cE 'VERNEED|VERDEF')" 0
is "no relocation in code" "$(dynamic | grep -cE 'TEXTREL')" 0
is "only relative relocations" \
	"$(readelf -rW "$so" | awk '/R_/ {print $3}' | sort -u | paste -sd,)" \
	"$(readelf -hW "$so" | grep -q AArch64 && echo R_AARCH64_RELATIVE || echo R_X86_64_RELATIVE)"
is "no thread-local storage" "$(readelf -lW "$so" | awk '$1 == "TLS"' | wc -l)" 0
is "stays mapped when it is closed" "$(dynamic | grep -c NODELETE)" 1
is "runs nothing when it is loaded" "$(dynamic | grep -cE '\((INIT|INIT_ARRAY|FINI|FINI_ARRAY)\)')" 0
# Not the file's size, which has gaps where pages are of 64 KiB.
ok "is small" test "$(readelf -lW "$so" | awk '$1 == "LOAD" {print $5}' |
	while read -r n; do echo $((n)); done | paste -sd+ | bc)" -lt 86016
tap_done
