/* SPDX-License-Identifier: Apache-2.0 */
/* Functions of libjvm that wait for locks, as a compiler makes them. Their frames can be walked.
 * EnterI, ReenterI and Unsafe_Park call locker_block. */
#ifndef DFG_LIB_LOCKERCODE_H
#define DFG_LIB_LOCKERCODE_H

#include <stdint.h>

#include "lib/sdtnote.h"

#define LOCKER_ENTERI	"_ZN13ObjectMonitor6EnterIEfake"
#define LOCKER_REENTERI "_ZN13ObjectMonitor8ReenterIEfake"
#define LOCKER_EXIT	"_ZN13ObjectMonitor10ExitEpilogEfake"
#define LOCKER_ENTER	"_ZN13ObjectMonitor5enterEfake"
#define LOCKER_WAIT	"_ZN13ObjectMonitor4waitEfake"

#define LOCKER_FUNCTION(name, body)                                                                \
	__asm__(".text\n.p2align 4\n.globl " name "\n.type " name ", %function\n" name             \
		":\n.cfi_startproc\n" body ".cfi_endproc\n.size " name ", .-" name "\n")

#ifdef __x86_64__
#define LOCKER_PUSH                                                                                \
	"endbr64\npush %rbp\n.cfi_def_cfa_offset 16\n.cfi_offset %rbp, -16\nmov %rsp, %rbp\n"
#define LOCKER_POP	  "pop %rbp\n.cfi_def_cfa_offset 8\nret\n"
#define LOCKER_CALL(name) "call " name "\n"
#define LOCKER_UNLESS_3RD "test %rdx, %rdx\njne 1f\n"
#define LOCKER_SAVE_THREAD                                                                         \
	"push %r15\n.cfi_def_cfa_offset 24\n.cfi_offset %r15, -24\nsub $8, %rsp\n"                 \
	".cfi_def_cfa_offset 32\nmov %r8, %r15\n"
#define LOCKER_RESTORE_THREAD                                                                      \
	"add $8, %rsp\n.cfi_def_cfa_offset 24\npop %r15\n.cfi_def_cfa_offset 16\n"
#define LOCKER_SKIPPED 4 /* bytes of a function before the place of the probe */
#else
#define LOCKER_PUSH                                                                                \
	"stp x29, x30, [sp, -16]!\n.cfi_def_cfa_offset 16\n.cfi_offset x29, -16\n"                 \
	".cfi_offset x30, -8\nmov x29, sp\n"
#define LOCKER_POP	  "ldp x29, x30, [sp], 16\n.cfi_def_cfa_offset 0\nret\n"
#define LOCKER_CALL(name) "bl " name "\n"
#define LOCKER_UNLESS_3RD "cbnz x2, 1f\n"
#define LOCKER_SAVE_THREAD                                                                         \
	"str x28, [sp, -16]!\n.cfi_def_cfa_offset 32\n.cfi_offset x28, -32\nmov x28, x4\n"
#define LOCKER_RESTORE_THREAD "ldr x28, [sp], 16\n.cfi_def_cfa_offset 16\n"
#define LOCKER_SKIPPED	      0
#endif

#define LOCKER_NOTE SDT_NOTE("thread__park__end", "8@%rax")

LOCKER_FUNCTION(LOCKER_ENTERI, LOCKER_PUSH LOCKER_CALL("locker_block") LOCKER_POP);
LOCKER_FUNCTION(LOCKER_REENTERI, LOCKER_PUSH LOCKER_CALL("locker_block") LOCKER_POP);
LOCKER_FUNCTION(LOCKER_EXIT, LOCKER_PUSH LOCKER_POP);
LOCKER_FUNCTION(LOCKER_ENTER,
		LOCKER_PUSH LOCKER_UNLESS_3RD LOCKER_CALL(LOCKER_ENTERI) "1:\n" LOCKER_POP);
LOCKER_FUNCTION(LOCKER_WAIT,
		LOCKER_PUSH LOCKER_UNLESS_3RD LOCKER_CALL(LOCKER_REENTERI) "1:\n" LOCKER_POP);
LOCKER_FUNCTION("Unsafe_Park", LOCKER_PUSH LOCKER_CALL("locker_block") LOCKER_NOTE LOCKER_POP);
LOCKER_FUNCTION("Unsafe_Unpark", LOCKER_PUSH LOCKER_POP);
LOCKER_FUNCTION("locker_native", LOCKER_PUSH LOCKER_SAVE_THREAD LOCKER_CALL("Unsafe_Park")
					 LOCKER_RESTORE_THREAD LOCKER_POP);

/* `skip`: comes to where the wait ends without a wait. */
void locker_enter(const void *monitor, const void *thread, uint64_t skip) __asm__(LOCKER_ENTER);
void locker_monitor_wait(const void *monitor, const void *thread,
			 uint64_t skip) __asm__(LOCKER_WAIT);
void locker_exit(const void *monitor, const void *thread) __asm__(LOCKER_EXIT);
void locker_enter_internal(const void *monitor, const void *thread) __asm__(LOCKER_ENTERI);
/* Has the thread in the register that it is in when Java calls a native method. */
void locker_native(const void *env, const void *unsafe, uint64_t absolute, uint64_t time,
		   const void *thread);
void locker_unpark(const void *env, const void *unsafe,
		   const void *thread) __asm__("Unsafe_Unpark");

#endif
