// SPDX-License-Identifier: Apache-2.0
#include "unwind/unwind_walk.h"

#define WORD 8u

/* ---- method ---- */

#define MOVED_MAX 80u /* bytes that intrinsics take of the stack but by pushing */

void arch_settle(struct stack_walk *w)
{
	(void)w;
}

/* At the start of an exit without "pop rbp" the return address is on top; a saved frame pointer
 * there is none. */
struct sender arch_exit(const struct stack_walk *w, const struct snapfile_code *c)
{
	uint64_t sp = unwind_sp(&w->regs), word;

	(void)c;
	if (stack_read(w->stack, sp, &word) && walk_is_return(w, word))
		return walk_frameless(w);
	return (struct sender){.ret_at = sp + WORD, .fp_at = sp};
}

/* The end of a method's code has parts that the method calls itself: the stubs of calls that go to
 * the interpreter, and the deoptimisation handler, which calls its own next instruction. The frame
 * is above that return address then. (c1_LIRAssembler_x86.cpp emit_static_call_stub and
 * emit_deopt_handler, compiledIC_x86.cpp, x86.ad, JDK 8 to 25.) A method that called itself and has
 * been left looks the same, and has one frame less. */
bool arch_take_left(struct stack_walk *w, const struct snapfile_code *c)
{
	uint64_t sp = unwind_sp(&w->regs), word;

	if (stack_read(w->stack, sp, &word) && word > c->start && word <= c->end &&
	    walk_is_return(w, word))
		return walk_take(w, walk_body(c, sp + WORD));
	return walk_take_found(w, walk_frameless(w));
}

/* C2's String.indexOf moves the stack pointer, by up to four words and a copy of the string
 * searched for, and keeps what it was on top (c2_MacroAssembler_x86.cpp string_indexof, JDK 8 to
 * 25). */
bool arch_take_moved(struct stack_walk *w, const struct snapfile_code *c)
{
	uint64_t sp = unwind_sp(&w->regs), saved;

	return w->regs.exact && stack_read(w->stack, sp, &saved) && saved > sp &&
	       saved - sp <= MOVED_MAX && saved % WORD == 0 &&
	       walk_take_found(w, walk_body(c, saved));
}

/* ---- interp ---- */

/* cpu/x86/templateInterpreterGenerator_x86.cpp, interp_masm_x86.cpp of JDK 8 to 25. */

/* Words of parameters and locals between a frame and its caller's: 65535 are possible, but what
 * goes on below a small number is all that is plausible. */
#define LOCAL_WORDS_MAX 1024u

/* Bytes, from where calls return to up to where the stack pointer is set anew. */
#define RETURN_ENTRY 16u

/* True if a register holds the stack pointer the caller will have. */
static bool is_sender_sp(const struct stack_walk *w, uint64_t value)
{
	uint64_t sp = unwind_sp(&w->regs);

	return value > sp && value % WORD == 0 && value - sp <= LOCAL_WORDS_MAX * WORD;
}

/* While a method is entered, rbx is the method and r13 the caller's stack pointer: later r13 points
 * to bytecode. The return address is on the stack, for some instructions in rax, and then in the
 * new frame, of which the last state comes first here since rax keeps it. */
bool arch_enter_step(struct stack_walk *w)
{
	uint64_t sp = unwind_sp(&w->regs), fp = unwind_fp(&w->regs), pc = 0;
	uint64_t method = unwind_get(&w->regs, UNWIND_RBX),
		 sender = unwind_get(&w->regs, UNWIND_R13), word;
	uint64_t fp_at = 0;

	if (!is_sender_sp(w, sender) || !walk_is_method(w, method))
		return false;
	if (fp >= sp && fp - sp <= 4 * WORD && stack_read(w->stack, fp + WORD, &word) &&
	    walk_is_return(w, word)) {
		pc = word;
		fp_at = fp;
	} else if (stack_read(w->stack, sp, &word) && word == fp &&
		   stack_read(w->stack, sp + WORD, &word) && walk_is_return(w, word)) {
		pc = word;
		fp_at = sp;
	} else if (stack_read(w->stack, sp, &word) && walk_is_return(w, word)) {
		/* Compiled code has just returned there, and all is as at its call. */
		if (unwind_pc(&w->regs) - word < RETURN_ENTRY)
			return false;
		pc = word;
	} else if (walk_is_return(w, unwind_get(&w->regs, UNWIND_RAX))) {
		pc = unwind_get(&w->regs, UNWIND_RAX);
	}
	if (!pc)
		return false;
	return walk_leave_interpreted(w, method, pc, sender, fp_at);
}

/* While a method is left: the frame is gone, rbx is the caller's stack pointer, and the return
 * address is on the stack or in r13. The method is no longer known. */
bool arch_leave_step(struct stack_walk *w)
{
	uint64_t sender = unwind_get(&w->regs, UNWIND_RBX), pc = unwind_get(&w->regs, UNWIND_R13),
		 word;

	if (!is_sender_sp(w, sender) && sender != unwind_sp(&w->regs))
		return false;
	if (!walk_is_return(w, pc)) {
		if (!stack_read(w->stack, unwind_sp(&w->regs), &word) || !walk_is_return(w, word))
			return false;
		pc = word;
	}
	return walk_leave_interpreted(w, 0, pc, sender, 0);
}

bool arch_sender_below(const struct stack_walk *w, uint64_t pc)
{
	(void)w;
	(void)pc;
	return false;
}

/* ---- stub ---- */

/* cpu/x86/stubGenerator_x86_64.cpp, sharedRuntime_x86_64.cpp of JDK 8 to 25. */

/* Registers a stub saves, and what else it keeps: the stubs of ciphers push most of them. */
#define SAVED_MAX     16u
#define LOCALS_MAX    1024u /* bytes between a stub's stack pointer and its frame pointer */
#define ARGUMENTS_MAX 8192u /* bytes */

/* Nearly all stubs begin with "push rbp; mov rbp, rsp": either the return address is on top, or
 * that push is, or there is a frame. Without one, words below the return address are registers that
 * the stub saved. */
bool arch_take_stub(struct stack_walk *w, const struct snapfile_code *c)
{
	uint64_t sp = unwind_sp(&w->regs), fp = unwind_fp(&w->regs), word;
	const struct sender pushed = {.ret_at = sp + WORD};
	bool framed = fp >= sp && fp % WORD == 0;

	if (walk_take_found(w, (struct sender){.ret_at = sp}))
		return true;
	if (snapfile_pushes(c))
		return walk_search(w, pushed, SAVED_MAX);
	if (stack_read(w->stack, sp, &word) && word == fp && walk_take_found(w, pushed))
		return true;
	if (framed && walk_take(w, (struct sender){.ret_at = fp + WORD, .fp_at = fp}))
		return true;
	/* The barrier at a method's entry pushes a cookie first (stubGenerator_x86_64.cpp
	 * generate_method_entry_barrier, JDK 11 to 25). */
	if (framed && stack_read(w->stack, fp + WORD, &word) && word == UINT64_MAX &&
	    walk_take(w, (struct sender){.ret_at = fp + 2 * WORD, .fp_at = fp}))
		return true;
	if (framed && fp - sp <= LOCALS_MAX &&
	    walk_take_native(w, (struct sender){.ret_at = fp + WORD, .fp_at = fp}))
		return true;
	if (w->regs.exact && walk_take_native(w, (struct sender){.ret_at = sp}))
		return true;
	return walk_search(w, pushed, SAVED_MAX);
}

static bool is_compiled(const struct stack_walk *w, uint64_t pc)
{
	const struct snapfile_code *c[SNAPFILE_AROUND];

	return walk_return_codes(w, pc, c) &&
	       (c[0]->record->kind == SNAP_COMPILED || c[0]->record->kind == SNAP_NATIVE);
}

/* Adapters take the return address off and put it back below the arguments that they move; in
 * between it is in rax. Soon after it is taken off, r13 is what the caller's stack pointer was;
 * before that, and in the stubs of virtual calls, r13 is anything. What is on top of the caller's
 * frame may be a return address, too, but an old one. */
bool arch_take_adapter(struct stack_walk *w)
{
	uint64_t sp = unwind_sp(&w->regs), sender = unwind_get(&w->regs, UNWIND_R13), word;
	uint64_t pc = unwind_get(&w->regs, UNWIND_RAX);
	bool moved = sender > sp && sender - sp <= ARGUMENTS_MAX && sender % WORD == 0;

	if (w->regs.exact && is_compiled(w, pc)) {
		if (moved && walk_leads_on(w, pc, sender))
			return walk_go(w, pc, sender, 0);
		if (walk_leads_on(w, pc, sp))
			return walk_go(w, pc, sp, 0);
	}
	if (!stack_read(w->stack, sp, &word) || !walk_is_return(w, word))
		return w->regs.exact && moved && walk_is_return(w, pc) && walk_go(w, pc, sender, 0);
	moved = moved && !walk_leads_on(w, word, sp + WORD) && walk_leads_on(w, word, sender);
	return walk_go(w, word, moved ? sender : sp + WORD, 0);
}

static bool is_handler(const struct stack_walk *w, uint64_t pc, uint64_t addr)
{
	const struct snapfile_code *c[SNAPFILE_AROUND];

	return walk_return_codes(w, pc, c) == 1 && addr >= c[0]->start && addr < c[0]->end;
}

/* True if a jump to a handler in the code of this address is about to happen. */
static bool is_thrown(const struct stack_walk *w, uint64_t pc)
{
	static const unsigned char targets[] = {UNWIND_RAX, UNWIND_RBX, UNWIND_R8, UNWIND_R10};

	for (size_t i = 0; walk_is_return(w, pc) && i < ARRAY_LEN(targets); i++)
		if (is_handler(w, pc, unwind_get(&w->regs, targets[i])))
			return true;
	return false;
}

/* True if a stub has just removed its frame and its return address. */
static bool is_behind_exit(const struct snapfile_code *c, uint64_t offset)
{
	return offset && snapfile_exit(c, offset - 1) && !snapfile_exit(c, offset);
}

/* Steps out of stubs that end with `pop rdx` and a jump to an exception's handler: the address that
 * threw is on the stack until then, and in rdx after it, which is undefined before. ExceptionBlob
 * is jumped to with the address in rdx, too, and ends with some more instructions.
 * (runtime_x86_64.cpp generate_exception_blob, generateOptoStub.cpp, c1_Runtime1_x86.cpp
 * generate_unwind_exception, JDK 8 to 25.) */
static bool by_exception(struct stack_walk *w, const struct snapfile_code *c)
{
	uint64_t sp = unwind_sp(&w->regs), pc = unwind_get(&w->regs, UNWIND_RDX), word;
	uint64_t offset = unwind_pc(&w->regs) - c->start;
	uint32_t exits = c->record->exit_count;
	bool gone;

	if (snapfile_is_thrower(c))
		gone = offset == 0 || (exits && offset >= c->exits[exits - 1].end);
	else if (c->record->kind == SNAP_RUNTIME)
		gone = is_behind_exit(c, offset) && is_thrown(w, pc);
	else if (stack_read(w->stack, sp, &word) && is_thrown(w, word))
		return walk_take_found(w, (struct sender){.ret_at = sp});
	else
		gone = is_thrown(w, pc);
	return gone && walk_is_return(w, pc) && walk_leads_on(w, pc, sp) && walk_go(w, pc, sp, 0);
}

/* C1's handle_exception_from_callee puts the handler where its return address was, and jumps to it
 * by `pop rcx` (it is in rax, too): the method that catches is as if interrupted at its handler. */
static bool by_handler(struct stack_walk *w, const struct snapfile_code *c)
{
	uint64_t sp = unwind_sp(&w->regs), offset = unwind_pc(&w->regs) - c->start;
	uint64_t handler = unwind_get(&w->regs, UNWIND_RCX), ret;
	const struct snapfile_code *to[SNAPFILE_AROUND];

	if (snapfile_exit(c, offset)) {
		if (!stack_read(w->stack, sp, &handler) || walk_is_return(w, handler))
			return false;
		sp += WORD;
	} else if (!is_behind_exit(c, offset) || handler != unwind_get(&w->regs, UNWIND_RAX)) {
		return false;
	}
	if (snapfile_find(w->src->code, handler, w->src->span, to) != 1 ||
	    to[0]->record->kind != SNAP_COMPILED ||
	    !stack_read(w->stack, walk_body(to[0], sp).ret_at, &ret) || !walk_is_return(w, ret) ||
	    !walk_go(w, handler, sp, 0))
		return false;
	w->regs.exact = true;
	return true;
}

/* The innermost frame of code that is no method and runs on behalf of one. */
bool arch_take_exception(struct stack_walk *w, const struct snapfile_code *c)
{
	return (c->record->kind == SNAP_RUNTIME && by_handler(w, c)) || by_exception(w, c);
}
