// SPDX-License-Identifier: Apache-2.0
/* Unwinds itself: registers and stack as they are, deep inside of the program, of libc and of
 * signal handlers, up to the start of the program. */
#include "unwind/cfi.h"

#include <fcntl.h>
#include <link.h>
#include <pthread.h>
#include <signal.h>

#include "common/str.h"
#include "lib/cfimachine.h"
#include "lib/tap.h"
#include "symbols/elfsym.h"

#define FILES  16
#define FRAMES 64

/* One of the files this process has mapped. */
struct file {
	uint64_t low, high, bias; /* of its code; address = offset in the file + bias */
	struct cfi *cfi;
	struct elfsym *names; /* of this program; NULL: a library */
};

static struct file files[FILES];
static size_t file_count;

static int add_file(struct dl_phdr_info *info, size_t size, void *arg)
{
	struct err err;

	(void)size;
	(void)arg;
	for (int i = 0; i < info->dlpi_phnum && file_count < FILES; i++) {
		const ElfW(Phdr) *ph = &info->dlpi_phdr[i];
		uint64_t low = info->dlpi_addr + ph->p_vaddr;
		int fd;

		if (ph->p_type != PT_LOAD || !(ph->p_flags & PF_X))
			continue;
		fd = open(info->dlpi_name[0] ? info->dlpi_name : "/proc/self/exe",
			  O_RDONLY | O_CLOEXEC);
		if (fd < 0)
			continue; /* the vdso */
		files[file_count++] = (struct file){.low = low,
						    .high = low + ph->p_memsz,
						    .bias = low - ph->p_offset,
						    .cfi = cfi_open(fd, &err)};
		if (!info->dlpi_name[0])
			files[file_count - 1].names = elfsym_open(fd, -1, &err);
		close(fd);
	}
	return 0;
}

/* The frames found, the first is the place itself. */
struct walk {
	struct unwind_regs frames[FRAMES];
	size_t count;
	enum cfi_result end;
};

static const struct file *file_of(uint64_t pc)
{
	for (size_t i = 0; i < file_count; i++)
		if (pc >= files[i].low && pc < files[i].high)
			return &files[i];
	return NULL;
}

static void walk_up(struct unwind_regs regs, struct stack_copy *stack, struct walk *ret)
{
	ret->count = 0;
	ret->end = CFI_OK;
	while (ret->count < FRAMES && ret->end == CFI_OK) {
		const struct file *f = file_of(unwind_pc(&regs));

		ret->frames[ret->count++] = regs;
		ret->end = f && f->cfi ? cfi_step(f->cfi, unwind_pc(&regs) - f->bias, !regs.exact,
						  &regs, stack)
				       : CFI_NONE;
	}
}

/* As perf would record it here: registers in its order, and the stack from the stack pointer. */
static void walk_context(const ucontext_t *uc, uint64_t top, struct walk *ret)
{
	uint64_t values[UNWIND_REGS], sp = machine_registers(uc, values);
	struct stack_copy stack = {.base = sp, .len = top - sp};
	uint8_t *copy = xmalloc(stack.len);
	struct unwind_regs regs;

	/* Word by word: redzones of a sanitizer are on this stack, too. */
	for (size_t i = 0; i + 8 <= stack.len; i += 8)
		machine_copy(copy + i, sp + i);
	stack.p = copy;
	if (!unwind_from_perf(&regs, UNWIND_PERFABI, MACHINE_MASK, (const uint8_t *)values))
		abort();
	walk_up(regs, &stack, ret);
	free(copy);
}

/* Functions of this test, outermost last; all others are "lib" once for a run of them. */
static void name_frames(const struct walk *w, struct str *ret)
{
	static const char *const known[] = {
		"walk_here",	  "compare",	 "sort_here",	"keep_values",
		"on_signal",	  "break_here",	 "run_here",	"main",
		"_start",	  "test_sort",	 "test_values", "test_signal",
		"test_alt_stack", "test_thread", "test_depths", "descend",
	};

	for (size_t i = 0; i < w->count; i++) {
		uint64_t pc = unwind_pc(&w->frames[i]) - !w->frames[i].exact;
		const struct file *f = file_of(pc);
		struct elf_symbol symbol;
		const char *name = "lib";

		if (f && f->names && elfsym_find(f->names, pc - f->bias, &symbol))
			for (size_t k = 0; k < ARRAY_LEN(known); k++)
				if (strcmp(known[k], symbol.name) == 0)
					name = symbol.name;
		if (has_suffix(ret->buf ? ret->buf : "", " lib") && strcmp(name, "lib") == 0)
			continue;
		str_addf(ret, " %s", name);
	}
}

static void frames_are(const struct walk *w, enum cfi_result end, const char *want)
{
	CLEANUP(str_fini) struct str got = {0};

	name_frames(w, &got);
	is_str(got.buf ? got.buf : "", want, "the frames");
	is_int(w->end, end, "how they end");
}

static uint64_t stack_top; /* the address above the stack that is walked */
static struct walk walked;
static uint64_t cfa_of_sort;

__attribute__((noinline)) static void walk_here(void)
{
	ucontext_t uc;

	getcontext(&uc);
	walk_context(&uc, stack_top, &walked);
	__asm__ volatile("" ::: "memory");
}

__attribute__((noinline)) static int compare(const void *a, const void *b)
{
	walk_here();
	return *(const int *)a - *(const int *)b;
}

__attribute__((noinline)) static void sort_here(void)
{
	int values[] = {3, 1, 2};

	cfa_of_sort = (uint64_t)(uintptr_t)__builtin_dwarf_cfa();
	qsort(values, ARRAY_LEN(values), sizeof(*values), compare);
	__asm__ volatile("" ::"r"(values) : "memory");
}

__attribute__((noinline)) static void test_sort(void)
{
	bool met = false;

	sort_here();
	frames_are(&walked, CFI_END, " walk_here compare lib sort_here test_sort main lib _start");
	for (size_t i = 0; i < walked.count; i++)
		met |= unwind_sp(&walked.frames[i]) == cfa_of_sort;
	ok(met, "the stack pointer of sort_here's caller is right");
}

__attribute__((noinline)) static void test_values(void)
{
	static const unsigned saved[] = MACHINE_KEPT;
	const struct file *f = NULL;
	size_t n = 0;

	keep_values(sort_here);
	frames_are(&walked, CFI_END,
		   " walk_here compare lib sort_here keep_values test_values main lib _start");
	for (; n < walked.count && !f; n++) {
		uint64_t pc = unwind_pc(&walked.frames[n]);
		uint64_t start = (uint64_t)(uintptr_t)keep_values;

		if (pc >= start && pc < start + MACHINE_KEEP_SIZE)
			f = file_of(pc);
	}
	if (!ok(f != NULL, "the frame of keep_values"))
		return;
	for (size_t i = 0; i < ARRAY_LEN(saved); i++)
		ok(unwind_get(&walked.frames[n - 1], saved[i]) == 100 + saved[i],
		   "register %u as it was at the call", saved[i]);
	is_int(walked.frames[n - 1].known,
	       UNWIND_CALLEE_SAVED | 1ull << UNWIND_SP | 1ull << UNWIND_PC, "others are not known");
}

#ifdef MACHINE_MOVED
/* Rules that name another register (DW_CFA_register): __vfork of glibc has its return address in
 * one.
 */
static void test_moved(void)
{
	uint64_t pc = (uint64_t)(uintptr_t)move_values;
	const struct file *f = file_of(pc);
	struct unwind_regs regs = {.exact = true};
	struct stack_copy stack = {.base = 0x10000};

	unwind_set(&regs, UNWIND_PC, pc);
	unwind_set(&regs, UNWIND_SP, stack.base);
	unwind_set(&regs, MACHINE_MOVED, 1);
	unwind_set(&regs, MACHINE_MOVED_TO, 77);
	unwind_set(&regs, MACHINE_RETURN, 0x5555);
	is_int(cfi_step(f->cfi, pc - f->bias, false, &regs, &stack), CFI_OK,
	       "a frame whose return address is in a register has a caller");
	is_int(unwind_pc(&regs), 0x5555, "the caller's pc is the value of that register");
	is_int(unwind_get(&regs, MACHINE_MOVED), 77,
	       "a register that is kept in another one has its value in the caller");
}
#endif

__attribute__((noinline)) static void on_signal(int sig, siginfo_t *info, void *context)
{
	ucontext_t *uc = context;

	(void)sig;
	(void)info;
	walk_here();
	machine_pass_trap(uc);
}

static void catch_trap(int flags)
{
	struct sigaction sa = {.sa_sigaction = on_signal, .sa_flags = SA_SIGINFO | flags};

	if (sigaction(SIGILL, &sa, NULL) < 0)
		abort();
}

static const struct unwind_regs *frame_at_break(void)
{
	for (size_t i = 0; i < walked.count; i++)
		if (unwind_pc(&walked.frames[i]) == (uint64_t)(uintptr_t)break_here + BREAK_POINT)
			return &walked.frames[i];
	return NULL;
}

__attribute__((noinline)) static void test_signal(void)
{
	const struct unwind_regs *at;

	catch_trap(0);
	break_here();
	frames_are(&walked, CFI_END,
		   " walk_here on_signal lib break_here test_signal main lib _start");
	at = frame_at_break();
	if (!ok(at && at->exact, "what was interrupted is no return address"))
		return;
	is_int(at->known, UNWIND_ALL, "all registers are known there");
	is_int(at->reg[0], 1234, "rax as it was");
}

/* perf copies the stack that is in use: above the signal's frame there is nothing to read. */
__attribute__((noinline)) static void test_alt_stack(void)
{
	static char other[256 << 10] __attribute__((aligned(16)));
	stack_t alt = {.ss_sp = other, .ss_size = sizeof(other)}, before;
	uint64_t top = stack_top;

	if (sigaltstack(&alt, &before) < 0)
		abort();
	catch_trap(SA_ONSTACK);
	stack_top = (uint64_t)(uintptr_t)(other + sizeof(other));
	break_here();
	stack_top = top;
	sigaltstack(&before, NULL);
	frames_are(&walked, CFI_BAD, " walk_here on_signal lib break_here");
	ok(frame_at_break() != NULL, "the interrupted frame's registers are known");
}

static void *run_here(void *arg)
{
	pthread_attr_t attr;
	void *low;
	size_t size;

	if (pthread_getattr_np(pthread_self(), &attr) || pthread_attr_getstack(&attr, &low, &size))
		abort();
	pthread_attr_destroy(&attr);
	stack_top = (uint64_t)(uintptr_t)low + size;
	sort_here();
	return arg;
}

__attribute__((noinline)) static void test_thread(void)
{
	uint64_t top = stack_top;
	pthread_t thread;

	if (pthread_create(&thread, NULL, run_here, NULL) || pthread_join(thread, NULL))
		abort();
	stack_top = top;
	frames_are(&walked, CFI_END, " walk_here compare lib sort_here run_here lib");
}

__attribute__((noinline)) static int descend(int depth)
{
	int n = 0;

	if (!depth)
		walk_here();
	else
		n = descend(depth - 1);
	__asm__ volatile("" : "+r"(n)::"memory");
	return n + 1;
}

__attribute__((noinline)) static void test_depths(void)
{
	size_t shallow;

	descend(0);
	shallow = walked.count;
	descend(1);
	is_int(walked.count, shallow + 1, "one call more, one frame more");
	descend(40);
	is_int(walked.count, shallow + 40, "forty calls more");
}

static uint64_t find_stack_top(void)
{
	extern void *__libc_stack_end; /* where the kernel put the arguments, inside the stack */

	return (uint64_t)(uintptr_t)__libc_stack_end + 64;
}

int main(void)
{
	dl_iterate_phdr(add_file, NULL);
	stack_top = find_stack_top();
	test_depths();
	test_sort();
	test_values();
#ifdef MACHINE_MOVED
	test_moved();
#endif
	if (MACHINE_SIGNAL_FRAMES) {
		test_signal();
		test_alt_stack();
	}
	test_thread();
	while (file_count) {
		cfi_close(files[--file_count].cfi);
		elfsym_close(files[file_count].names);
	}
	return tap_done();
}
