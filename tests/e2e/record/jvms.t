#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Every JVM: versions × collectors × options, each in a container with its own libc. Of each: the
# agent is loaded and its snapshot read, the host reads the same from outside, stacks are whole and
# never wrong, inlined and interpreted methods have their names, and the JVM notices nothing.
# Runs the rows marked +, of JDK 17 and 25 unless DFG_FULL=1. FULL=1: all rows. DFG_ROWS=REGEX picks by
# "version-name".
cd "$(dirname "$0")/../../.." || exit 1
[ -z "${FULL:-}" ] || export BOX_SECONDS=5400 # a hundred JVMs
. tests/lib/tap.sh
. tests/lib/bundle.sh
. tests/lib/shop.sh
. tests/lib/jvms.sh

# name, versions (+: without FULL, too), options of the JVM. -Xint has no inlined method,
# -Xcomp no interpreted one that lasts.
rows() {
	cat <<-'END'
		g1          8 +11 +17 +21 +25 +26 +27      -XX:+UseG1GC
		wide        +8                             -XX:+UseParallelGC -XX:-UseCompressedOops -XX:-UseCompressedClassPointers
		wide        +11 +17 +21                    -XX:+UseParallelGC -XX:-UseCompressedOops -XX:-UseCompressedClassPointers -XX:-SegmentedCodeCache
		wide        +25 26 27                      -XX:+UseParallelGC -XX:-UseCompressedOops -XX:-SegmentedCodeCache
		int         +8 +11 +17 +21 +25 26 +27      -XX:+UseSerialGC -Xint
		c1          +8 11 +17 21 +25 26 27         -XX:+UseSerialGC -XX:TieredStopAtLevel=1 -Xshare:off
		c2          +8                             -XX:+UseConcMarkSweepGC -XX:-TieredCompilation
		c2          +11 17 +21 25 26 27            -XX:+UseShenandoahGC -XX:-TieredCompilation
		zgc         11                             -XX:+UnlockExperimentalVMOptions -XX:+UseZGC
		zgc         +17 +21 +25 26 27              -XX:+UseZGC -XX:+UseTransparentHugePages
		zgcgen      21                             -XX:+UseZGC -XX:+ZGenerational
		compact     +25 26 27                      -XX:+UseCompactObjectHeaders
		serial      8 11 17 21 25 26 27            -XX:+UseSerialGC
		parallel    8 11 17 21 25 26 27            -XX:+UseParallelGC
		cms         11                             -XX:+UseConcMarkSweepGC
		shenandoah  17 25                          -XX:+UseShenandoahGC
		shengen     25 26 27                       -XX:+UseShenandoahGC -XX:ShenandoahGCMode=generational
		oops        8 11 17 21 25 26 27            -XX:-UseCompressedOops
		classes     8 11 17 21                     -XX:-UseCompressedClassPointers
		classes     25                             -XX:-UseCompressedClassPointers -Xshare:off
		oneheap     11 17 21 25 26 27              -XX:-SegmentedCodeCache
		segments    11 17 21 25 26 27              -XX:+SegmentedCodeCache
		huge        8 11 17 21 25 26 27            -XX:+UseTransparentHugePages
		noshare     8 11 17 21 25 26 27            -Xshare:off
		noosr       8 17 25                        -XX:-UseOnStackReplacement
		comp        8 11 17 21 25 26 27            -Xcomp
		frames      8 11 17 21 25 26 27            -XX:+PreserveFramePointer
		flags       21 25 26 27                    -XX:+EnableDynamicAgentLoading
	END
}

# "version name option…" of the rows that are to run
chosen() {
	local line name rest word quick='^(17|25)-'

	[ -z "${DFG_FULL:-}" ] || quick=.
	rows | while read -r name rest; do
		for word in $rest; do
			case $word in
			-*) break ;;
			+*) ;;
			*) [ -n "${FULL:-}" ] || continue ;;
			esac
			[[ "${word#+}-$name" =~ ${DFG_ROWS:-$quick} ]] || continue
			echo "${word#+} $name -${rest#*-}"
		done
	done
}

get() { jq -r "$3" "$SHOP/$1.$2" 2>/dev/null; }
folded() { cat "$SHOP/$1.$2.out/flame.folded"; }

# known.py's numbers: of the stacks 98 % whole and 99 % in the tree (the programs have just begun, and
# their code still changes), of the frames 1 % without a name, but where their file has none, no pair
# wrong but one in a thousand samples, all chains.
good() {
	cat "$SHOP/$1.known.$2"
	awk '/^ *[0-9]/ {split($10, chains, "/")
		good = $1 > 0 && $3 >= 98 && $4 - $5 <= 1 && $7 >= 99 && $9 * 1000 <= $1 && chains[1] == chains[2]}
		END {exit !good}' "$SHOP/$1.known.$2"
}

check() {
	local id=$1 s

	for s in agent host; do
		is "$id: read by the $s" "$(get "$id" $s '.jvms[0] | .source + .note')" $s
		ok "$id:   whole, named, nothing wrong (case 58)" good "$id" $s
		case $id in
		*-comp) ;;
		*) ok "$id:   interpreted methods have names" grep -q 'Thread.run_\[0\];' <(folded "$id" $s) ;;
		esac
		case $id in
		*-int) ;;
		*) ok "$id:   inlined methods have theirs" grep -q ';Known\.[^;]*_\[i\]' <(folded "$id" $s) ;;
		esac
	done
	ok "$id: both have the same code" jvms_agree "$id"
	is "$id: the JVM runs on and says nothing" "$(cat "$SHOP/$id".alive "$SHOP/$id.output")" yes
}

table() {
	local id

	printf '%-16s %-12s %-12s %9s %5s %9s %5s %s\n' row agent host complete wrong complete wrong 'codes inlined interpreted'
	for id; do
		printf '%-16s %-12s %-12s %9s %5s %9s %5s %s %s %s\n' "$id" \
			"$(get "$id" agent '.jvms[0].source')" "$(get "$id" host '.jvms[0].source')" \
			$(awk '/^ *[0-9]/ {print $3, $9}' "$SHOP/$id.known.agent" "$SHOP/$id.known.host") \
			"$(get "$id" agent '.jvms[0].methods')/$(get "$id" host '.jvms[0].methods')" \
			"$(folded "$id" agent | grep -c '_\[i\]')" "$(folded "$id" agent | grep -c '_\[0\]')"
	done
}

mapfile -t list < <(chosen)
jvms_setup $(printf '%s\n' "${list[@]}" | cut -d' ' -f1 | sort -nu)
ids=()
for row in "${list[@]}"; do
	read -r version name options <<<"$row"
	jvms_row "$version" "$name" $options
	ids+=("$version-$name")
done
jvms_run
diag "$(table "${ids[@]}" 2>/dev/null)"
for id in "${ids[@]}"; do
	check "$id"
done
[ -z "${KEEP:-}" ] || cp -r "$SHOP" "$KEEP"
tap_done
