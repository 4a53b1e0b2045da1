// SPDX-License-Identifier: Apache-2.0
/* fuzzseeds: writes the seeds of fuzz targets that no program makes, to tests/fuzz/corpus. */
#include <fcntl.h>
#include <time.h>

#include "dfg/request.h"
#include "lib/ehmake.h"
#include "lib/perffile.h"
#include "lib/seedfile.h"
#include "lib/unwindmake.h"
#include "top/window.h"

#define LIB  0x200000u /* as in fuzz_unwind.c */
#define MARK "~DFG"

/* ---- fuzz_unwind ---- */

static void add_word(struct str *s, uint64_t word)
{
	uint64_t part = word >> 16;
	uint8_t kind = 0;
	uint16_t value = (uint16_t)word;

	if (part == BASE >> 16)
		kind = 1;
	else if (part == LIB >> 16)
		kind = 2;
	else if (part >= 8 && part < 15)
		kind = (uint8_t)part;
	else if (word > UINT64_MAX - UINT16_MAX)
		kind = 4;
	else if (part)
		kind = 5;
	value = kind == 4 ? (uint16_t)-word : value;
	str_add(s, &kind, sizeof(kind));
	str_add(s, &value, sizeof(value));
	if (kind == 5)
		str_add(s, &word, sizeof(word));
}

static void add_thread_at(struct str *s, const struct thread *t, uint8_t flags, uint16_t time)
{
	static const char next[] = {15, 0, 0};
	size_t words = t->words;

	while (words > 8 && !t->stack[words - 9])
		words--;
	str_addc(s, (char)flags);
	str_add(s, &time, sizeof(time));
	for (unsigned i = 0; i < UNWIND_REGS; i++)
		add_word(s, unwind_get(&t->regs, i));
	for (size_t i = 0; i < words; i++)
		add_word(s, t->stack[i]);
	str_add(s, next, sizeof(next));
}

static void add_thread(struct str *s, const struct thread *t, uint8_t flags)
{
	add_thread_at(s, t, flags, TIME);
}

/* Functions with an ordinary frame, with one at sp + 16 that expressions of all operations give,
 * and the outermost one. */
static void add_library(struct str *s)
{
	static const uint8_t usual[] = {EH_USUAL}, outermost[] = {EH_OUTERMOST};
	/* clang-format off */
	static const uint8_t first[] = {
		DW_CFA_def_cfa_expression, 42, DW_OP_breg0 + UNWIND_SP, 16,
		DW_OP_const1u, 5, DW_OP_const1s, 5, DW_OP_xor, DW_OP_or,
		DW_OP_const2u, 2, 0, DW_OP_const2s, 3, 0, DW_OP_mul,
		DW_OP_const4u, 6, 0, 0, 0, DW_OP_minus, DW_OP_plus,
		DW_OP_constu, 1, DW_OP_consts, 1, DW_OP_eq, DW_OP_lit1, DW_OP_minus, DW_OP_plus,
		DW_OP_lit2, DW_OP_lit1, DW_OP_gt, DW_OP_lit1, DW_OP_ne, DW_OP_plus,
		DW_OP_lit1, DW_OP_lit2, DW_OP_le, DW_OP_lit0, DW_OP_and, DW_OP_plus,
		DW_CFA_offset | UNWIND_RA, 1,
	}, second[] = {
		DW_CFA_def_cfa_expression, 30, DW_OP_breg0 + UNWIND_SP, 16,
		DW_OP_lit1, DW_OP_neg, DW_OP_lit1, DW_OP_shra, DW_OP_lit1, DW_OP_plus, DW_OP_plus,
		DW_OP_lit3, DW_OP_lit1, DW_OP_lt, DW_OP_lit1, DW_OP_shl, DW_OP_plus,
		DW_OP_lit0, DW_OP_not, DW_OP_dup, DW_OP_drop, DW_OP_lit1, DW_OP_swap, DW_OP_over,
		DW_OP_ge, DW_OP_lit2, DW_OP_shr, DW_OP_drop, DW_OP_drop, DW_OP_nop,
		DW_OP_plus_uconst, 0,
		DW_CFA_offset | UNWIND_RA, 1,
	};
	/* clang-format on */
	static const struct eh_function list[] = {{0x1000, usual, sizeof(usual)},
						  {0x1080, first, sizeof(first)},
						  {0x10c0, second, sizeof(second)},
						  {0x1100, outermost, sizeof(outermost)}};
	CLEANUP(str_fini) struct str file = {0};

	eh_file(&file, "work@1000+40 start@1100+40", list, ARRAY_LEN(list));
	str_add(s, file.buf, file.len);
}

/* Threads, and what all of them run in. */
static void write_threads(const char *name, struct str *threads, uint64_t cont_return,
			  const char *library, bool replaced)
{
	CLEANUP(str_fini) struct str first = {0}; /* by themselves: their records are aligned */
	CLEANUP(str_fini) struct str second = {0};

	make_first(&first, cont_return);
	str_adds(threads, MARK);
	str_add(threads, first.buf, first.len);
	str_adds(threads, MARK);
	if (library)
		read_seed(library, threads);
	else
		add_library(threads);
	if (replaced) {
		make_replaced(&second);
		str_adds(threads, MARK);
		str_add(threads, second.buf, second.len);
	}
	write_seed(name, threads);
	str_fini(threads);
}

static struct thread compiled(void)
{
	struct thread t = at(METHOD + 0x20, 1);

	t.stack[3] = UP;
	bottom(&t, 4);
	return t;
}

static void write_compiled(void)
{
	struct thread t = compiled(), deeper = at(METHOD + 0x20, 1), spilled = at(METHOD + 0xc0, 1);
	struct str s = {0};

	add_thread(&s, &t, 1);
	for (size_t i = 0; i < 4; i++)
		deeper.stack[4 * i + 3] = i < 3 ? RET : UP;
	bottom(&deeper, 16);
	add_thread(&s, &deeper, 0);
	deeper.stack[3] = LEAF;
	add_thread(&s, &deeper, 0);
	spilled.stack[8 + 3] = UP;
	bottom(&spilled, 12);
	add_thread(&s, &spilled, 1 << 5);
	write_threads("unwind/compiled", &s, 0, NULL, false);
	t = at(AGAIN + 0x20, 1);
	t.stack[3] = UP;
	bottom(&t, 4);
	add_thread(&s, &t, 0);
	t = at(CALLER + 0x20, 1); /* its caller is replaced meanwhile */
	t.stack[5] = RET;
	t.stack[9] = UP;
	bottom(&t, 10);
	add_thread(&s, &t, 0);
	add_thread_at(&s, &t, 0, TIME + 50);
	t = at(OTHER + 0x20, 1);
	t.stack[3] = RET;
	bottom(&t, 8);
	add_thread(&s, &t, 0);
	write_threads("unwind/replaced", &s, 0, NULL, true);
}

static void write_interpreted(void)
{
	struct thread t = at(INTERP + 8, S(6));
	struct str s = {0};

	t.stack[3] = 0x111;
	t.stack[5] = S(8);
	t.stack[6] = S(14);
	t.stack[7] = INTO;
	t.stack[11] = 0x111;
	t.stack[13] = S(16);
	t.stack[14] = S(20);
	t.stack[15] = ENTRY;
	root(&t, 20);
	add_thread(&s, &t, 0);
	t = at(METHOD + 0x20, 1);
	t.stack[2] = S(10);
	t.stack[3] = BARRIER + 0x20;
	t.stack[11] = UP;
	bottom(&t, 12);
	add_thread(&s, &t, 0);
	write_threads("unwind/interpreted", &s, BARRIER + 0x20, NULL, false);
	t = at(THROW + 8, 1);
	t.stack[1] = UP;
	bottom(&t, 2);
	add_thread(&s, &t, 0);
	t = at(ADAPTER + 8, 1);
	t.stack[0] = UP;
	bottom(&t, 1);
	add_thread(&s, &t, 4);
	t = at(RUNTIME + 8, 1);
	t.stack[7] = METHOD + 0xc8;
	t.stack[8 + 8 + 3] = UP;
	bottom(&t, 20);
	add_thread(&s, &t, 16);
	write_threads("unwind/stubs", &s, 0, NULL, false);
}

/* From a library up to Java's methods, and down to where a thread starts. */
static void write_native(void)
{
	struct thread t = at(LIB + 0x1010, S(20));
	struct str s = {0};

	t.stack[1] = LIB + 0x1020;
	t.stack[3] = NATIVE + 0x40;
	t.stack[20] = S(30);
	t.stack[21] = UP;
	bottom(&t, 22);
	t.stack[31] = LIB + 0x1120;
	add_thread(&s, &t, 0);
	t = compiled();
	t.stack[13] = LIB + 0x1120;
	add_thread(&s, &t, 0);
	add_thread(&s, &t, 8 | 4 | 128);
	t = at(LIB + 0x1090, S(20));
	t.stack[1] = LIB + 0x10d0;
	t.stack[3] = LIB + 0x1120;
	add_thread(&s, &t, 0);
	write_threads("unwind/native", &s, 0, NULL, false);
	t = at(LIB + 0x336, S(9));
	t.stack[2] = LIB + 0x34b;
	t.stack[4] = LIB + 0x431;
	t.stack[9] = S(12);
	t.stack[10] = UP;
	bottom(&t, 11);
	add_thread(&s, &t, 1);
	write_threads("unwind/plt", &s, 0, "cfi/plt.so", false);
	t = at(LIB + 0x380, 1);
	t.stack[0] = LIB + 0x340;
	t.stack[1] = LIB + 0x380;
	t.stack[2] = METHOD + 0x40;
	add_thread(&s, &t, 2);
	write_threads("unwind/debug_frame", &s, 0, "cfi/debug_frame.so", false);
}

#ifdef __x86_64__
/* Methods that are entered, left and deoptimised, by registers of x86-64. */
static void write_registers(void)
{
	struct thread t = at(INTERP + 8, 1);
	struct str s = {0};

	unwind_set(&t.regs, UNWIND_RBX, 0x111);
	unwind_set(&t.regs, UNWIND_R13, S(3));
	bottom(&t, 3);
	t.stack[0] = UP;
	add_thread(&s, &t, 0);
	t.stack[0] = 7;
	unwind_set(&t.regs, UNWIND_RAX, UP);
	add_thread(&s, &t, 0);
	unwind_set(&t.regs, UNWIND_RBX, S(2));
	unwind_set(&t.regs, UNWIND_R13, UP);
	add_thread(&s, &t, 0);
	t = at(CALLER + 0x20, 1);
	t.stack[5] = METHOD + 0xf0;
	t.stack[6 + 1] = RET;
	t.stack[6 + 3] = UP;
	bottom(&t, 10);
	add_thread(&s, &t, 0);
	write_threads("unwind/entered", &s, 0, NULL, false);
	t = at(METHOD + 0x51, 1);
	t.stack[0] = UP;
	bottom(&t, 1);
	add_thread(&s, &t, 0);
	t = at(STUBS + 0x40, S(4));
	t.stack[5] = UINT64_MAX;
	t.stack[6] = RET;
	t.stack[10] = UP;
	bottom(&t, 11);
	add_thread(&s, &t, 0);
	t = at(RETHROW + 0x5e, 1);
	t.stack[3] = UP;
	bottom(&t, 4);
	unwind_set(&t.regs, UNWIND_R10, METHOD + 0x90);
	unwind_set(&t.regs, UNWIND_RDX, RET);
	add_thread(&s, &t, 0);
	t = at(METHOD + 0x20, 1);
	t.stack[0] = S(9);
	t.stack[9 + 3] = UP;
	bottom(&t, 13);
	add_thread(&s, &t, 0);
	write_threads("unwind/left", &s, 0, NULL, false);
}
#endif

/* ---- fuzz_answer, fuzz_feed, fuzz_debugfile ---- */

static void write_answers(void)
{
	CLEANUP(str_fini) struct str s = {0};
	CLEANUP(str_fini) struct str first = {0};

	make_first(&first, 0);
	str_addc(&s, 's');
	str_add(&s, first.buf, first.len);
	str_addf(&s, DFG_TRAILER_START "seq=7 status=0 entries=12 skipped=0 bytes=%zu us=5 cpu=4\n",
		 s.len - 1);
	str_add(&s, "\0\0\0\0", 4);
	write_seed("answer/snapshot", &s);
	str_clear(&s);
	str_adds(&s, "m1000 20 a.B.c\n");
	str_addf(&s, DFG_TRAILER_START "seq=7 status=0 entries=1 skipped=0 bytes=%zu us=5 cpu=4\n",
		 s.len - 1);
	write_seed("answer/map", &s);
	str_clear(&s);
	str_adds(&s,
		 "s" DFG_TRAILER_START "seq=7 status=1 entries=0 skipped=0 bytes=0 us=5 cpu=4\n");
	write_seed("answer/none", &s);
}

static void write_messages(void)
{
	static const char *const trees[] = {"java", "recursive"};
	struct window w = {.name = "shop/web", .id = "0123", .parts = 2, .us = 1000000};

	for (size_t i = 0; i < ARRAY_LEN(trees); i++) {
		CLEANUP(str_fini) struct str s = {0};
		char *name = xasprintf("feed/%s", trees[i]), *tree = xasprintf("tree/%s", trees[i]);

		str_add(&s, &w, sizeof(w));
		read_seed(tree, &s);
		write_seed(name, &s);
		free(name);
		free(tree);
		w.parts = 1;
	}
}

static void write_debug_files(void)
{
	CLEANUP(str_fini) struct str s = {0};
	CLEANUP(str_fini) struct str file = {0};
	struct elfmake m;

	elfmake_start(&m);
	elfmake_build_id(&m, 7);
	elfmake_debuglink(&m, "libx.so.debug", 0x1234);
	elfmake_add(&m, ".svm_heap", SHT_PROGBITS, "", 1);
	elfmake_symbols(&m, SHT_DYNSYM, "work@1000+40");
	elfmake_end(&m, &file);
	str_addc(&s, (char)128);
	str_add(&s, file.buf, file.len);
	str_fini(&file);
	elfmake_start(&m);
	elfmake_build_id(&m, 7);
	elfmake_symbols(&m, SHT_SYMTAB, "work@1000+40 other@1040+40 start@1100+40");
	elfmake_end(&m, &file);
	str_add(&s, file.buf, file.len);
	write_seed("debugfile/both", &s);
	str_clear(&s);
	str_addc(&s, (char)255);
	str_add(&s, file.buf, file.len);
	write_seed("debugfile/itself", &s);
}

/* Processes of both parts, with a child and one that has ended. */
static void write_recording(void)
{
	static const struct perf_event_attr attr = {
		.size = sizeof(struct perf_event_attr),
		.sample_type =
			PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_CALLCHAIN,
		.sample_id_all = 1,
	};
	static const uint32_t pids[] = {7, 42, 4711, 8, 9};
	const uint64_t chain[] = {(uint64_t)PERF_CONTEXT_USER, 0x1000};
	struct perffile f;

	pf_start(&f, &attr, 1);
	pf_comm(&f, 7, 7, "main", 0, 0);
	pf_mmap2(&f, 7, 0x1000, 0x1000, 0, 4, "/bin/x", 0);
	pf_fork(&f, 8, 7, 8, 7, 10);
	for (uint32_t i = 0; i < ARRAY_LEN(pids); i++)
		pf_sample(&f, pids[i], pids[i], 20 + i, chain, 2);
	pf_begin(&f, PERF_RECORD_EXIT, 0);
	pf_u32(&f, 7);
	pf_u32(&f, 1);
	pf_u32(&f, 7);
	pf_u32(&f, 1);
	pf_u64(&f, 30);
	pf_id(&f, 7, 7, 30, 0);
	pf_fork(&f, 7, 9, 7, 9, 40);
	pf_sample(&f, 7, 7, 50, chain, 2);
	pf_done(&f);
	write_seed("split/forks", &f.s);
	str_fini(&f.s);
}

int main(void)
{
	write_recording();
	write_compiled();
	write_interpreted();
	write_native();
#ifdef __x86_64__
	write_registers();
#endif
	write_answers();
	write_messages();
	write_debug_files();
	return 0;
}
