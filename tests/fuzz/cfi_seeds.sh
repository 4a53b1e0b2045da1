#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Makes the seeds of fuzz_cfi: sh tests/fuzz/cfi_seeds.sh. tests/unit/test_cfi.c knows the places of
# the code in them, so that another compiler's seeds need other numbers there (made with gcc 12).
set -eu
out=$(dirname "$0")/corpus/cfi
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
mkdir -p "$out"

cat >"$tmp/f.c" <<'EOF'
#include <stdlib.h>
#include <string.h>
static int compare(const void *a, const void *b) { return strcmp(a, b); }
int f(char *p, int n) { char x[n]; memcpy(x, p, n); qsort(x, n, 1, compare); return x[0]; }
int _start(void) { char b[9] = "hi"; return f(b, 3) + atoi(b); }
EOF
# A signal's return as glibc writes it (x86-64 sigaction.c), and all kinds of rules.
cat >"$tmp/rules.S" <<'EOF'
	.text
	SECTIONS
	.cfi_startproc simple
	.cfi_signal_frame
	.cfi_escape 0x0f,0x04,0x77,0xa0,0x01,0x06
	.cfi_escape 0x10,0x10,0x03,0x77,0xa8,0x01
	.cfi_escape 0x10,0x06,0x02,0x77,0x78
	.cfi_escape 0x10,0x03,0x03,0x77,0x80,0x01
	nop
back:	mov $15, %eax
	syscall
	.cfi_endproc
	.globl top
	.cfi_startproc
	.cfi_undefined rip
top:	push %rbx
	.cfi_adjust_cfa_offset 8
	.cfi_rel_offset rbx, 0
	.cfi_remember_state
	pop %rbx
	.cfi_restore rbx
	.cfi_adjust_cfa_offset -8
	ret
	.cfi_restore_state
	.cfi_register r12, rax
	.cfi_val_offset r13, -24
	.cfi_same_value r14
	hlt
	.cfi_endproc
	.section .note.GNU-stack, "", @progbits
EOF

cd "$tmp"
lib="-shared -nostdlib -Wl,-z,lazy -Wl,--build-id=none -Wl,-z,noseparate-code"
gcc -c -O2 -fPIC -fcf-protection=none f.c
gcc -c -DSECTIONS= rules.S
gcc $lib -s -o plt.so f.o rules.o
gcc $lib -s -Wl,--no-eh-frame-hdr -o no_index.so f.o rules.o
cp plt.so no_sections.so
printf '\0\0\0\0\0\0\0\0' | dd of=no_sections.so bs=1 seek=40 conv=notrunc status=none
printf '\0\0\0\0' | dd of=no_sections.so bs=1 seek=60 conv=notrunc status=none
gcc -c -O2 -fPIC -fcf-protection=none -fno-asynchronous-unwind-tables f.c
gcc -c '-DSECTIONS=.cfi_sections .debug_frame' rules.S
gcc $lib -o debug_frame.so f.o rules.o
cd - >/dev/null
cp "$tmp"/*.so "$out"
