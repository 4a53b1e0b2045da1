#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Names in a graph that are in no symbol table: of threads, by Java; of a stripped library's functions,
# by its debug file in the container; of the vdso's.
cd "$(dirname "$0")/../../.." || exit 1
. tests/lib/tap.sh
. tests/lib/bundle.sh
. tests/lib/shop.sh
need cc objcopy strip
export LC_ALL=C.UTF-8
shop_setup
home=$(dirname "$(dirname "$JAVA")")
javac --release 17 -d "$SHOP/app" "$TOP/tests/java/Known.java" "$TOP/tests/java/Named.java" 2>/dev/null ||
	tap_cannot "javac failed"

folded() { cat "$(json .graphs.folded)"; }
threads() { folded | cut -d';' -f1 | sed 's/ [0-9]*$//' | sort -u; }
elf_of() { jq -r --arg p "$1" '.elf[] | select(.path == $p) | .debug // "none"' "$(json .session)/session.json"; }
# library DIR LINK-OPTION...: stripped, its debug file beside it in .debug.
library() {
	local dir=$1
	shift
	mkdir -p "$dir/.debug"
	cc -shared -fPIC -O2 -g -fomit-frame-pointer -I"$home/include" -I"$home/include/linux" "$@" \
		-o "$dir/libknown.so" "$TOP/tests/java/known.c" &&
		objcopy --only-keep-debug "$dir/libknown.so" "$dir/.debug/libknown.so.debug" &&
		strip "$dir/libknown.so" &&
		objcopy --add-gnu-debuglink="$dir/.debug/libknown.so.debug" "$dir/libknown.so"
}

SHOP_MAIN="Named 900"
for source in agent host; do
	[ "$source" = host ] || ok "threads with long names" shop_start threads
	ok "  recorded, $source" record --by thread -f folded --source $source threads
	threads >"$SHOP/names"
	for name in request-handler-number-1 request-handler-number-2 überlanger-Name-für-einen-Faden \
		線程-🔥-名前 short; do
		ok "  $name" grep -qxF "$name" "$SHOP/names"
	done
done
ok "  the names are its threads'" jq -e --argjson p "$(bundle_pid threads)" \
	'[.threads[] | select(.pid == $p and .tid == $p and .nstid == 1)] | length == 1' \
	"$(json .session)/session.json"
ok "  the clock's function is the vdso's" bash -c "grep -qE ';(__vdso_)?clock_gettime( |;)' '$(json .graphs.folded)'"
shop_stop threads

SHOP_MAIN="Known copy 900"
ok "a program that copies arrays" shop_start copies
for source in agent host; do
	ok "  recorded, $source" record -f folded --source $source copies
	ok "  the stub that copies has its name" \
		bash -c "grep -qE ';Known\.[^;]*;([^;]*;)*[a-z_]*arraycopy[a-z0-9_]*( |;)' '$(json .graphs.folded)'"
	is "  and so has the one that calls Java" "$(folded | grep -c 'StubRoutines (1)')" 0
done
shop_stop copies

SHOP_MAIN="-Dknown.lib=/mnt/libknown.so Known jni 900"
ok "a stripped library" library "$SHOP/app"
is "  that does not tell its functions" "$(nm "$SHOP/mnt/libknown.so" 2>/dev/null | grep -c known_middle)" 0
ok "  in a container" shop_start known
ok "  recorded" record -f folded known
is "  its debug file is found by build id" "$(elf_of /mnt/libknown.so | sed 's/.*\.//')" debug
ok "  its static function has its name" grep -q ';Java_Known_down;known_middle' "$(json .graphs.folded)"
mkdir "$SHOP/again"
ok "  --replay knows it too" trigger --replay "$(json .session)" -o "$SHOP/again" -f folded
ok "  as named" grep -q ';Java_Known_down;known_middle' "$SHOP/again/flame.folded"
shop_stop known

ok "a library without build id, whose debug file is another's" library "$SHOP/app" -Wl,--build-id=none
printf x >>"$SHOP/app/.debug/libknown.so.debug"
ok "  in a container" shop_start other
ok "  recorded" record -f folded other
is "  is not believed" "$(elf_of /mnt/libknown.so)" none
ok "  its functions are told apart" grep -qE ';Java_Known_down;\[libknown.so\+0x[0-9a-f]+\]' "$(json .graphs.folded)"
is "  and counted" "$(json '.nameless_frames > 0')" true
shop_stop other
tap_done
