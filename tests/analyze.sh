#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# What gcc's analyzer finds in the production code: leaks, double frees, reads of what was freed or not set, null
# pointers. A finding is true, and repaired, or is listed below with the reason why it is none. make check-analyze.
cd "$(dirname "$0")/.." || exit 1
. tests/lib/tap.sh
need gcc

# FILE: SOURCE LINE. One that is found no more is to be removed.
known() {
	sed '/^#/d' <<-'END'
		# The buffer has room for a header: n is not 0 here.
		common/message.c: *c = (struct cmsghdr){.cmsg_level = SOL_SOCKET,
		# A poller is started after its JVM has an entry (add_poller).
		host/record/jvm_poller.c: bool ready = rc == 0 && jvm->snapshots == 0 && wait_for(w, p.first, POLLIN);
		host/record/jvm_poller.c: bool warned = jvm->warned;
		# str_reserve() ends the program if it has no memory.
		./common/str.h: memcpy(s->buf + s->len, text, len);
	END
}

# common/err.c defines what the others are told of (lib/analyze.h).
case $(gcc -dumpmachine) in aarch64*) other=x86 ;; *) other=arm64 ;; esac
# The loader of the BPF program includes what is made of that.
sources() {
	find agent-jni common hook hotspot host injector oci -name '*.c' ! -name "*_$other.c" ! -path common/err.c \
		! -name '*.bpf.c' $([ -f "$BUILD/bpf/walk.skel.h" ] || echo ! -path host/bpf/recorder.c)
}
analyze() {
	gcc -std=gnu17 -D_GNU_SOURCE -DDFG_VERSION='""' -DDFG_LIBEXECDIR='""' -Iinclude -I. -Ihost -I"$BUILD/help" -isystem "$BUILD/bpf" \
		-include tests/lib/analyze.h -O1 -fanalyzer -fanalyzer-verbosity=0 -S -o /dev/null "$1" 2>&1
}
export BUILD
export -f analyze

found=$(sources | xargs -P "$(nproc)" -I{} bash -c 'analyze {}')
lines=$(sed -n 's/^\([^ :]*\):\([0-9]*\):[0-9]*: warning: .*/\1 \2/p' <<<"$found" | sort -u | while read -r file line; do
	echo "$file: $(sed -n "${line}s/^[[:space:]]*//p" "$file")"
done)
is "every file can be analyzed" "$(grep -E 'error:|internal compiler' <<<"$found")" ""
is "nothing is found that is not known" "$(comm -23 <(sort -u <<<"$lines") <(known | sort -u))" ""
is "what is known is still found" "$(comm -13 <(sort -u <<<"$lines") <(known | sort -u))" ""
[ "$tap_failed" = 0 ] || diag "$found"
tap_done
