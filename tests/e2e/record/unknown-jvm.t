#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# JVMs that dfg does not know: a HotSpot whose tables lack an entry (a real one, with a name in its
# libjvm.so changed), OpenJ9 and native images (made up: what they are told by). What is missing is
# said, the graph is drawn with what is left, and nothing happens to the process.
cd "$(dirname "$0")/../../.." || exit 1
. tests/lib/tap.sh
. tests/lib/bundle.sh
. tests/lib/shop.sh
need gcc
shop_setup
libjvm=$(find "$(dirname "$JAVA")/.." -name libjvm.so | head -n 1)
libjvm=$(readlink -f "$libjvm")
jcmd=$(dirname "$JAVA")/jcmd

# broken ID ENTRY [OPTION…]: Shop on a JVM without this entry.
broken() {
	local id=$1 entry=$2
	shift 2
	LC_ALL=C sed "s/${entry}\x00/${entry%?}X\x00/g" "$libjvm" >"$SHOP/$id.so"
	! cmp -s "$libjvm" "$SHOP/$id.so" &&
		SHOP_JQ=".mounts += [{destination: \"$libjvm\", type: \"bind\", source: \"$SHOP/$id.so\",
			options: [\"bind\", \"ro\"]}]" shop_start "$id" "$@"
}
# A C program in a container, linked with the library of the name where one is given.
program() {
	local id=$1 lib=$2
	[ -z "$lib" ] || echo 'int j9;' | gcc -shared -fPIC -x c -o "$SHOP/app/lib$lib.so" -
	gcc -O1 -x c -o "$SHOP/app/$id" - ${lib:+-Wl,--no-as-needed -L"$SHOP/app" -l"$lib" -Wl,-rpath,/mnt} &&
		SHOP_JQ=".process.args = [\"/mnt/$id\"]" shop_start "$id"
}
folded() { cat "$(json .graphs.folded)"; }
runs() { [ -d "/proc/$(bundle_pid "$1")" ] && [ "$(grep -cv '^$' "$SHOP/$1/log")" = 0 ]; }
note() { json '.jvms[0].note'; }

# A loop that rests is compiled much later.
SHOP_MAIN="Shop 2" ok "a JVM without an entry that all is found by" broken lost _log2_segment_size -XX:+PreserveFramePointer
for source in auto host agent; do
	ok "--source $source: a graph" trigger -d 1 --source $source lost
	is "  without names of its code" "$(json '.jvms[0].source')" none
	ok "  and the JVM is as it was" runs lost
	[ $source = agent ] || ok "  the entry is named" grep -q 'lack CodeHeap::_log2_segment_size$' <(note)
done
ok "it writes its own map" bundle_exec lost "$jcmd" 1 Compiler.perfmap
ok "  which is read" record --source host lost
is "  and said" "$(json '.jvms[0].source')" map
ok "  names" grep -q 'Shop.serve' <(folded)
ok "  what is missing is still said" grep -q 'CodeHeap::_log2_segment_size' <(note)
shop_stop lost

ok "a JVM without an entry for inlined methods" broken partly _scope_decode_offset
ok "--source host" record --source host partly
is "  has names" "$(json '.jvms[0].source')" host
ok "  the entry is named" grep -q 'lack PcDesc::_scope_decode_offset' <(note)
ok "--source agent" record --source agent partly
is "  has names" "$(json '.jvms[0].source')" agent
ok "  and says that something is missing" grep -q 'lack something' <(note)
ok "  the graph has Java in it" grep -q 'Shop\.[a-zA-Z]*_\[[j0]\]' <(folded)
is "  but nothing inlined" "$(folded | grep -c '_\[i\]')" 0
ok "  and the JVM is as it was" runs partly
shop_stop partly

ok "OpenJ9 (case 58)" program j9 j9vm29 <<'END'
int main(void) { for (volatile int i = 0;; i++) ; }
END
ok "  a graph" trigger -d 1 j9
ok "  it is recognized" grep -q '^OpenJ9' <(note)
is "  no attempt is made" "$(json '.jvms[0].source')" none
shop_stop j9
ok "a native image (case 40)" program image "" <<'END'
__attribute__((section(".svm_heap"), used)) static int heap = 1;
__attribute__((noinline)) void image_work(volatile int *i) { for (int k = 0; k < 1000; k++) ++*i; }
int main(void) { for (volatile int i = heap;;) image_work(&i); }
END
ok "  a graph" record image
ok "  it is recognized" grep -q '^a native image' <(note)
ok "  with its symbols" grep -q image_work <(folded)
tap_done
