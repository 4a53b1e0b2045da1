// SPDX-License-Identifier: Apache-2.0
/* Frames of a JVM that has snapshots, of the files it maps, and the store they come from. */
#include "symbols/symbolize.h"

#include <fcntl.h>
#include <sys/mman.h>

#include "common/fs.h"
#include "lib/elfmake.h"
#include "lib/perffile.h"
#include "lib/snapmake.h"
#include "lib/tap.h"
#include "lib/textfile.h"

#define JVM   7
#define OTHER 8

static const char map_text[] = "7008000 100 map.Text.line\n7020000 100 map.Text.outside\n";
static const char old_text[] = "7008000 100 map.Old.line\n7008100 100 map.Old.rest\n";
static const char dump_text[] = "7008000 200 dump.Of.agent\n";

static struct sources *sources;
static struct symbolizer *sy;
static struct space *space;
static struct stacks *stacks;

static void thread(struct str *s, uint32_t tid, const char *name)
{
	struct snap_thread t = {
		.record = {.type = SNAP_THREAD}, .tid = tid, .name_len = (uint32_t)strlen(name)};
	size_t at = s->len;

	str_add(s, &t, sizeof(t));
	str_adds(s, name);
	sm_end(s, at);
}

static void compiled(struct str *s, uint64_t start, uint64_t method, uint16_t flags)
{
	static const struct snap_scope scopes[] = {{.method = 1, .line = 11, .parent = SNAP_NONE},
						   {.method = 2, .line = 22, .parent = 0},
						   {.method = 9, .line = -3, .parent = 0}};
	static const struct snap_region regions[] = {{.end = 16, .scope = 1},
						     {.end = 32, .scope = 2}};

	sm_code(s, (struct sm_code){.head = {.start = start,
					     .size = 0x100,
					     .kind = SNAP_COMPILED,
					     .level = 4,
					     .flags = flags,
					     .method = method,
					     .region_count = 2,
					     .scope_count = 3},
				    .scopes = scopes,
				    .regions = regions});
}

static void blob(struct str *s, uint64_t start, uint32_t kind, const char *name)
{
	sm_code(s, (struct sm_code){.head = {.start = start, .size = 0x100, .kind = kind},
				    .name = name});
}

static void make(struct str *s)
{
	sm_head(s, (struct snap_head){.time = 100,
				      .flags = SNAP_METHODS_COMPLETE,
				      .code_low = 0x7000000,
				      .code_high = 0x7010000});
	sm_method(s, 1, "a.B.outer", "B.java");
	sm_method(s, 2, "a.B.inlined", "B.java");
	sm_method(s, 5, "a.B.loop;", "B.java");
	compiled(s, 0x7000000, 1, 0);
	compiled(s, 0x7000100, 4, SNAP_BETWEEN);
	blob(s, 0x7001000, SNAP_INTERPRETER, "Interpreter");
	blob(s, 0x7002000, SNAP_STUBS, "StubRoutines;");
	blob(s, 0x7003000, SNAP_NATIVE, "native");
	sm_stub(s, 0x7001010, 16, "in_interpreter");
	sm_stub(s, 0x7002000, 16, "call;stub");
	sm_stub(s, 0x70020f0, 16, "last");
	sm_stub(s, 0x7002ff8, 16, "across");
	sm_stub(s, 0x70030f8, 16, "beyond");
	thread(s, 1, "main thread");
	sm_done_at(s, 110);
	sm_head(s, (struct snap_head){.time = 200,
				      .flags = SNAP_METHODS_NAMED | SNAP_DELTA,
				      .code_low = 0x7000000,
				      .code_high = 0x7010000});
	compiled(s, 0x7004000, 1, 0);
	sm_method(s, 5, "a.B.other", "B.java");
	blob(s, 0x7000000, SNAP_STUBS, "replaced");
	sm_done_at(s, 210);
}

static void is_frame(uint32_t frame, const char *name, enum frame_kind kind, const char *what)
{
	is_str(stacks_frame(stacks, frame)->name, name, "%s", what);
	is_int(stacks_frame(stacks, frame)->kind, kind, "its kind is right, too");
}

static uint32_t frame_at(pid_t pid, uint64_t addr, uint64_t time)
{
	const uint32_t *frames;

	symbolize_frames(sy, space_process(space, pid), addr, time, &frames);
	return frames[0];
}

static void test_code(void)
{
	static const struct {
		uint64_t addr, time;
		const char *name;
		enum frame_kind kind;
		const char *what;
	} t[] = {
		{0x7000100, 50, "a.B.inlined", FRAME_INLINED, "what is inlined comes first"},
		{0x7000080, 50, "a.B.outer", FRAME_JAVA, "outside of all regions is the method"},
		{0x7000111, 50, "[unknown]", FRAME_UNKNOWN, "a scope without a method is unknown"},
		{0x7000180, 50, "[unknown]", FRAME_UNKNOWN, "a method without a record is unknown"},
		{0x7001000, 50, "Interpreter", FRAME_INTERPRETED, "the interpreter is one"},
		{0x7001018, 50, "Interpreter", FRAME_INTERPRETED, "no stub is in the interpreter"},
		{0x7002008, 50, "call:stub", FRAME_STUB, "a stub has its own name"},
		{0x7002010, 50, "StubRoutines:", FRAME_STUB, "between stubs is their blob"},
		{0x70020f8, 50, "last", FRAME_STUB, "a stub may end with its blob"},
		{0x7003000, 50, "native", FRAME_STUB, "no stub begins before its blob"},
		{0x70030fc, 50, "native", FRAME_STUB, "no stub ends after its blob"},
		{0x7008000, 50, "map.Text.line", FRAME_JAVA, "a later map has what no code has"},
		{0x7008100, 50, "map.Old.rest", FRAME_JAVA, "an earlier map has the rest"},
		{0x7008200, 50, "[stale]", FRAME_UNKNOWN, "the code cache has what is unknown"},
		{0x700ffff, 50, "[stale]", FRAME_UNKNOWN, "the last byte is in the code cache"},
		{0x6ffffff, 50, "[anon]", FRAME_UNKNOWN, "before the code cache is memory"},
		{0x7010000, 50, "[anon]", FRAME_UNKNOWN, "after the code cache is memory"},
		{0x7020000, 50, "map.Text.outside", FRAME_JAVA, "a map counts outside of it, too"},
		{0x7000000, 150, "[stale]", FRAME_UNKNOWN, "what differs around a time is stale"},
		{0x7000000, 250, "replaced", FRAME_STUB, "what replaces a code has its own name"},
		{0x7000080, 50, "a.B.outer", FRAME_JAVA, "an earlier time has the earlier code"},
		{0x7004080, 250, "a.B.outer", FRAME_JAVA, "a later code has the same method"},
	};
	static const uint64_t single[] = {0x7001000, 0x7002008, 0x7002010, 0x7003000,
					  0x7008000, 0x7008200, 0x7010000};
	const uint32_t *frames;

	for (size_t i = 0; i < ARRAY_LEN(t); i++) {
		is_frame(frame_at(JVM, t[i].addr, t[i].time), t[i].name, t[i].kind, t[i].what);
		is_frame(frame_at(JVM, t[i].addr, t[i].time), t[i].name, t[i].kind,
			 "the second time it is the same");
	}
	for (size_t i = 0; i < ARRAY_LEN(single); i++)
		is_int(symbolize_frames(sy, space_process(space, JVM), single[i], 50, &frames), 1,
		       "what is no compiled method is one frame");
	is_frame(frame_at(OTHER, 0x7000080, 50), "[anon]", FRAME_UNKNOWN,
		 "another process has no code");
}

static void test_inlined(void)
{
	const struct process *p = space_process(space, JVM);
	const struct snapfile *sf = symbolizer_snapshot(sy, p);
	const struct snapfile_code *c[SNAPFILE_AROUND];
	const uint32_t *frames;
	uint32_t id = 0;

	is_int(symbolize_frames(sy, p, 0x7000008, 50, &frames), 2, "two methods are two frames");
	is_frame(frames[0], "a.B.inlined", FRAME_INLINED, "the innermost is inlined");
	is_frame(frames[1], "a.B.outer", FRAME_JAVA, "the outermost is the method");
	is_int(stacks_frame(stacks, frames[0])->line, 22, "the innermost has its line");
	is_int(stacks_frame(stacks, frames[1])->line, 11, "the outermost has its line");
	is_int(stacks_frame(stacks, frames[1])->level, 4, "it has its level");
	is_int(symbolize_frames(sy, p, 0x7000018, 50, &frames), 2, "an unknown one is a frame");
	is_int(stacks_frame(stacks, frames[0])->line, 0, "a line below zero is none");
	is_int(symbolize_frames(sy, p, 0x7000080, 50, &frames), 1, "no scope is one frame");
	is_int(stacks_frame(stacks, frames[0])->line, 0, "without a scope there is no line");
	is_int(snapfile_find(sf, 0x7000008, snapfile_around(sf, 50), c), 1, "the code is found");
	is_int(symbolize_code(sy, p, c[0], 0x7000008, &id, &frames), 2, "a known code is named");
	is_frame(frames[0], "a.B.inlined", FRAME_INLINED, "its frames are the same");
	ok(symbolize_is_between(sy, p, 0x7000008, 50), "compiled code is exact at safepoints");
	ok(!symbolize_is_between(sy, p, 0x7000108, 50), "code with all its regions is exact");
	ok(!symbolize_is_between(sy, p, 0x7002008, 50), "a stub is exact");
	ok(!symbolize_is_between(sy, p, 0x7009000, 50), "no code is exact");
	ok(!symbolize_is_between(sy, p, 0x7000008, 150), "what is ambiguous is no such code");
	ok(!symbolize_is_between(sy, space_process(space, OTHER), 0x7000008, 50),
	   "a process without snapshots has no such code");
}

static void test_methods(void)
{
	const struct process *p = space_process(space, JVM);
	const struct snapfile *sf = symbolizer_snapshot(sy, p);
	struct snapfile_span first = snapfile_around(sf, 50), both = snapfile_around(sf, 150);

	ok(!symbolizer_snapshot(sy, space_process(space, OTHER)), "another process has none");
	is_frame(symbolize_method(sy, p, 1, first), "a.B.outer", FRAME_INTERPRETED,
		 "an interpreted method has its name");
	is_frame(symbolize_method(sy, p, 5, first), "a.B.loop:", FRAME_INTERPRETED,
		 "its name is made clean");
	is_frame(symbolize_method(sy, p, 0, first), "Interpreter", FRAME_INTERPRETED,
		 "no method is the interpreter");
	is_frame(symbolize_method(sy, p, 5, both), "[stale]", FRAME_UNKNOWN,
		 "a method with two names is stale");
	is_frame(symbolize_method(sy, p, 66, first), "[stale]", FRAME_UNKNOWN,
		 "a method that is not there is stale where all are known");
	is_int(symbolizer_stale(sy), symbolize_method(sy, p, 66, first), "it is that frame");
}

static void test_files(void)
{
	struct process *p = space_process(space, JVM);
	struct cfi *cfi = NULL;
	uint64_t offset = 0;

	space_map(space, JVM, 0x100000, 0x1000, 0x1000, true, "/lib/libmade.so");
	space_map(space, JVM, 0x200000, 0x1000, 0x1000, true, "/lib/libjvm.so");
	space_map(space, JVM, 0x300000, 0x1000, 0x1000, true, "/lib/libjvm.so.1");
	space_map(space, JVM, 0x400000, 0x1000, 0x2000, false, "/lib/libmade.so");
	p->root = 1;
	is_frame(symbolize_native(sy, p, 0x100010), "one", FRAME_NATIVE, "a function has its name");
	is_frame(symbolize_native(sy, p, 0x10001f), "one", FRAME_NATIVE, "so has its last byte");
	is_frame(symbolize_native(sy, p, 0x100210), "[libmade.so+0x1200]", FRAME_NATIVE,
		 "without a symbol it has the start of the function");
	is_frame(symbolize_native(sy, p, 0x100800), "[libmade.so]", FRAME_UNKNOWN,
		 "without a function it has the name of the file");
	is_frame(symbolize_native(sy, p, 0x200010), "one", FRAME_JVM, "libjvm's are the JVM's");
	is_frame(symbolize_native(sy, p, 0x300010), "[libjvm.so.1]", FRAME_UNKNOWN,
		 "a file that is not in the recording has no names");
	is_str(frames_module(stacks_frames(stacks),
			     stacks_frame(stacks, symbolize_native(sy, p, 0x100010))->module),
	       "/lib/libmade.so", "a frame has its module");
	is_int(stacks_frame(stacks, symbolize_native(sy, p, 0x100010))->line, 0,
	       "a function of a file has no line");
	ok(symbolizer_native(sy, p, 0x100010, &cfi, &offset) && cfi, "a file has call frames");
	is_int(offset, 0x1010, "the offset counts from the mapping's");
	ok(symbolizer_native(sy, p, 0x300010, &cfi, &offset) && !cfi, "no file has no call frames");
	ok(symbolizer_native(sy, p, 0x7000010, &cfi, &offset) && !cfi, "memory has no call frames");
	ok(!symbolizer_native(sy, p, 0x400010, &cfi, &offset), "data is not executed");
	ok(!symbolizer_native(sy, p, 0x900010, &cfi, &offset),
	   "what is not mapped is not executed");
	p->root = 2;
	p->generation += 1000;
	is_frame(symbolize_native(sy, p, 0x100010), "[libmade.so]", FRAME_UNKNOWN,
		 "the path in another root is another file");
}

static void test_store(const struct recording *in)
{
	struct elf_symbol s;
	size_t len = 0;
	const char *name;

	ok(sources_input(sources) == in, "the store has its recording");
	ok(!sources_kallsyms(sources), "without a copy there are no kernel symbols");
	is_int(sources_jvm_count(sources), 2, "each process with a map is one JVM");
	is_int(sources_jvm(sources, JVM), 1, "JVMs are numbered from one on");
	is_int(sources_jvm(sources, 21), 2, "the second JVM is the next");
	is_int(sources_jvm(sources, OTHER), 0, "a process without a map is none");
	ok(sources_code(sources, 1) == sources_code(sources, 1), "code is loaded once");
	ok(sources_code(sources, 1)->snapshot && !sources_code(sources, 2)->snapshot,
	   "a JVM with a text has no snapshot");
	ok(sources_elf(sources, 0) && sources_elf(sources, 0) == sources_elf(sources, 0),
	   "a file is loaded once");
	ok(elfsym_find(sources_elf(sources, 0), 0x1010, &s), "its symbols are found");
	ok(!sources_elf(sources, 2), "a file that cannot be read has no symbols");
	name = sources_thread_name(sources, JVM, 70, &len);
	ok(name && len == 11 && memcmp(name, "main thread", len) == 0, "a thread has Java's name");
	ok(!sources_thread_name(sources, JVM, 71, &len), "a thread that Java has not has none");
	ok(!sources_thread_name(sources, JVM, 72, &len), "an unknown thread has none");
	ok(!sources_thread_name(sources, JVM, 1, &len), "a thread before all has none");
	ok(!sources_thread_name(sources, 21, 70, &len), "a JVM without snapshots has no names");
	ok(!sources_thread_name(sources, OTHER, 70, &len), "a process that is no JVM has none");
}

static int made_elf(void)
{
	static const uint32_t starts[] = {0x1010, 0x1200};
	CLEANUP(str_fini) struct str file = {0};
	struct elfmake m;

	elfmake_start(&m);
	elfmake_symbols(&m, SHT_SYMTAB, "one@1010+10");
	elfmake_starts(&m, starts, 2, 2);
	elfmake_end(&m, &file);
	while (file.len < 0x3000)
		str_addc(&file, 0);
	return file_of(file.buf, file.len);
}

static struct perfdata *nothing(struct perffile *f)
{
	struct perf_event_attr a = {.size = sizeof(a), .sample_type = PERF_SAMPLE_IP};
	struct err err;

	pf_start(f, &a, 1);
	return pf_open(f, f->s.len, &err);
}

static void start(const struct recording *in, const struct perfdata *pd)
{
	static const pid_t pids[] = {JVM, OTHER};

	space = space_new();
	stacks = stacks_new();
	frames_keep_places(stacks_frames(stacks));
	sources = sources_new(in);
	sy = symbolizer_new(sources, pd, space, stacks);
	for (size_t i = 0; i < ARRAY_LEN(pids); i++) {
		space_map(space, pids[i], 0x6000000, 0x2000000, 0, true, "//anon");
		space_process(space, pids[i])->code = symbolizer_code(sy, pids[i]);
	}
}

int main(void)
{
	CLEANUP(str_fini) struct str s = {0};
	CLEANUP(close_fd) int elf = made_elf();
	struct session_map maps[] = {
		{.pid = JVM, .order = 3, .fd = file_of(map_text, strlen(map_text))},
		{.pid = JVM, .order = 1, .fd = file_of(old_text, strlen(old_text))},
		{.pid = JVM, .order = 2, .fd = -1},
		{.pid = JVM,
		 .order = 4,
		 .name = (char[]){AGENT_MAP "7"},
		 .fd = file_of(dump_text, strlen(dump_text))},
		{.pid = 21, .order = 1, .fd = file_of(old_text, strlen(old_text))}};
	const struct session_elf elfs[] = {
		{.root = 1, .path = "/lib/libmade.so", .fd = elf, .debug_fd = -1},
		{.root = 1, .path = "/lib/libjvm.so", .fd = elf, .debug_fd = -1},
		{.root = 1, .path = "/lib/text", .fd = maps[0].fd, .debug_fd = -1}};
	static const struct session_thread threads[] = {{.pid = JVM, .tid = 71, .nstid = 2},
							{.pid = JVM, .tid = 70, .nstid = 1},
							{.pid = 21, .tid = 70, .nstid = 1},
							{.pid = OTHER, .tid = 70, .nstid = 1}};
	const struct recording in = {.perf_fd = -1,
				     .kallsyms_fd = -1,
				     .maps = maps,
				     .map_count = ARRAY_LEN(maps),
				     .elfs = elfs,
				     .elf_count = ARRAY_LEN(elfs),
				     .threads = threads,
				     .thread_count = ARRAY_LEN(threads)};
	struct perffile f;
	struct perfdata *pd = nothing(&f);

	make(&s);
	maps[2].fd = file_of(s.buf, s.len);
	start(&in, pd);
	test_code();
	test_inlined();
	test_methods();
	test_files();
	test_store(&in);
	symbolizer_free(sy);
	symbolizer_free(NULL);
	sources_free(sources);
	stacks_free(stacks);
	space_free(space);
	perfdata_close(pd);
	str_fini(&f.s);
	for (size_t i = 0; i < ARRAY_LEN(maps); i++)
		close(maps[i].fd);
	return tap_done();
}
