#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# dfg-inject runs in other people's containers: static, small, and without the means to run or load
# anything of theirs.
. "$(dirname "$0")/../lib/tap.sh"
need readelf nm
INJECT=$BUILD/payload/dfg-inject
[ -x "$INJECT" ] || tap_cannot "no $INJECT"

static() { ! readelf -ldW "$1" | grep -E 'INTERP|NEEDED'; }
# What the injector's own objects and the common ones of its link take from libc.
taken() { nm -u "$BUILD"/static/injector/*.o "$BUILD"/static/common/*.o | awk '$1 == "U" {print $2}' | sort -u; }
takes_none() {
	local found
	found=$(taken | grep -xE "$1")
	[ -z "$found" ] || { echo "$found" && false; }
}

ok "static" static "$INJECT"
size=$(stat -c %s "$INJECT")
case $(command -v musl-gcc) in
'') ok "at most 1 MiB with glibc ($size)" test "$size" -le 1048576 ;;
*) ok "at most 128 KiB with musl ($size)" test "$size" -le 131072 ;;
esac
ok "there are objects to look at" test "$(taken | wc -l)" -gt 20
ok "runs no program" takes_none 'exec.*|system|popen|posix_spawnp?|v?fork_and_exec'
ok "loads no library" takes_none 'dlopen|dlsym'
ok "asks no name service" takes_none 'getpw.*|getgr.*|getaddrinfo|gethostby.*'
ok "reads no locale, no environment" takes_none 'setlocale|getenv|secure_getenv'
ok "enters no namespace" takes_none 'setns|unshare|chroot|pivot_root'
tap_done
