// SPDX-License-Identifier: Apache-2.0
#include "symbols/symbolize.h"

#include <sys/mman.h>

#include "common/fs.h"
#include "lib/perffile.h"
#include "lib/tap.h"
#include "lib/textfile.h"

static const char map_text[] = "7000000 1000 a.B.c\n";
static const char kernel_text[] = "ffffffff81000000 T _stext\nffffffff81001000 T next\n";

static struct perfdata *nothing(struct perffile *f)
{
	struct perf_event_attr a = {.size = sizeof(a), .sample_type = PERF_SAMPLE_IP};
	struct err err;

	pf_start(f, &a, 1);
	return pf_open(f, f->s.len, &err);
}

static void is_frame(const struct stacks *s, uint32_t frame, const char *name, enum frame_kind kind,
		     const char *what)
{
	is_str(stacks_frame(s, frame)->name, name, "%s", what);
	is_int(stacks_frame(s, frame)->kind, kind, "its kind");
}

/* The innermost frame of an address. */
static uint32_t frame_of(struct symbolizer *sy, const struct process *p, uint64_t addr)
{
	const uint32_t *frames;

	symbolize_frames(sy, p, addr, 0, &frames);
	return frames[0];
}

/* The memory for which a map of compiled code is believed. */
static void test_anonymous(struct symbolizer *sy, struct space *sp, struct stacks *s)
{
	static const char *const yes[] = {"//anon", "", "[anon:java]", "/memfd:jit (deleted)",
					  "/anon_hugepage (deleted)"};
	static const char *const no[] = {"/lib/libc.so.6", "[vdso]", "[heap]", "/tmp//anon"};
	struct process *p = space_process(sp, 7);

	p->code = symbolizer_code(sy, 7);
	for (size_t i = 0; i < ARRAY_LEN(yes); i++) {
		space_map(sp, 7, 0x7000000, 0x1000, 0, true, yes[i]);
		is_frame(s, frame_of(sy, p, 0x7000010), "a.B.c", FRAME_JAVA, yes[i]);
	}
	for (size_t i = 0; i < ARRAY_LEN(no); i++) {
		space_map(sp, 7, 0x7000000, 0x1000, 0, true, no[i]);
		ok(stacks_frame(s, frame_of(sy, p, 0x7000010))->kind == FRAME_UNKNOWN, "not in %s",
		   no[i]);
	}
	space_map(sp, 7, 0x7000000, 0x1000, 0, false, "//anon");
	is_frame(s, frame_of(sy, p, 0x7000010), "[anon]", FRAME_UNKNOWN, "not in data");
	space_map(sp, 7, 0x7000000, 0x1000, 0, true, "[vdso]");
	is_frame(s, frame_of(sy, p, 0x7000010), "[vdso]", FRAME_UNKNOWN, "one pair of brackets");
	is_frame(s, frame_of(sy, p, 0x9000010), "[unknown]", FRAME_UNKNOWN, "not mapped");
	is_int(symbolizer_code(sy, 8), 0, "a process without a map");
}

static void test_answers(struct symbolizer *sy, struct space *sp, struct stacks *s)
{
	struct process *p;
	bool same = true;

	space_map(sp, 9, 0x100000, 0x1000000, 0, true, "/lib/a.so");
	p = space_process(sp, 9);
	for (uint64_t a = 0x100000; a < 0x140000; a++)
		same = same && strcmp(stacks_frame(s, frame_of(sy, p, a))->name, "[a.so]") == 0;
	ok(same, "many addresses");
	is_int(frame_of(sy, p, 0x100007), frame_of(sy, p, 0x100007), "the same again");
	space_map(sp, 9, 0x100000, 0x1000, 0, true, "/lib/b.so");
	is_frame(s, frame_of(sy, p, 0x100007), "[b.so]", FRAME_UNKNOWN,
		 "an old answer does not outlive its mapping");
}

static void test_kernel(struct symbolizer *sy, struct space *sp, struct stacks *s)
{
	struct process *k = space_process(sp, SPACE_KERNEL);
	const struct perf_ksymbol bpf = {.addr = 0xffffffff81000100, .len = 16, .name = "bpf"};
	uint32_t frame = symbolize_kernel(sy, k, 0xffffffff81000100);

	is_frame(s, frame, "_stext", FRAME_KERNEL, "a kernel function");
	symbolizer_kernel_change(sy, &bpf);
	space_touch(sp, SPACE_KERNEL);
	is_frame(s, symbolize_kernel(sy, k, 0xffffffff81000100), "bpf", FRAME_KERNEL,
		 "a BPF program");
	is_frame(s, symbolize_kernel(sy, k, 0xfffffffff0000000), "[kernel]", FRAME_UNKNOWN,
		 "nothing known");
}

int main(void)
{
	struct session_map map = {.pid = 7, .fd = file_of(map_text, strlen(map_text))};
	struct recording in = {.perf_fd = -1,
			       .kallsyms_fd = file_of(kernel_text, strlen(kernel_text)),
			       .maps = &map,
			       .map_count = 1};
	struct perffile f;
	struct perfdata *pd = nothing(&f);
	struct space *sp = space_new();
	struct stacks *s = stacks_new();
	struct sources *sources = sources_new(&in);
	struct symbolizer *sy = symbolizer_new(sources, pd, sp, s);

	test_anonymous(sy, sp, s);
	test_answers(sy, sp, s);
	test_kernel(sy, sp, s);
	symbolizer_free(sy);
	sources_free(sources);
	stacks_free(s);
	space_free(sp);
	perfdata_close(pd);
	close(in.kallsyms_fd);
	close(map.fd);
	str_fini(&f.s);
	return tap_done();
}
