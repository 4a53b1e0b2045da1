// SPDX-License-Identifier: Apache-2.0
/* From a recording to stacks: recordings made here in memory, and the real ones of
 * tests/golden/perf with the folded text expected of them. */
#include "profile/read.h"

#include <fcntl.h>
#include <sys/mman.h>

#include "common/fs.h"
#include "lib/perffile.h"
#include "lib/snapmake.h"
#include "lib/tap.h"

#define GOLDEN	   "tests/golden/perf/"
#define TYPE_PLAIN (PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_CALLCHAIN)
#define USER	   ((uint64_t)PERF_CONTEXT_USER)
#define KERNEL	   ((uint64_t)PERF_CONTEXT_KERNEL)
#define ADD(f, ...)                                                                                \
	do {                                                                                       \
		const uint64_t chain_[] = {__VA_ARGS__};                                           \
                                                                                                   \
		pf_sample(f, 7, 7, 100, chain_, ARRAY_LEN(chain_));                                \
	} while (0)

/* Folded text, sorted, of a node's stacks. */
static void walk(const struct stacks *s, uint32_t node, struct str *path, struct str *out)
{
	size_t len = path->len;

	if (stacks_node(s, node)->self)
		str_addf(out, "%s %llu\n", path->buf,
			 (unsigned long long)stacks_node(s, node)->self);
	for (uint32_t n = stacks_node(s, node)->first; n; n = stacks_node(s, n)->next) {
		const struct frame *f = stacks_frame(s, stacks_node(s, n)->frame);

		str_addf(path, "%s%s%s", len ? ";" : "", f->name, frame_suffix(f->kind));
		walk(s, n, path, out);
		path->len = len;
		path->buf[len] = '\0';
	}
}

static void fold(const struct stacks *s, struct str *ret)
{
	CLEANUP(str_fini) struct str path = {0};

	str_adds(ret, "");
	walk(s, 0, &path, ret);
}

/* With places and samples kept, the same comes out. */
static void check_details(const struct recording *in, const char *folded)
{
	CLEANUP(free) uint32_t *nodes = NULL;
	CLEANUP(str_fini) struct str again = {0};
	struct stacks *plain;
	struct profile p;
	struct err err;
	uint64_t last = 0;
	bool good = true;

	profile_init(&p, true);
	samples_add_origin(p.samples, &(struct origin){"web", "0123", "", "", "", ""});
	ok(profile_read(in, &p, &err) == 0, "read with details");
	plain = stacks_plain(p.stacks, &nodes);
	stacks_sort(plain);
	fold(plain, &again);
	is_str(again.buf, folded, "the same without the places");
	is_int(p.samples->count, p.quality.samples, "all samples");
	for (size_t i = 0; i < p.samples->count; i++) {
		const struct sample *x = &p.samples->list[i];

		good = good && x->time >= last && x->node < stacks_node_count(p.stacks) &&
		       stacks_node(p.stacks, x->node)->self &&
		       nodes[x->node] < stacks_node_count(plain) &&
		       x->thread < p.samples->thread_count;
		last = x->time;
	}
	ok(good, "in the order of time, each with its node and thread");
	stacks_free(plain);
	profile_fini(&p);
}

static void read_once(const struct recording *in, struct str *ret, struct quality *q, uint64_t *cut)
{
	struct profile p;
	struct err err = {0};

	profile_init(&p, false);
	ok(profile_read(in, &p, &err) == 0, "read %s", err.msg);
	stacks_sort(p.stacks);
	fold(p.stacks, ret);
	*q = p.quality;
	*cut = p.cut;
	profile_fini(&p);
}

/* However many threads read it, each sample counts once, and is what it is. */
static void check_parts(struct recording in, const char *folded, const struct quality *want,
			uint64_t want_cut)
{
	for (in.parts = 2; in.parts < 20; in.parts = in.parts * 2 + 1) {
		CLEANUP(str_fini) struct str got = {0};
		struct quality q;
		uint64_t cut;

		read_once(&in, &got, &q, &cut);
		is_str(got.buf, folded, "the same in %zu parts", in.parts);
		ok(!memcmp(&q, want, sizeof(q)) && cut == want_cut, "and of the same quality");
		check_details(&in, folded);
	}
}

static void read_folded(const struct recording *in, struct str *ret, struct quality *q,
			uint64_t *cut)
{
	read_once(in, ret, q, cut);
	check_details(in, ret->buf);
	check_parts(*in, ret->buf, q, *cut);
}

static void golden(const char *name, const char *elf_path, pid_t java, const char *quality)
{
	CLEANUP(str_fini) struct str want = {0}, got = {0};
	CLEANUP(free) char *data = xasprintf(GOLDEN "%s.data", name);
	CLEANUP(free) char *folded = xasprintf(GOLDEN "%s.folded", name);
	CLEANUP(free) char *code = xasprintf(GOLDEN "%s.map", name);
	CLEANUP(free) char *figures = NULL;
	struct session_elf elf = {
		.path = elf_path, .fd = open(GOLDEN "spin", O_RDONLY), .debug_fd = -1};
	struct session_map map = {.pid = java, .fd = open(code, O_RDONLY)};
	struct recording in = {.perf_fd = open(data, O_RDONLY),
			       .kallsyms_fd = open(GOLDEN "kallsyms", O_RDONLY),
			       .maps = &map,
			       .map_count = java != 0,
			       .elfs = &elf,
			       .elf_count = 1};
	struct quality q;
	struct err err;
	uint64_t cut;

	read_folded(&in, &got, &q, &cut);
	ok(fs_read_file(AT_FDCWD, folded, 1 << 20, &want, &err) == 0, "%s", folded);
	is_str(got.buf, want.buf, "%s", name);
	figures =
		xasprintf("samples %llu lost %llu java %llu complete %llu frames %llu unknown %llu "
			  "truncated %llu cut %llu",
			  (unsigned long long)q.samples, (unsigned long long)q.lost,
			  (unsigned long long)q.java_samples, (unsigned long long)q.java_complete,
			  (unsigned long long)q.frames, (unsigned long long)q.frames_unknown,
			  (unsigned long long)q.truncated, (unsigned long long)cut);
	is_str(figures, quality, "its quality");
	close(in.perf_fd);
	close(in.kallsyms_fd);
	close(map.fd);
	close(elf.fd);
}

/* A JVM: anonymous code at 7f..., libc at 5000, one more file. */
static void start_jvm(struct perffile *f)
{
	struct perf_event_attr a = {.size = sizeof(a),
				    .sample_type = TYPE_PLAIN,
				    .sample_id_all = 1,
				    .sample_max_stack = 6};

	pf_start(f, &a, 1);
	pf_comm(f, 7, 7, "java main", 0, 0);
	pf_mmap2(f, 7, 0x7000000, 0x10000, 0, PROT_EXEC, "//anon", 0);
	pf_mmap2(f, 7, 0x8000000, 0x10000, 0, PROT_READ, "//anon", 0);
	pf_mmap2(f, 7, 0x50000, 0x10000, 0, PROT_EXEC, "/lib/libc.so.6", 0);
	pf_mmap2(f, 7, 0x70000, 0x10000, 0, PROT_EXEC, "/opt/x;y/lib\nz.so (deleted)", 0);
}

static const char jvm_map[] = "7000000 100 a.B.one\n"
			      "7000100 100 a.B.two\n"
			      "7001000 100 Interpreter\n"
			      "7002000 100 StubRoutines (1)\n"
			      "7003000 100 evil;\033[31m.name\n"
			      "8000000 100 not.executable\n"
			      "50000 10000 forged.libc\n";

static void read_jvm(struct perffile *f, struct recording in, struct str *ret, struct quality *q)
{
	struct session_map map = {.pid = 7, .fd = file_of(jvm_map, strlen(jvm_map))};
	uint64_t cut;

	pf_done(f);
	in.perf_fd = file_of(f->s.buf, f->s.len);
	in.kallsyms_fd = -1;
	in.maps = &map;
	in.map_count = 1;
	read_folded(&in, ret, q, &cut);
	close(in.perf_fd);
	close(map.fd);
	str_fini(&f->s);
}

static void test_names(void)
{
	CLEANUP(str_fini) struct str got = {0};
	struct perffile f;
	struct quality q;

	start_jvm(&f);
	ADD(&f, USER, 0x7000010, 0x7001010, 0x7002010, 0x51000);
	ADD(&f, USER, 0x7000100, 0x7000100);	 /* a leaf, and a return after the last call */
	ADD(&f, USER, 0x7003000, 0x8000001);	 /* a hostile name; memory that is not code */
	ADD(&f, USER, 0x700f000, 0x71001, 0x10); /* code without a name, a file, nothing */
	ADD(&f, KERNEL, 0xffffffff81000000, USER, 0x51001);
	ADD(&f, USER, 0x51001, UINT64_MAX, 0x51000); /* what is no return address */
	ADD(&f, USER, 0x7000010, 0x7000011, 0x7000012, 0x7000013, 0x7000014, 0x51000);
	read_jvm(&f, (struct recording){0}, &got, &q);
	is_str(got.buf,
	       "java_main;[anon];evil:?[31m.name_[j] 1\n"
	       "java_main;[libc.so.6] 1\n"
	       "java_main;[libc.so.6];StubRoutines (1);Interpreter_[0];a.B.one_[j] 1\n"
	       "java_main;[libc.so.6];[kernel] 1\n"
	       "java_main;[libc.so.6];a.B.one_[j];a.B.one_[j];a.B.one_[j];a.B.one_[j];a.B.one_[j] "
	       "1\n"
	       "java_main;[unknown];[lib?z.so];[anon] 1\n"
	       "java_main;a.B.one_[j];a.B.two_[j] 1\n",
	       "names");
	is_int(q.samples, 7, "samples");
	is_int(q.java_samples, 7, "all of a thread that runs code of the JVM");
	is_int(q.java_complete, 2, "that begin in the C library");
	is_int(q.truncated, 1, "as many frames as the recording can have");
	is_int(q.frames_unknown, 9, "frames without a name");
}

static void add_as(struct perffile *f, uint32_t pid, uint64_t time, uint64_t addr)
{
	pf_sample(f, pid, pid, time, (const uint64_t[]){USER, addr}, 2);
}

/* Children have their parent's code until they execute something; of a recording of the whole
 * machine only the container's processes count. */
static void test_processes(void)
{
	static const struct session_process only[] = {{.pid = 7}};
	CLEANUP(str_fini) struct str got = {0};
	struct perffile f;
	struct quality q;

	start_jvm(&f);
	pf_comm(&f, 5, 5, "stranger", 0, 0);
	pf_mmap2(&f, 5, 0x7000000, 0x10000, 0, PROT_EXEC, "//anon", 0);
	add_as(&f, 7, 10, 0x7000010);
	add_as(&f, 5, 11, 0x7000010);
	pf_fork(&f, 8, 7, 8, 7, 12);
	add_as(&f, 8, 13, 0x7000110);
	pf_comm(&f, 8, 8, "sh", PERF_RECORD_MISC_COMM_EXEC, 14);
	pf_mmap2(&f, 8, 0x7000000, 0x10000, 0, PROT_EXEC, "//anon", 15);
	add_as(&f, 8, 16, 0x7000110);
	pf_fork(&f, 9, 5, 9, 5, 17);
	add_as(&f, 9, 18, 0x7000010);
	pf_comm(&f, 7, 7, "java again", PERF_RECORD_MISC_COMM_EXEC, 19);
	pf_mmap2(&f, 7, 0x7000000, 0x10000, 0, PROT_EXEC, "", 20);
	add_as(&f, 7, 21, 0x7000010);
	read_jvm(&f,
		 (struct recording){.processes = only, .process_count = 1, .only_processes = true},
		 &got, &q);
	is_str(got.buf,
	       "java_again;a.B.one_[j] 1\n"
	       "java_main;a.B.one_[j] 1\n"
	       "java_main;a.B.two_[j] 1\n"
	       "sh;[anon] 1\n",
	       "one process and its children");
	is_int(q.samples, 4, "samples of others are not counted");
	is_int(q.java_samples, 3, "nor is a child without code of the JVM");
}

/* The same path in two containers is two files. */
static void test_roots(void)
{
	static const struct session_process processes[] = {{.pid = 7, .root = 1},
							   {.pid = 9, .root = 2}};
	struct session_elf elfs[] = {{.root = 1,
				      .path = "/opt/app",
				      .fd = open(GOLDEN "spin", O_RDONLY),
				      .debug_fd = -1}};
	struct recording in = {
		.processes = processes, .process_count = 2, .elfs = elfs, .elf_count = 1};
	CLEANUP(str_fini) struct str got = {0};
	struct perffile f;
	struct quality q;

	start_jvm(&f);
	pf_mmap2(&f, 7, 0x401000, 0x1000, 0x1000, PROT_EXEC, "/opt/app", 0);
	pf_mmap2(&f, 9, 0x401000, 0x1000, 0x1000, PROT_EXEC, "/opt/app", 0);
	pf_comm(&f, 9, 9, "other", 0, 0);
	add_as(&f, 7, 10, 0x401010);
	add_as(&f, 9, 11, 0x401010);
	pf_fork(&f, 10, 7, 10, 7, 12);
	add_as(&f, 10, 13, 0x401011);
	read_jvm(&f, in, &got, &q);
	is_str(got.buf, "java_main;spin 2\nother;[app] 1\n", "each container has its own files");
	close(elfs[0].fd);
}

static void test_forged_lost(void)
{
	struct recording in = {.kallsyms_fd = -1};
	CLEANUP(str_fini) struct str got = {0};
	struct perffile f;
	struct quality q;
	uint64_t cut;

	start_jvm(&f);
	for (int i = 0; i < 2; i++) {
		pf_begin(&f, PERF_RECORD_LOST, 0);
		pf_u64(&f, 100);
		pf_u64(&f, UINT64_MAX - 5);
		pf_id(&f, 7, 7, 12, 0);
	}
	pf_done(&f);
	in.perf_fd = file_of(f.s.buf, f.s.len);
	read_folded(&in, &got, &q, &cut);
	is_int(q.lost, COUNT_MAX, "impossible counts of lost samples do not wrap around");
	close(in.perf_fd);
	str_fini(&f.s);
}

static void test_snapshots(void)
{
	static const char first[] = "7000000 100 old.one\n7000100 100 old.two\n";
	static const char second[] = "7000000 100 new.one\n";
	struct session_map maps[] = {{.pid = 7, .order = 2, .fd = file_of(second, strlen(second))},
				     {.pid = 7, .order = 1, .fd = file_of(first, strlen(first))}};
	struct recording in = {.kallsyms_fd = -1, .maps = maps, .map_count = 2};
	CLEANUP(str_fini) struct str got = {0};
	struct perffile f;
	struct quality q;
	uint64_t cut;

	start_jvm(&f);
	add_as(&f, 7, 10, 0x7000010);
	add_as(&f, 7, 11, 0x7000110);
	pf_begin(&f, PERF_RECORD_LOST, 0);
	pf_u64(&f, 100);
	pf_u64(&f, 17);
	pf_id(&f, 7, 7, 12, 0);
	add_as(&f, 7, 13, 0x7000110);
	pf_done(&f);
	in.perf_fd = file_of(f.s.buf, f.s.len - 9);
	read_folded(&in, &got, &q, &cut);
	is_str(got.buf, "java_main;new.one_[j] 1\njava_main;old.two_[j] 1\n", "the later map wins");
	is_int(q.lost, 17, "lost samples");
	ok(cut > 9 && q.samples == 2, "the sample that is cut off is left out (%llu bytes)",
	   (unsigned long long)cut);
	close(in.perf_fd);
	close(maps[0].fd);
	close(maps[1].fd);
	str_fini(&f.s);
}

/* Inlined methods make more frames of a chain than a sample has room for. */
static void test_deep(void)
{
	static const struct snap_scope scopes[] = {{.method = 1, .parent = SNAP_NONE},
						   {.method = 2, .parent = 0},
						   {.method = 2, .parent = 1},
						   {.method = 2, .parent = 2}};
	static const struct snap_region region = {.end = 0x100, .scope = 3};
	static uint64_t chain[4001] = {USER};
	struct perf_event_attr a = {
		.size = sizeof(a), .sample_type = TYPE_PLAIN, .sample_max_stack = 8000};
	CLEANUP(str_fini) struct str snapshot = {0};
	struct session_map map = {.pid = 7};
	struct recording in = {.kallsyms_fd = -1, .maps = &map, .map_count = 1, .parts = 1};
	struct perffile f;
	struct quality q;
	struct profile p;
	struct err err = {0};
	uint32_t root;

	sm_head(&snapshot, (struct snap_head){.code_low = 0x7000000, .code_high = 0x7010000});
	sm_method(&snapshot, 1, "a.B.outer", "");
	sm_method(&snapshot, 2, "a.B.inlined", "");
	sm_code(&snapshot, (struct sm_code){.head = {.start = 0x7000000,
						     .size = 0x100,
						     .kind = SNAP_COMPILED,
						     .method = 1,
						     .region_count = 1,
						     .scope_count = ARRAY_LEN(scopes)},
					    .scopes = scopes,
					    .regions = &region});
	sm_done(&snapshot);
	for (size_t i = 1; i < ARRAY_LEN(chain); i++)
		chain[i] = 0x7000010;
	pf_start(&f, &a, 1);
	pf_comm(&f, 7, 7, "java main", 0, 0);
	pf_mmap2(&f, 7, 0x7000000, 0x10000, 0, PROT_EXEC, "//anon", 0);
	pf_sample(&f, 7, 7, 10, chain, ARRAY_LEN(chain));
	pf_done(&f);
	in.perf_fd = file_of(f.s.buf, f.s.len);
	map.fd = file_of(snapshot.buf, snapshot.len);
	profile_init(&p, false);
	ok(profile_read(&in, &p, &err) == 0, "a stack over the limit of frames is read: %s",
	   err.msg);
	root = stacks_node(p.stacks, 0)->first;
	is_str(root ? stacks_frame(p.stacks, stacks_node(p.stacks, root)->frame)->name : "",
	       "java_main", "its root is the thread");
	q = p.quality;
	ok(q.frames > 8000 && q.frames < 16000, "the innermost frames are kept: %llu",
	   (unsigned long long)q.frames);
	is_int(q.truncated, 1, "the sample counts as truncated");
	is_int(q.java_complete, 0, "the sample does not count as complete");
	profile_fini(&p);
	close(in.perf_fd);
	close(map.fd);
	str_fini(&f.s);
}

/* A BPF program that comes and goes. */
static void ksymbol(struct perffile *f, uint16_t flags, uint64_t time)
{
	pf_begin(f, PERF_RECORD_KSYMBOL, 0);
	pf_u64(f, 0xffffffffc0000000);
	pf_u32(f, 64);
	pf_u16(f, 1);
	pf_u16(f, flags);
	pf_text(f, "bpf_prog");
	pf_id(f, 0, 0, time, 0);
}

static void test_kernel(void)
{
	CLEANUP(str_fini) struct str got = {0};
	const uint64_t chain[] = {KERNEL, 0xffffffffc0000010};
	struct perffile f;
	struct quality q;

	start_jvm(&f);
	pf_mmap2(&f, (uint32_t)-1, 0xffffffffa0000000, 0x1000, 0, PROT_EXEC, "[mod]", 0);
	pf_sample(&f, 7, 7, 10, chain, 2);
	ksymbol(&f, 0, 11);
	pf_sample(&f, 7, 7, 12, chain, 2);
	ksymbol(&f, PERF_RECORD_KSYMBOL_FLAGS_UNREGISTER, 13);
	pf_sample(&f, 7, 7, 14, chain, 2);
	pf_sample(&f, 7, 7, 15, (const uint64_t[]){KERNEL, 0xffffffffa0000010}, 2);
	read_jvm(&f, (struct recording){0}, &got, &q);
	is_str(got.buf, "java_main;[kernel] 2\njava_main;[mod] 1\njava_main;bpf_prog_[k] 1\n",
	       "a BPF program while it is there, a module without symbols");
	is_int(q.frames_unknown, 3, "frames without a name");
}

static void test_refused(void)
{
	struct recording in = {.perf_fd = file_of("no recording", 12), .kallsyms_fd = -1};
	struct profile p;
	struct err err = {0};

	profile_init(&p, false);
	is_int(profile_read(&in, &p, &err), -1, "no recording");
	is_str(err.msg, "not a perf.data file", "and why");
	close(in.perf_fd);
	profile_fini(&p);
}

int main(void)
{
	test_names();
	test_processes();
	test_roots();
	test_snapshots();
	test_deep();
	test_forged_lost();
	test_kernel();
	test_refused();
	golden("fork", "/tmp/spin", 0,
	       "samples 61 lost 0 java 0 complete 0 frames 281 unknown 0 truncated 0 cut 0");
	golden("dwarf", "/tmp/spin", 0,
	       "samples 14 lost 0 java 0 complete 0 frames 65 unknown 0 truncated 0 cut 0");
	golden("java", "", 31158,
	       "samples 291 lost 0 java 291 complete 289 frames 6047 unknown 2108 truncated 0 cut "
	       "0");
	golden("vm", "", 7763,
	       "samples 22 lost 0 java 22 complete 13 frames 291 unknown 115 truncated 9 cut 0");
	return tap_done();
}
