// SPDX-License-Identifier: Apache-2.0
/* Samples with registers and a copy of the stack: made up threads of a JVM and of a library. */
#include "profile/read.h"

#include <time.h>

#include "lib/ehmake.h"
#include "lib/perffile.h"
#include "lib/snapmake.h"
#include "lib/stackstext.h"
#include "lib/tap.h"
#include "unwind/unwind_regs.h"

#define TYPE                                                                                       \
	(PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_CALLCHAIN |             \
	 PERF_SAMPLE_REGS_USER)
#define USER   ((uint64_t)PERF_CONTEXT_USER)
#define KERNEL ((uint64_t)PERF_CONTEXT_KERNEL)

#define BP (1u << 6) /* bits of perf's registers */
#define SP (1u << 7)
#define IP (1u << 8)

#define LIB   0x100000u	 /* the library's code */
#define CODE  0x7000000u /* the JVM's */
#define STACK 0x7f0000u
#define WORDS 8

static const char kernel_text[] = "ffffffff81000000 T first\nffffffff81001000 T second\n";
static const char map_text[] = "7000000 100 a.B.one\n";

/* Everything that one test reads. */
struct made {
	struct perffile perf;
	struct session_map map;
	struct session_elf elf;
	struct quality quality;
	struct str stacks; /* "a;b count" and a newline for each */
};

/* A sample. */
struct thread_at {
	uint16_t mode;
	uint64_t ip, chain[4], chain_len;
	uint64_t abi, regs[3], reg_count;
	uint64_t stack[WORDS], words; /* words: 0: none was copied */
};

static void start(struct made *m, uint64_t regs, bool stack)
{
	struct perf_event_attr a = {.size = sizeof(a),
				    .sample_type = TYPE | (stack ? PERF_SAMPLE_STACK_USER : 0),
				    .sample_max_stack = 127,
				    .sample_regs_user = regs,
				    .sample_stack_user = stack ? WORDS * 8 : 0,
				    .use_clockid = 1,
				    .clockid = CLOCK_MONOTONIC};

	*m = (struct made){.map = {.pid = 7, .fd = -1},
			   .elf = {.path = "/lib/libc.so.6", .fd = -1, .debug_fd = -1}};
	pf_start(&m->perf, &a, 1);
	pf_comm(&m->perf, 7, 7, "main", 0, 0);
	pf_mmap2(&m->perf, 7, CODE, 0x10000, 0, PROT_EXEC, "//anon", 0);
}

static void add(struct made *m, const struct thread_at *t, uint64_t time)
{
	struct perffile *f = &m->perf;

	pf_begin(f, PERF_RECORD_SAMPLE, t->mode);
	pf_u64(f, t->ip);
	pf_u32(f, 7);
	pf_u32(f, 7);
	pf_u64(f, time);
	pf_u64(f, t->chain_len);
	for (uint64_t i = 0; i < t->chain_len; i++)
		pf_u64(f, t->chain[i]);
	pf_u64(f, t->abi);
	for (uint64_t i = 0; t->abi && i < t->reg_count; i++)
		pf_u64(f, t->regs[i]);
	if (f->sample_type & PERF_SAMPLE_STACK_USER) {
		pf_u64(f, t->words ? sizeof(t->stack) : 0);
		if (t->words) {
			str_add(&f->s, (const char *)t->stack, sizeof(t->stack));
			pf_u64(f, t->words * 8);
		}
	}
	pf_end(f);
}

static void read_made(struct made *m)
{
	struct recording in = {
		.maps = &m->map, .map_count = 1, .elfs = &m->elf, .elf_count = 1, .parts = 1};
	struct profile p;
	struct err err = {0};

	pf_done(&m->perf);
	in.perf_fd = file_of(m->perf.s.buf, m->perf.s.len);
	in.kallsyms_fd = file_of(kernel_text, strlen(kernel_text));
	profile_init(&p, false);
	ok(profile_read(&in, &p, &err) == 0, "the recording is read");
	str_adds(&m->stacks, "");
	stacks_sort(p.stacks);
	stacks_text(p.stacks, 0, "", &m->stacks);
	m->quality = p.quality;
	profile_fini(&p);
	close(in.perf_fd);
	close(in.kallsyms_fd);
}

static void end(struct made *m)
{
	if (m->map.fd >= 0)
		close(m->map.fd);
	if (m->elf.fd >= 0)
		close(m->elf.fd);
	str_fini(&m->perf.s);
	str_fini(&m->stacks);
}

/* ---- registers without a copy of the stack ---- */

/* In the kernel, where a chain without frame pointers has no more. */
static void test_registers(void)
{
	static const struct {
		const char *what;
		uint64_t mask, abi, regs[3], count;
		uint64_t user; /* in the chain, 0: nothing */
		const char *want;
	} t[] = {
		{"a 32-bit program has its instruction pointer",
		 BP | SP | IP,
		 PERF_SAMPLE_REGS_ABI_32,
		 {1, 2, CODE},
		 3,
		 0,
		 "main;a.B.one;first 1\n"},
		{"registers above the instruction pointer's do not matter",
		 IP | 1u << 9,
		 PERF_SAMPLE_REGS_ABI_64,
		 {CODE, 5},
		 2,
		 0,
		 "main;a.B.one;first 1\n"},
		{"without an instruction pointer there is no frame of the program",
		 BP | SP,
		 PERF_SAMPLE_REGS_ABI_64,
		 {CODE, CODE},
		 2,
		 0,
		 "main;first 1\n"},
		{"without registers there is no frame of the program",
		 IP,
		 PERF_SAMPLE_REGS_ABI_NONE,
		 {CODE},
		 1,
		 0,
		 "main;first 1\n"},
		{"a chain of the program goes before registers",
		 IP,
		 PERF_SAMPLE_REGS_ABI_64,
		 {CODE},
		 1,
		 CODE + 0x200,
		 "main;[anon];first 1\n"},
	};

	for (size_t i = 0; i < ARRAY_LEN(t); i++) {
		struct thread_at at = {.mode = PERF_RECORD_MISC_KERNEL,
				       .ip = 0xffffffff81000000,
				       .chain = {KERNEL, 0xffffffff81000000, USER, t[i].user},
				       .chain_len = t[i].user ? 4 : 2,
				       .abi = t[i].abi,
				       .reg_count = t[i].count};
		struct made m;

		memcpy(at.regs, t[i].regs, sizeof(at.regs));
		start(&m, t[i].mask, false);
		m.map.fd = file_of(map_text, strlen(map_text));
		add(&m, &at, 10);
		read_made(&m);
		is_str(m.stacks.buf, t[i].want, "%s", t[i].what);
		end(&m);
	}
}

static void test_no_chain(void)
{
	static const struct {
		const char *what;
		uint16_t mode;
		uint64_t ip;
		const char *want;
	} t[] = {
		{"the program", PERF_RECORD_MISC_USER, CODE, "main;a.B.one 1\n"},
		{"the kernel", PERF_RECORD_MISC_KERNEL, 0xffffffff81001000, "main;second 1\n"},
		{"a hypervisor", PERF_RECORD_MISC_HYPERVISOR, CODE, "main;[unknown] 1\n"},
		{"a guest", PERF_RECORD_MISC_GUEST_USER, CODE, "main;[unknown] 1\n"},
	};

	for (size_t i = 0; i < ARRAY_LEN(t); i++) {
		const struct thread_at at = {.mode = t[i].mode, .ip = t[i].ip};
		struct made m;

		start(&m, IP, false);
		m.map.fd = file_of(map_text, strlen(map_text));
		add(&m, &at, 10);
		read_made(&m);
		is_str(m.stacks.buf, t[i].want, "without a chain there is the address in %s",
		       t[i].what);
		end(&m);
	}
}

/* ---- a library ---- */

/* The return address is the value of a word, by its distance from the stack pointer. */
#define EH_WORD_AT(offset)                                                                         \
	DW_CFA_def_cfa, UNWIND_SP, 16, DW_CFA_val_expression, UNWIND_RA, 3,                        \
		DW_OP_breg0 + UNWIND_SP, (offset)&0x7f, DW_OP_deref

/* A function with an ordinary frame, the outermost one, and two whose return address is far above
 * and just below their frame. */
static int made_lib(const char *symbols)
{
	static const uint8_t usual[] = {EH_USUAL}, outermost[] = {EH_OUTERMOST};
	static const uint8_t above[] = {EH_WORD_AT(40)}, below[] = {EH_WORD_AT(-16)};
	static const struct eh_function list[] = {{0x1000, usual, sizeof(usual)},
						  {0x1100, outermost, sizeof(outermost)},
						  {0x1200, above, sizeof(above)},
						  {0x1300, below, sizeof(below)}};
	CLEANUP(str_fini) struct str file = {0};

	eh_file(&file, symbols, list, ARRAY_LEN(list));
	while (file.len < 0x3000)
		str_addc(&file, 0);
	return file_of(file.buf, file.len);
}

/* In the first function, called by the other. */
static struct thread_at in_lib(void)
{
	return (struct thread_at){.mode = PERF_RECORD_MISC_USER,
				  .ip = LIB + 0x10,
				  .abi = PERF_SAMPLE_REGS_ABI_64,
				  .regs = {0, STACK, LIB + 0x10},
				  .reg_count = 3,
				  .stack = {0, LIB + 0x110},
				  .words = WORDS};
}

static void test_library(void)
{
	static const struct {
		const char *what, *path, *symbols;
		uint64_t words;
		const char *want;
		uint64_t truncated;
	} t[] = {
		{"what starts a thread is one frame", "/lib/libc.so.6", "", WORDS,
		 "main;[thread start] 1\n", 0},
		{"with names it has its own", "/lib/libc.so.6", "work@1000+40 start@1100+40", WORDS,
		 "main;start;work 1\n", 0},
		{"a function of its own is none that starts", "/lib/libc.so.6", "work@1000+40",
		 WORDS, "main;[thread start];work 1\n", 0},
		{"nor is another library", "/lib/libx.so", "", WORDS,
		 "main;[libx.so];[libx.so] 1\n", 0},
		{"nor what is cut", "/lib/libc.so.6", "", 1, "main;[libc.so.6] 1\n", 0},
	};

	for (size_t i = 0; i < ARRAY_LEN(t); i++) {
		struct thread_at at = in_lib();
		struct made m;

		start(&m, BP | SP | IP, true);
		pf_mmap2(&m.perf, 7, LIB, 0x1000, 0x1000, PROT_EXEC, t[i].path, 0);
		m.elf.path = t[i].path;
		m.elf.fd = made_lib(t[i].symbols);
		at.words = t[i].words;
		add(&m, &at, 10);
		read_made(&m);
		is_str(m.stacks.buf, t[i].want, "%s", t[i].what);
		is_int(m.quality.truncated, t[i].truncated, "it is truncated or not");
		end(&m);
	}
}

/* A copy as long as it may be ends before the stack does. */
static void test_truncated(void)
{
	struct thread_at at = in_lib();
	struct made m;

	start(&m, BP | SP | IP, true);
	pf_mmap2(&m.perf, 7, LIB, 0x1000, 0x1000, PROT_EXEC, "/lib/libc.so.6", 0);
	m.elf.fd = made_lib("work@1000+40");
	for (size_t i = 0; i < WORDS; i++)
		at.stack[i] = LIB + 0x20;
	add(&m, &at, 10);
	read_made(&m);
	is_str(m.stacks.buf, "main;work;work;work;work;work 1\n", "a stack ends with its copy");
	is_int(m.quality.truncated, 1, "the sample counts as truncated");
	is_int(m.quality.frames, 5, "its frames are counted");
	end(&m);
}

/* The frames of the sample before are not taken for another's. */
static void test_again(void)
{
	struct thread_at at = in_lib(), other = in_lib();
	struct made m;

	start(&m, BP | SP | IP, true);
	pf_mmap2(&m.perf, 7, LIB, 0x1000, 0x1000, PROT_EXEC, "/lib/libc.so.6", 0);
	m.elf.fd = made_lib("work@1000+40 start@1100+40");
	other.ip = other.regs[2] = LIB + 0x110;
	add(&m, &at, 10);
	add(&m, &at, 11);
	add(&m, &other, 12);
	add(&m, &at, 13);
	other.abi = 0; /* by its chain */
	other.chain[0] = USER;
	other.chain[1] = LIB + 0x20;
	other.chain_len = 2;
	add(&m, &other, 14);
	add(&m, &at, 15);
	read_made(&m);
	is_str(m.stacks.buf, "main;start 1\nmain;start;work 4\nmain;work 1\n",
	       "each sample has its own stack");
	is_int(m.quality.samples, 6, "all samples are counted");
	end(&m);
}

/* The frame that starts the thread is named as in the sample before, but is elsewhere: the sample
 * after is compared with all bytes up to there. */
static void test_moved(void)
{
	static const uint64_t stacks[][WORDS] = {
		{0, LIB + 0x110},
		{0, LIB + 0x20, 0, LIB + 0x110},
		{0, LIB + 0x20, 0, LIB + 0x20, 0, LIB + 0x110},
	};
	struct made m;

	start(&m, BP | SP | IP, true);
	pf_mmap2(&m.perf, 7, LIB, 0x1000, 0x1000, PROT_EXEC, "/lib/libc.so.6", 0);
	m.elf.fd = made_lib("work@1000+40 start@1100+40");
	for (size_t i = 0; i < ARRAY_LEN(stacks); i++) {
		struct thread_at at = in_lib();

		memcpy(at.stack, stacks[i], sizeof(at.stack));
		add(&m, &at, 10 + i);
	}
	read_made(&m);
	is_str(m.stacks.buf,
	       "main;start;work 1\nmain;start;work;work 1\nmain;start;work;work;work 1\n",
	       "a sample has its own frames after its outermost one has moved");
	end(&m);
}

/* The return address of the outermost frame is 0, then another: its rule reads above the frame. */
static void test_outermost(void)
{
	struct thread_at at = in_lib();
	struct made m;

	start(&m, BP | SP | IP, true);
	pf_mmap2(&m.perf, 7, LIB, 0x1000, 0x1000, PROT_EXEC, "/lib/libc.so.6", 0);
	m.elf.fd = made_lib("work@1000+40 start@1100+40");
	at.stack[1] = LIB + 0x20;
	add(&m, &at, 10);
	at.stack[3] = LIB + 0x110;
	add(&m, &at, 11);
	read_made(&m);
	is_str(m.stacks.buf, "main;start;work;work 1\nmain;work;work 1\n",
	       "a frame that is no longer the outermost has its caller");
	end(&m);
}

/* Two stacks of the same frames, but for a word outside them, which decides the caller of one. */
static void test_outside(void)
{
	static const struct {
		const char *where;
		uint64_t function;
		size_t word;
	} t[] = {{"above all frames", LIB + 0x220, 7}, {"below the frame", LIB + 0x320, 0}};

	for (size_t i = 0; i < ARRAY_LEN(t); i++) {
		struct thread_at at = in_lib();
		struct made m;

		start(&m, BP | SP | IP, true);
		pf_mmap2(&m.perf, 7, LIB, 0x1000, 0x1000, PROT_EXEC, "/lib/libc.so.6", 0);
		m.elf.fd = made_lib("work@1000+40 start@1100+40 odd@1200+40 odd@1300+40");
		at.stack[1] = t[i].function;
		at.stack[5] = LIB + 0x110;
		at.stack[t[i].word] = LIB + 0x110;
		add(&m, &at, 10);
		at.stack[t[i].word] = LIB + 0x20;
		add(&m, &at, 11);
		read_made(&m);
		is_str(m.stacks.buf, "main;start;odd;work 1\nmain;start;work;odd;work 1\n",
		       "a word %s that a rule reads is compared with the stack before", t[i].where);
		end(&m);
	}
}

/* ---- a JVM ---- */

static void compiled(struct str *s, uint64_t start_at, uint16_t flags)
{
	static const uint32_t calls[] = {0x40};
	struct sm_code c = sm_compiled(start_at);

	c.head.flags = flags;
	c.head.call_count = 1;
	c.calls = calls;
	sm_code(s, c);
}

static int made_snapshot(void)
{
	CLEANUP(str_fini) struct str s = {0};

	sm_head(&s, (struct snap_head){.time = 1,
				       .code_low = CODE,
				       .code_high = CODE + 0x10000,
				       .cont_return = CODE + 0x1020,
				       .interpreter_method = -3});
	sm_method(&s, 1, "a.B.run", "");
	compiled(&s, CODE, 0);
	compiled(&s, CODE + 0x200, SNAP_BETWEEN);
	sm_code(&s, (struct sm_code){
			    .head = {.start = CODE + 0x1000, .size = 0x100, .kind = SNAP_STUBS},
			    .name = "StubRoutines (continuationstubs)"});
	sm_done_at(&s, 2);
	return file_of(s.buf, s.len);
}

static void test_jvm(void)
{
	static const struct {
		const char *what;
		uint16_t mode;
		uint64_t ip, caller;
		const char *want;
		uint64_t between, stale, java;
	} t[] = {
		{"frames in the heap are one", PERF_RECORD_MISC_USER, CODE + 0x20, CODE + 0x1020,
		 "main;[frozen frames of a virtual thread];a.B.run 1\n", 1, 0, 1},
		{"code with all its lines is exact", PERF_RECORD_MISC_USER, CODE + 0x220,
		 CODE + 0x1020, "main;[frozen frames of a virtual thread];a.B.run 1\n", 0, 0, 1},
		{"in the kernel the code below is exact", PERF_RECORD_MISC_KERNEL, CODE + 0x20,
		 CODE + 0x1020, "main;[frozen frames of a virtual thread];a.B.run;[kernel] 1\n", 0,
		 0, 1},
		{"code that no snapshot has is stale", PERF_RECORD_MISC_USER, CODE + 0x5000,
		 CODE + 0x1020, "main;[stale] 1\n", 0, 1, 1},
		{"a caller is named by its call", PERF_RECORD_MISC_USER, CODE + 0x20, CODE + 0x40,
		 "main;a.B.run;a.B.run 1\n", 1, 0, 2},
	};

	for (size_t i = 0; i < ARRAY_LEN(t); i++) {
		const struct thread_at at = {.mode = t[i].mode,
					     .ip = t[i].ip,
					     .abi = PERF_SAMPLE_REGS_ABI_64,
					     .regs = {0, STACK, t[i].ip},
					     .reg_count = 3,
					     .stack = {0, 0, 0, t[i].caller},
					     .words = WORDS};
		struct made m;

		start(&m, BP | SP | IP, true);
		m.map.fd = made_snapshot();
		add(&m, &at, 10);
		read_made(&m);
		is_str(m.stacks.buf, t[i].want, "%s", t[i].what);
		is_int(m.quality.between_safepoints, t[i].between,
		       "code that is exact at safepoints is counted");
		is_int(m.quality.stale, t[i].stale, "stale frames are counted");
		is_int(m.quality.java_frames, t[i].java, "Java frames are counted");
		is_int(m.quality.java_samples, 1, "it is a sample of Java code");
		end(&m);
	}
}

int main(void)
{
	test_registers();
	test_no_chain();
	test_library();
	test_truncated();
	test_again();
	test_moved();
	test_outermost();
	test_outside();
	test_jvm();
	return tap_done();
}
