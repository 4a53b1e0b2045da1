/* SPDX-License-Identifier: Apache-2.0 */
/* Facts of the machine that test_cfi.c unwinds itself on. */
#ifndef DFG_LIB_CFIMACHINE_H
#define DFG_LIB_CFIMACHINE_H

#include <stdint.h>
#include <ucontext.h>

/* Known values (100 and the register's number) in all registers that calls preserve, after them a
 * call. */
void keep_values(void (*f)(void));

/* Traps; the handler goes on after it. A frame of its own. */
void break_here(void);

/* Never called: by its rules MACHINE_MOVED is in MACHINE_MOVED_TO, and the return address in
 * MACHINE_RETURN. On x86-64 only, whose glibc has such rules: libdw 0.188 gives none of them for
 * arm64. */
void move_values(void);

#ifdef __aarch64__
#define MACHINE_MASK ((1ull << 33) - 1)
#define MACHINE_KEPT                                                                               \
	{                                                                                          \
		19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29                                         \
	}
#define MACHINE_KEEP_SIZE 160
#define BREAK_POINT	  8
/* A handler returns by the vdso's code, which is in no file. */
#define MACHINE_SIGNAL_FRAMES 0

/* As perf would record them; returns the stack pointer. */
static inline uint64_t machine_registers(const ucontext_t *uc, uint64_t *ret)
{
	for (unsigned i = 0; i < 31; i++)
		ret[i] = uc->uc_mcontext.regs[i];
	ret[31] = uc->uc_mcontext.sp;
	ret[32] = uc->uc_mcontext.pc;
	return uc->uc_mcontext.sp;
}

static inline void machine_copy(void *to, uint64_t from)
{
	__asm__("ldr x9, [%1]\n\tstr x9, [%0]" : : "r"(to), "r"(from) : "x9", "memory");
}

static inline void machine_pass_trap(ucontext_t *uc)
{
	uc->uc_mcontext.pc += 4;
}

__asm__(".pushsection .text\n"
	".type keep_values, %function\n"
	"keep_values:\n"
	"	.cfi_startproc\n"
	"	stp x29, x30, [sp, #-96]!; .cfi_def_cfa_offset 96\n"
	"	.cfi_offset x29, -96; .cfi_offset x30, -88\n"
	"	stp x19, x20, [sp, #16]; .cfi_offset x19, -80; .cfi_offset x20, -72\n"
	"	stp x21, x22, [sp, #32]; .cfi_offset x21, -64; .cfi_offset x22, -56\n"
	"	stp x23, x24, [sp, #48]; .cfi_offset x23, -48; .cfi_offset x24, -40\n"
	"	stp x25, x26, [sp, #64]; .cfi_offset x25, -32; .cfi_offset x26, -24\n"
	"	stp x27, x28, [sp, #80]; .cfi_offset x27, -16; .cfi_offset x28, -8\n"
	"	mov x19, #119; mov x20, #120; mov x21, #121; mov x22, #122; mov x23, #123\n"
	"	mov x24, #124; mov x25, #125; mov x26, #126; mov x27, #127; mov x28, #128\n"
	"	mov x29, #129\n"
	"	blr x0\n"
	"	ldp x19, x20, [sp, #16]; ldp x21, x22, [sp, #32]; ldp x23, x24, [sp, #48]\n"
	"	ldp x25, x26, [sp, #64]; ldp x27, x28, [sp, #80]\n"
	"	ldp x29, x30, [sp], #96; .cfi_def_cfa_offset 0\n"
	"	ret\n"
	"	.cfi_endproc\n"
	"	.size keep_values, .-keep_values\n"
	".popsection\n");

__asm__(".pushsection .text\n"
	".type break_here, %function\n"
	"break_here:\n"
	"	.cfi_startproc\n"
	"	stp x19, x30, [sp, #-16]!; .cfi_def_cfa_offset 16\n"
	"	.cfi_offset x19, -16; .cfi_offset x30, -8\n"
	"	mov x0, #1234\n"
	"	.inst 0\n"
	"	ldp x19, x30, [sp], #16; .cfi_def_cfa_offset 0\n"
	"	ret\n"
	"	.cfi_endproc\n"
	"	.size break_here, .-break_here\n"
	".popsection\n");
#else
#define MACHINE_MASK 0xff01ff
#define MACHINE_KEPT                                                                               \
	{                                                                                          \
		3, 6, 12, 13, 14, 15                                                               \
	}
#define MACHINE_KEEP_SIZE     80
#define MACHINE_MOVED	      3 /* rbx, in rax; the return address in rdi */
#define MACHINE_MOVED_TO      0
#define MACHINE_RETURN	      5
#define MACHINE_RULES	      ".cfi_register rbx, rax; .cfi_register rip, rdi"
#define MACHINE_SIGNAL_FRAMES 1
#define BREAK_POINT	      6 /* of its ud2 */

static inline uint64_t machine_registers(const ucontext_t *uc, uint64_t *ret)
{
	static const int order[] = {REG_RAX, REG_RBX, REG_RCX, REG_RDX, REG_RSI, REG_RDI,
				    REG_RBP, REG_RSP, REG_RIP, REG_R8,	REG_R9,	 REG_R10,
				    REG_R11, REG_R12, REG_R13, REG_R14, REG_R15};

	for (size_t i = 0; i < sizeof(order) / sizeof(*order); i++)
		ret[i] = (uint64_t)uc->uc_mcontext.gregs[order[i]];
	return (uint64_t)uc->uc_mcontext.gregs[REG_RSP];
}

static inline void machine_copy(void *to, uint64_t from)
{
	__asm__("movq (%1), %%rax\n\tmovq %%rax, (%0)" : : "r"(to), "r"(from) : "rax", "memory");
}

static inline void machine_pass_trap(ucontext_t *uc)
{
	uc->uc_mcontext.gregs[REG_RIP] += 2;
}

__asm__(".pushsection .text\n"
	".type keep_values, @function\n"
	"keep_values:\n"
	"	.cfi_startproc\n"
	"	push %rbx; .cfi_adjust_cfa_offset 8; .cfi_rel_offset rbx, 0\n"
	"	push %rbp; .cfi_adjust_cfa_offset 8; .cfi_rel_offset rbp, 0\n"
	"	push %r12; .cfi_adjust_cfa_offset 8; .cfi_rel_offset r12, 0\n"
	"	push %r13; .cfi_adjust_cfa_offset 8; .cfi_rel_offset r13, 0\n"
	"	push %r14; .cfi_adjust_cfa_offset 8; .cfi_rel_offset r14, 0\n"
	"	push %r15; .cfi_adjust_cfa_offset 8; .cfi_rel_offset r15, 0\n"
	"	sub $8, %rsp; .cfi_adjust_cfa_offset 8\n"
	"	mov $103, %ebx; mov $106, %ebp; mov $112, %r12d\n"
	"	mov $113, %r13d; mov $114, %r14d; mov $115, %r15d\n"
	"	call *%rdi\n"
	"	add $8, %rsp; .cfi_adjust_cfa_offset -8\n"
	"	pop %r15; .cfi_adjust_cfa_offset -8; .cfi_restore r15\n"
	"	pop %r14; .cfi_adjust_cfa_offset -8; .cfi_restore r14\n"
	"	pop %r13; .cfi_adjust_cfa_offset -8; .cfi_restore r13\n"
	"	pop %r12; .cfi_adjust_cfa_offset -8; .cfi_restore r12\n"
	"	pop %rbp; .cfi_adjust_cfa_offset -8; .cfi_restore rbp\n"
	"	pop %rbx; .cfi_adjust_cfa_offset -8; .cfi_restore rbx\n"
	"	ret\n"
	"	.cfi_endproc\n"
	"	.size keep_values, .-keep_values\n"
	".popsection\n");

__asm__(".pushsection .text\n"
	".type break_here, @function\n"
	"break_here:\n"
	"	.cfi_startproc\n"
	"	push %rbx; .cfi_adjust_cfa_offset 8; .cfi_rel_offset rbx, 0\n"
	"	mov $1234, %eax\n"
	"	ud2\n"
	"	pop %rbx; .cfi_adjust_cfa_offset -8; .cfi_restore rbx\n"
	"	ret\n"
	"	.cfi_endproc\n"
	"	.size break_here, .-break_here\n"
	".popsection\n");
#endif

#ifdef MACHINE_MOVED
__asm__(".pushsection .text\n"
	".type move_values, %function\n"
	"move_values:\n"
	"	.cfi_startproc\n"
	"	" MACHINE_RULES "\n"
	"	nop\n"
	"	.cfi_endproc\n"
	"	.size move_values, .-move_values\n"
	".popsection\n");
#endif

#endif
