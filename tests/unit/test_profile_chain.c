// SPDX-License-Identifier: Apache-2.0
/* Chains of addresses as stacks: contexts, return addresses, threads' names, lost samples. */
#include "profile/read.h"

#include "common/fs.h"
#include "lib/perffile.h"
#include "lib/stackstext.h"
#include "lib/tap.h"

#define TYPE   (PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_CALLCHAIN)
#define USER   ((uint64_t)PERF_CONTEXT_USER)
#define KERNEL ((uint64_t)PERF_CONTEXT_KERNEL)

static const char map_text[] = "1000 10 a.B.one\n1010 10 a.B.two\n1020 10 stub\n";
static const char kernel_text[] = "ffffffff81000000 T first\nffffffff81001000 T second\n";

static void start(struct perffile *f)
{
	struct perf_event_attr a = {.size = sizeof(a), .sample_type = TYPE, .sample_max_stack = 4};

	pf_start(f, &a, 1);
	pf_comm(f, 7, 7, "main one", 0, 0);
	pf_mmap2(f, 7, 0x1000, 0x1000, 0, PROT_EXEC, "//anon", 0);
}

static struct quality read_all(struct perffile *f, size_t parts, struct str *ret)
{
	struct session_map map = {.pid = 7, .fd = file_of(map_text, strlen(map_text))};
	struct recording in = {.maps = &map, .map_count = 1, .parts = parts};
	struct quality q;
	struct profile p;
	struct err err;

	pf_done(f);
	in.perf_fd = file_of(f->s.buf, f->s.len);
	in.kallsyms_fd = file_of(kernel_text, strlen(kernel_text));
	profile_init(&p, false);
	ok(profile_read(&in, &p, &err) == 0, "the recording is read in %zu parts", parts);
	str_clear(ret);
	stacks_text(p.stacks, 0, "", ret);
	q = p.quality;
	profile_fini(&p);
	close(in.perf_fd);
	close(in.kallsyms_fd);
	close(map.fd);
	return q;
}

static void test_chains(void)
{
	static const struct {
		uint64_t chain[6];
		size_t n;
		const char *want, *what;
		uint64_t truncated, unknown;
	} t[] = {
		{{USER, 0x1000}, 2, "main_one;a.B.one 1\n", "one address is one frame", 0, 0},
		{{USER, 0x1000, 0x1010},
		 3,
		 "main_one;a.B.one;a.B.one 1\n",
		 "a caller is named by the byte before",
		 0,
		 0},
		{{USER, 0x1000, 0x1011},
		 3,
		 "main_one;a.B.two;a.B.one 1\n",
		 "the byte before is in the caller",
		 0,
		 0},
		{{USER, 0x1010}, 2, "main_one;a.B.two 1\n", "the leaf is named as it is", 0, 0},
		{{KERNEL, 0xffffffff81001000},
		 2,
		 "main_one;second 1\n",
		 "a kernel's leaf is named as it is",
		 0,
		 0},
		{{KERNEL, 0xffffffff81001000, 0xffffffff81001000},
		 3,
		 "main_one;first;second 1\n",
		 "a kernel's caller is named by the byte before",
		 0,
		 0},
		{{KERNEL, 0xffffffff81000000, USER, 0x1010},
		 4,
		 "main_one;a.B.two;first 1\n",
		 "the first address after a mark is no caller",
		 0,
		 0},
		{{(uint64_t)PERF_CONTEXT_HV, 0x1000},
		 2,
		 "main_one;[unknown] 1\n",
		 "a hypervisor is unknown",
		 0,
		 1},
		{{(uint64_t)PERF_CONTEXT_GUEST, 0x1000},
		 2,
		 "main_one;[unknown] 1\n",
		 "a guest is unknown",
		 0,
		 1},
		{{(uint64_t)PERF_CONTEXT_GUEST_KERNEL, 0x1000},
		 2,
		 "main_one;[unknown] 1\n",
		 "a guest's kernel is unknown",
		 0,
		 1},
		{{(uint64_t)PERF_CONTEXT_GUEST_USER, 0x1000},
		 2,
		 "main_one;[unknown] 1\n",
		 "a guest's program is unknown",
		 0,
		 1},
		{{USER, 0x1000, UINT64_MAX, 0x1011},
		 4,
		 "main_one;a.B.one 1\n",
		 "what is no mark ends the chain",
		 0,
		 0},
		{{USER, 0x1000, 0x1001, 0x1001},
		 4,
		 "main_one;a.B.one;a.B.one;a.B.one 1\n",
		 "a chain shorter than the limit is whole",
		 0,
		 0},
		{{USER, 0x1000, 0x1001, 0x1001, 0x1001},
		 5,
		 "main_one;a.B.one;a.B.one;a.B.one;a.B.one 1\n",
		 "a chain as long as the limit is truncated",
		 1,
		 0},
		{{USER, 0x1000, 0},
		 3,
		 "main_one;[unknown];a.B.one 1\n",
		 "a return to zero is named as it is",
		 0,
		 1},
		{{USER, 0x1020}, 2, "main_one;stub 1\n", "a stub has its name", 0, 0},
	};

	for (size_t i = 0; i < ARRAY_LEN(t); i++) {
		CLEANUP(str_fini) struct str got = {0};
		struct perffile f;
		struct quality q;

		start(&f);
		pf_sample(&f, 7, 7, 10, t[i].chain, t[i].n);
		q = read_all(&f, 1, &got);
		is_str(got.buf, t[i].want, "%s", t[i].what);
		is_int(q.truncated, t[i].truncated, "it is truncated or not");
		is_int(q.frames_unknown, t[i].unknown, "its unknown frames are counted");
		is_int(q.samples, 1, "it is one sample");
		str_fini(&f.s);
	}
}

static void lost(struct perffile *f, uint64_t n)
{
	pf_begin(f, PERF_RECORD_LOST, 0);
	pf_u64(f, 100);
	pf_u64(f, n);
	pf_id(f, 7, 7, 12, 0);
}

/* Any number of parts gives the same. */
static void test_parts(void)
{
	for (size_t parts = 1; parts <= 5; parts++) {
		CLEANUP(str_fini) struct str got = {0};
		struct perffile f;
		struct quality q;

		start(&f);
		lost(&f, 3);
		for (unsigned i = 0; i < 50; i++)
			pf_sample(&f, 7, 7, 10 + i, (const uint64_t[]){USER, 0x1000}, 2);
		lost(&f, 4);
		for (unsigned i = 0; i < 20; i++)
			pf_sample(&f, 9, 9, 90 + i, (const uint64_t[]){USER, 0x1000}, 2);
		q = read_all(&f, parts, &got);
		is_str(got.buf, ":9;[unknown] 20\nmain_one;a.B.one 50\n",
		       "each sample counts once, and a thread without a name has its number");
		is_int(q.samples, 70, "all samples are counted");
		is_int(q.frames, 70, "a thread's own frame is not counted");
		is_int(q.lost, 7, "lost samples are counted once");
		is_int(q.java_samples, 50, "samples of a thread in Java code are counted");
		is_int(q.java_frames, 50, "its Java frames are counted");
		is_int(q.java_complete, 0, "no stack reaches the start of its thread");
		str_fini(&f.s);
	}
}

int main(void)
{
	test_chains();
	test_parts();
	return tap_done();
}
