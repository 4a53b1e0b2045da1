// SPDX-License-Identifier: Apache-2.0
/* From inputs to files: what inputs are, how the sandbox gets and merges them, and what is drawn.
 */
#include "report/render.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include "common/fs.h"
#include "lib/jfrmake.h"
#include "lib/perffile.h"
#include "lib/printed.h"
#include "lib/sessionmake.h"
#include "lib/snapmake.h"
#include "lib/tap.h"
#include "report/merge.h"

static char dir[] = "/tmp/dfg-inputs.XXXXXX";

/* The path of a file in `dir`; owned by the caller. */
static char *at(const char *name)
{
	return xasprintf("%s/%s", dir, name);
}

static void write_bytes(const char *path, const void *p, size_t len)
{
	CLEANUP(close_fd) int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
	struct err err;

	if (fd < 0 || fs_write_all(fd, p, len, &err) < 0)
		abort();
}

/* Writes a file in `dir` and adds it. */
static void add_text(struct inputs *in, const char *name, const char *text)
{
	CLEANUP(free) char *path = at(name);
	struct err err;

	write_bytes(path, text, strlen(text));
	if (inputs_add(in, path, &err) < 0)
		abort();
}

static char *content_of(const char *path)
{
	CLEANUP(close_fd) int fd = open(path, O_RDONLY | O_CLOEXEC);

	return fd < 0 ? NULL : drawn_text(fd);
}

/* ---- a session --------------------------------------------------------------------------- */

/* Two samples of a thread of process 10, at addresses that nothing is known of. */
static void write_perf_data(const char *path)
{
	static const uint64_t chain[] = {PERF_CONTEXT_USER, 0x1000, 0x2000};
	struct perf_event_attr attr = {.size = sizeof(attr),
				       .sample_type = PERF_SAMPLE_IP | PERF_SAMPLE_TID |
						      PERF_SAMPLE_TIME | PERF_SAMPLE_CALLCHAIN,
				       .sample_id_all = 1};
	struct perffile f;

	pf_start(&f, &attr, 1);
	pf_comm(&f, 10, 10, "worker", 0, 1);
	pf_sample(&f, 10, 10, 5, chain, 3);
	pf_sample(&f, 10, 10, 6, chain, 3);
	pf_done(&f);
	write_bytes(path, f.s.buf, f.s.len);
	str_fini(&f.s);
}

/* A snapshot with one piece of code of that name. */
static void write_snapshot(struct session *s, pid_t pid, const char *stub)
{
	CLEANUP(str_fini) struct str snap = {0};
	struct err err;
	int fd = session_add_map(s, pid, &err);

	sm_head(&snap, (struct snap_head){.time = 1});
	sm_code(&snap, (struct sm_code){.head = {.start = 0x7000, .size = 32, .kind = SNAP_STUBS},
					.name = stub});
	sm_done(&snap);
	if (fd < 0 || fs_write_all(fd, snap.buf, snap.len, &err) < 0)
		abort();
	close(fd);
}

/* render into a directory by its path. */
static int render_at(const struct inputs *in, unsigned roots, const struct format_set *formats,
		     const char *path, struct render_result *ret, struct err *err)
{
	CLEANUP(outdir_close) struct outdir out = {0};

	return outdir_open(path, 0755, &out, err) < 0 ? -1
						      : render(in, roots, formats, &out, ret, err);
}

/* Makes DIR/NAME/session, as dfg-trigger does. */
static void make_session(const char *name, const char *container, unsigned frequency,
			 const char *stub)
{
	CLEANUP(free) char *graphs = at(name);
	CLEANUP(free) char *path = xasprintf("%s/session", graphs);
	CLEANUP(free) char *data = xasprintf("%s/perf.data", path);
	struct session s;
	struct err err;

	if (mkdir(graphs, 0755) < 0 || sessionmake(path, &s, &err) < 0)
		abort();
	session_set_container(&s, "0123456789abcdef", container, "", "", "db1");
	s.started = xstrdup("2026-11-21T10:00:00Z");
	s.frequency = frequency;
	s.duration = 1.5;
	s.jvms = xcalloc(2, sizeof(*s.jvms));
	s.jvm_count = s.jvm_cap = 2;
	s.jvms[0] = (struct session_jvm){.pid = 10, .version = "21.0.8"};
	s.jvms[1] = (struct session_jvm){.pid = 11};
	write_snapshot(&s, 10, stub);
	write_snapshot(&s, 11, "other_stub");
	write_snapshot(&s, 10, "later_stub");
	write_perf_data(data);
	if (session_write(&s, &err) < 0)
		abort();
	session_fini(&s);
}

/* ---- the list ---------------------------------------------------------------------------- */

static void test_list(void)
{
	CLEANUP(inputs_fini) struct inputs in = {0};
	CLEANUP(free) char *graphs = at("web");
	CLEANUP(free) char *session = at("web/session");
	CLEANUP(free) char *nowhere = at("nowhere");
	CLEANUP(free) char *want = xasprintf("open %s: No such file or directory", nowhere);
	struct stat st;
	struct err err;

	ok(inputs_add(&in, nowhere, &err) == -1 && in.count == 0, "a missing path is no input");
	is_str(err.msg, want, "the error names the path that is missing");
	ok(inputs_add(&in, graphs, &err) == 0, "a directory with a session is an input");
	ok(inputs_add(&in, session, &err) == 0, "a session directory is an input");
	ok(inputs_add(&in, dir, &err) == -1 && in.count == 2, "another directory is none");
	add_text(&in, "odd\nname", "a 1\n");
	is_int(in.count, 3, "a file is an input");
	ok(strstr(in.list[2].path, "/odd?name"), "a path in messages is clean");
	is_int(in.list[2].size, 4, "the size of a file is known");
	ok(!input_session(&in.list[2]), "a file has no session");
	is_str(input_name(&in.list[2]), in.list[2].path, "a file goes by its path");
	is_str(input_name(&in.list[0]), "web", "a session goes by its container");
	is_str(input_session(&in.list[0])->dir, session, "the session below is the one opened");
	ok(input_session(&in.list[0])->dirfd == -1 && input_session(&in.list[0])->mapsfd == -1 &&
		   input_session(&in.list[0])->elffd == -1,
	   "no directory of an input is kept open");
	ok(stat(session, &st) == 0 && in.list[1].size > 512 && in.list[1].size < 4096,
	   "the size of a session is that of its recording");
	inputs_add_session(&in, input_session(&in.list[1]));
	is_int(in.list[3].size, in.list[1].size, "a session of the caller has the same size");
	is_str(in.list[3].path, session, "a session of the caller goes by its directory");
	in.list[3].session = NULL;
}

static void test_titles(void)
{
	CLEANUP(inputs_fini) struct inputs in = {0};
	CLEANUP(free) char *graphs = at("web");
	struct err err;
	char *text;

	add_text(&in, "a.txt", "a 1\n");
	ok(inputs_add(&in, graphs, &err) == 0, "the session is opened");
	text = input_title(&in.list[0]);
	is_str(text, in.list[0].path, "the title of a file is its path");
	free(text);
	text = input_subtitle(&in.list[0]);
	is_str(text, "", "a file has no subtitle");
	free(text);
	text = input_title(&in.list[1]);
	is_str(text, "web: 1.5 s at 99 Hz", "the title of a session has time and frequency");
	free(text);
	text = input_subtitle(&in.list[1]);
	is_str(text, "0123456789ab · 2026-11-21T10:00:00Z · JVM 10 Java 21.0.8 · JVM 11",
	       "the subtitle has the id's first twelve digits, the start and the JVMs");
	free(text);
}

static void test_files(void)
{
	CLEANUP(inputs_fini) struct inputs in = {0};
	CLEANUP(input_close) struct open_input o = {0};
	struct session_elf elf = {
		.name = (char *)"none", .debug = (char *)"neither", .fd = 3, .debug_fd = 3};
	struct session_process process = {.pid = 10};
	CLEANUP(free) char *graphs = at("web");
	CLEANUP(free) char *said = NULL;
	CLEANUP(free) char *want = NULL;
	struct session *s;
	struct catcher c;
	struct err err;
	int rc, fds[3];

	ok(inputs_add(&in, graphs, &err) == 0, "the session is opened");
	s = &in.list[0].own;
	s->elfs = &elf;
	s->elf_count = 1;
	s->processes = &process;
	s->process_count = 1;
	s->whole_machine = true;
	input_prepare(&in.list[0], &o);
	is_int(o.fd_count, 7, "a recording, kallsyms, three maps and a file with its symbols");
	is_int(o.recording.map_count, 3, "the recording has the maps");
	is_int(o.recording.elf_count, 1, "the recording has the copied files");
	is_int(o.recording.maps[2].pid, 10, "a map has its process");
	ok(o.elfs[0].fd == -1 && o.elfs[0].debug_fd == -1 && o.maps[0].fd == -1,
	   "nothing is open yet");
	ok(o.recording.only_processes, "of the whole machine only the known processes count");
	c = catch_begin(stderr, STDERR_FILENO);
	rc = input_open(&in.list[0], &o, &err);
	said = caught(&c);
	is_int(rc, 0, "a session without some of its files opens");
	want = xasprintf(
		"dfg: warning: %s: 2 files cannot be opened, their code will have no names: "
		"open none: No such file or directory\n",
		s->dir);
	is_str(said, want, "one warning counts the files and names the first");
	ok(o.recording.perf_fd >= 0 && o.maps[0].fd >= 0 && o.maps[2].fd >= 0,
	   "the recording and the maps are open");
	ok(o.recording.kallsyms_fd == -1 && o.elfs[0].fd == -1, "what is missing is not");
	fds[0] = o.recording.perf_fd;
	fds[1] = o.maps[0].fd;
	fds[2] = o.maps[2].fd;
	input_close(&o);
	ok(fcntl(fds[0], F_GETFD) == -1 && fcntl(fds[1], F_GETFD) == -1 &&
		   fcntl(fds[2], F_GETFD) == -1,
	   "all files of a closed input are closed");
	s->whole_machine = false;
	input_prepare(&in.list[0], &o);
	ok(!o.recording.only_processes, "of a container all processes count");
	s->elfs = NULL;
	s->elf_count = 0;
	s->processes = NULL;
	s->process_count = 0;
}

/* ---- reading in the sandbox -------------------------------------------------------------- */

struct merged {
	uint64_t samples, unrated, skipped, cut;
	size_t maps, open_maps;
};

struct wanted {
	unsigned roots;
	bool details;
	int fd; /* for the folded text: the sandbox opens nothing */
};

static int merge_all(struct reading *r, void *arg, void *reply, struct err *err)
{
	const struct wanted *w = arg;
	struct merged *ret = reply;
	struct gathered g;
	int rc = gather(r, reading_inputs(r)->count, w->roots, w->details, &g, err);

	ret->samples = g.profile.quality.samples;
	ret->unrated = g.profile.quality.unrated;
	ret->skipped = g.skipped;
	ret->cut = g.profile.cut;
	if (rc == 0) {
		stacks_sort(g.rooted ? g.rooted : g.profile.stacks);
		rc = draw_folded(g.rooted ? g.rooted : g.profile.stacks, w->fd, err);
	}
	gathered_fini(&g);
	return rc;
}

static struct merged merged;
static char *folded; /* the stacks that were merged last */

static int merge(const struct inputs *in, unsigned roots, bool details, struct err *err)
{
	CLEANUP(close_fd) int fd = memfd_create("folded", MFD_CLOEXEC);
	struct wanted w = {.roots = roots, .details = details, .fd = fd};
	const struct reading_job job = {
		.fn = merge_all, .arg = &w, .outputs = &fd, .output_count = 1};
	int rc;

	merged = (struct merged){0};
	rc = reading_run(in, &job, &merged, sizeof(merged), err);
	free(folded);
	folded = drawn_text(fd);
	return rc;
}

static void test_merge(void)
{
	CLEANUP(inputs_fini) struct inputs in = {0};
	CLEANUP(free) char *want = NULL;
	CLEANUP(free) char *graphs = at("web");
	struct err err;

	add_text(&in, "one;two", "t;f_[j];g 2\nbad\nt;[unknown] 1\n");
	is_int(merge(&in, ROOT_THREAD, false, &err), 0, "one file is read");
	is_str(folded, "t;[unknown] 1\nt;f_[j];g 2\n", "threads are the roots");
	is_int(merged.skipped, 1, "a line that cannot be read is counted");
	is_int(merged.unrated, 3, "samples of text are of unknown quality");
	is_int(merge(&in, ROOT_NONE, false, &err), 0, "a file is read without roots");
	is_str(folded, "[unknown] 1\nf_[j];g 2\n", "no thread is left");
	is_int(merge(&in, ROOT_CONTAINER, false, &err), 0, "a file is read with one root");
	want = xasprintf("%s/one:two;[unknown] 1\n%s/one:two;f_[j];g 2\n", dir, dir);
	is_str(folded, want, "the input is the root, with no character that divides");
	is_int(merge(&in, ROOT_CONTAINER, true, &err), 0, "details do not change the roots");
	is_str(folded, want, "the rooted stacks stand beside those with details");
	is_int(merged.samples, 3, "samples with details are counted once");
	ok(inputs_add(&in, graphs, &err) == 0, "a session comes with the file");
	is_int(merge(&in, ROOT_CONTAINER | ROOT_THREAD, true, &err), 0, "both are read");
	free(want);
	want = xasprintf("%s/one:two;t;[unknown] 1\n%s/one:two;t;f_[j];g 2\n"
			 "web;worker;[unknown];[unknown] 2\n",
			 dir, dir);
	is_str(folded, want, "a session's root is its container");
	is_int(merged.samples, 5, "the samples of both are counted");
	is_int(merged.unrated, 3, "those of the recording have a quality");
}

/* Of text, a native function with "::" is of the JVM; merged with text, that of a recording is. */
static void test_kinds(void)
{
	CLEANUP(inputs_fini) struct inputs in = {0};
	struct err err;

	add_text(&in, "a", "t;f 1\n");
	add_text(&in, "b", "t;f 2\nt;f_[k] 4\n");
	is_int(merge(&in, ROOT_THREAD, false, &err), 0, "two files are read");
	is_str(folded, "t;f 3\nt;f_[k] 4\n", "equal frames of two files are one");
}

static void check_refused(const char *name, const void *p, size_t len, const char *why)
{
	CLEANUP(inputs_fini) struct inputs in = {0};
	CLEANUP(free) char *path = at(name);
	CLEANUP(free) char *want = xasprintf("%s: %s", path, why);
	struct err err = {0};

	write_bytes(path, p, len);
	ok(inputs_add(&in, path, &err) == 0 && merge(&in, ROOT_THREAD, false, &err) == -1,
	   "%s is refused", name);
	is_str(err.msg, want, "the error says what is wrong with it");
}

static void test_refused(void)
{
	static const char neither[] = "not folded text, pprof or JFR, and no session directory";
	char binary[5000];

	check_refused("a text without a count", "hello\n", 6, neither);
	check_refused("a text with a zero", "t;a 1\n\0b 2\n", 11, neither);
	memset(binary, '\n', sizeof(binary));
	memcpy(binary, "t;a 1\n", 6);
	binary[4095] = '\0';
	check_refused("a zero in the first 4096 bytes", binary, sizeof(binary), neither);
	check_refused("damaged gzip", "\x1f\x8b nothing", 10, "damaged gzip data: data error");
}

/* An input with a kind of event that it does not have, and one with it. */
static void test_events(void)
{
	CLEANUP(inputs_fini) struct inputs in = {0};
	CLEANUP(free) char *path = at("flight.jfr");
	CLEANUP(free) char *title = NULL;
	CLEANUP(str_fini) struct str others = {0};
	struct jm m = {0};
	struct err err = {0};

	ok(event_parse("alloc", &in.event, &err) == 0 && in.event == EVENT_ALLOC,
	   "a kind of event has a name");
	ok(event_parse("Alloc", &in.event, &err) < 0, "others are refused");
	is_str(err.msg, "--event Alloc: must be cpu, native, wall, alloc, lock, safepoint, "
				"compile, deopt or perf",
	       "it lists them");
	jm_example(&m);
	write_bytes(path, m.s.buf, m.s.len);
	ok(inputs_add(&in, path, &err) == 0 && merge(&in, ROOT_THREAD, false, &err) == 0,
	   "a JFR recording is read");
	title = input_title(&in.list[0]);
	ok(has_suffix(title, "/flight.jfr: allocated bytes"), "its title says what is counted");
	events_add_others((const uint64_t[EVENT_KINDS]){3, 0, 0, 1, 2}, EVENT_ALLOC, &others);
	is_str(others.buf, "3 cpu, 2 lock", "the other kinds are listed");
	str_fini(&m.s);
}

/* Writes the profile that is left of an event's recording. */
static void write_profile(const struct session *s, enum session_event event, const char *stacks)
{
	const struct outdir own = {.fd = s->dirfd, .path = s->dir};
	struct format_set tree = {
		.list = {&format_tree}, .count = 1, .tree_dir = &own, .tree = session_tree(event)};
	CLEANUP(inputs_fini) struct inputs in = {0};
	struct render_result ignored;
	struct err err;

	add_text(&in, "stacks", stacks);
	if (render(&in, ROOT_THREAD, &tree, &own, &ignored, &err) < 0)
		abort();
}

/* Makes a session of these events without a recording. */
static void make_stripped(const char *name, unsigned events)
{
	static const char *const stacks[SESSION_EVENTS] = {"t;busy 3\n", "t;full;byte[] 4096\n"};
	CLEANUP(free) char *path = at(name);
	struct session s;
	struct err err;

	make_session(name, name, 99, "stub");
	if (session_open(path, &s, &err) < 0)
		abort();
	s.events = events;
	for (unsigned i = 0; i < SESSION_EVENTS; i++)
		if (events & 1u << i)
			write_profile(&s, i, stacks[i]);
	if (session_strip(&s, &err) < 0)
		abort();
	session_fini(&s);
}

/* What is read of a session for an event; "": nothing, and the error says why. */
static const char *read_event(const char *name, enum event_kind event, char **ret_title,
			      struct err *err)
{
	CLEANUP(inputs_fini) struct inputs in = {.event = event};
	CLEANUP(free) char *path = at(name);
	CLEANUP(free)
	char *tree = xasprintf("%s/session/tree%s", path, event == EVENT_ALLOC ? "-alloc" : "");
	struct stat st;

	*err = (struct err){0};
	*ret_title = NULL;
	if (inputs_add(&in, path, err) < 0)
		return "";
	*ret_title = input_title(&in.list[0]);
	ok(stat(tree, &st) == 0 && in.list[0].size == (uint64_t)st.st_size,
	   "its size is that of the profile");
	ok((input_busy(&in, 0) > 0) == (event == EVENT_CPU),
	   "only of the processor's time it is known how much one thread can have");
	return merge(&in, ROOT_THREAD, false, err) < 0 ? "" : folded;
}

static void test_session_events(void)
{
	static const struct {
		const char *session;
		enum event_kind event;
		const char *stacks, *title; /* title NULL: what the error ends with */
	} rows[] = {
		{"both", EVENT_CPU, "t;busy 3\n", "both: 1.5 s at 99 Hz"},
		{"both", EVENT_ALLOC, "t;full;byte[] 4096\n", "both: allocated bytes in 1.5 s"},
		{"cpu", EVENT_CPU, "t;busy 3\n", "cpu: 1.5 s at 99 Hz"},
		{"alloc", EVENT_ALLOC, "t;full;byte[] 4096\n", "alloc: allocated bytes in 1.5 s"},
		{"cpu", EVENT_ALLOC, "", NULL},
		{"alloc", EVENT_CPU, "", NULL},
		{"both", EVENT_LOCK, "", NULL},
	};

	make_stripped("both", 1u << SESSION_CPU | 1u << SESSION_ALLOC);
	make_stripped("cpu", 1u << SESSION_CPU);
	make_stripped("alloc", 1u << SESSION_ALLOC);
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		CLEANUP(free) char *path = at(rows[i].session), *title = NULL;
		CLEANUP(free)
		char *why =
			xasprintf("%s: has no events %s", path, event_names[rows[i].event].name);
		struct err err;

		is_str(read_event(rows[i].session, rows[i].event, &title, &err), rows[i].stacks,
		       "session %s, event %s", rows[i].session, event_names[rows[i].event].name);
		is_str(title, rows[i].title, "its title says what is counted");
		is_str(err.msg, rows[i].title ? "" : why, "what is missing is said");
	}
}

static void test_accepted(void)
{
	CLEANUP(inputs_fini) struct inputs in = {0};
	CLEANUP(free) char *path = at("late");
	char late[5000];
	struct err err;

	memset(late, '\n', sizeof(late));
	memcpy(late, "t;a 1\n", 6);
	late[4096] = '\0';
	write_bytes(path, late, sizeof(late));
	ok(inputs_add(&in, path, &err) == 0 && merge(&in, ROOT_THREAD, false, &err) == 0,
	   "a zero after 4096 bytes is a bad line only");
	is_int(merged.skipped, 1, "the bad line is counted");
	inputs_fini(&in);
	add_text(&in, "empty", "");
	ok(merge(&in, ROOT_THREAD, false, &err) == 0 && merged.samples == 0,
	   "an empty file has no samples");
}

static void test_gone(void)
{
	CLEANUP(inputs_fini) struct inputs in = {0};
	CLEANUP(free) char *want = NULL;
	CLEANUP(free) char *graphs = at("lost");
	CLEANUP(free) char *data = at("lost/session/perf.data");
	struct err err = {0};

	add_text(&in, "gone", "t;a 1\n");
	unlink(in.list[0].file);
	is_int(merge(&in, ROOT_THREAD, false, &err), -1, "a file that went is an error");
	want = xasprintf("%s: open %s: No such file or directory", in.list[0].path,
			 in.list[0].path);
	is_str(err.msg, want, "the opener's error arrives");
	inputs_fini(&in);
	make_session("lost", "lost", 99, "stub");
	ok(inputs_add(&in, graphs, &err) == 0 && unlink(data) == 0, "a recording went");
	is_int(merge(&in, ROOT_THREAD, false, &err), -1, "a session without it is an error");
	is_int(in.list[0].size > 0, 1, "its size was known");
	ok(inputs_add(&in, graphs, &err) == 0 && in.list[1].size == 0,
	   "a session without a recording has no size");
	free(want);
	want = xasprintf("%s: %s/session: open perf.data: No such file or directory", graphs,
			 graphs);
	is_str(err.msg, want, "the error names the session and the file");
}

static void check_first(void *reply)
{
	*(int *)reply += 1000;
}

static int read_too_many(struct reading *r, void *arg, void *reply, struct err *err)
{
	struct open_input files;
	int *ret = reply;

	(void)arg;
	ret[0] = (int)reading_at(r);
	if (reading_files(r, &files, err) < 0)
		return -1;
	ret[1] = files.recording.perf_fd >= 0;
	ret[2] = (int)reading_at(r);
	input_close(&files);
	ret[3] = reading_files(r, &files, err);
	input_close(&files);
	ret[4] = !strcmp(err->msg, "no input is left");
	return 0;
}

static void test_no_more(void)
{
	CLEANUP(inputs_fini) struct inputs in = {0};
	int got[5] = {9, 9, 9, 9, 9};
	struct err err;

	add_text(&in, "single", "t;a 1\n");
	is_int(reading_run(&in, &(struct reading_job){.fn = read_too_many, .check = check_first},
			   got, sizeof(got), &err),
	       0, "a reply can be checked");
	is_int(got[0], 1000, "before it is used");
	is_int(reading_run(&in, &(struct reading_job){.fn = read_too_many}, got, sizeof(got), &err),
	       0, "a reader may ask for too much");
	is_int(got[0], 0, "it begins with the first input");
	is_int(got[1], 1, "the file of the first is open");
	is_int(got[2], 1, "the next one is counted");
	is_int(got[3], -1, "after the last there is none");
	is_int(got[4], 1, "the error says so");
}

static int count_maps(struct reading *r, void *arg, void *reply, struct err *err)
{
	CLEANUP(input_close) struct open_input files = {0};
	struct merged *ret = reply;

	(void)arg;
	if (reading_files(r, &files, err) < 0)
		return -1;
	ret->maps = files.recording.map_count;
	for (size_t i = 0; i < ret->maps; i++) {
		char first = 0;

		/* Each third is missing; the others begin with the letter of their number. */
		if (files.maps[i].fd >= 0 && pread(files.maps[i].fd, &first, 1, 0) == 1 &&
		    first == (char)('a' + i % 26))
			ret->open_maps++;
	}
	return 0;
}

/* More files than one message can hand over, some of them missing. */
static void test_many_files(void)
{
	CLEANUP(inputs_fini) struct inputs in = {0};
	CLEANUP(free) char *graphs = at("many");
	CLEANUP(free) char *maps = at("many/session/maps");
	CLEANUP(free) char *said = NULL;
	struct session *s;
	struct catcher c;
	struct err err;
	int rc;

	make_session("many", "many", 99, "stub");
	if (!ok(inputs_add(&in, graphs, &err) == 0, "a session is opened"))
		return;
	s = &in.list[0].own;
	for (size_t i = 0; i < s->map_count; i++)
		free(s->maps[i].name);
	s->map_count = 0;
	for (unsigned i = 0; i < 600; i++) {
		CLEANUP(free) char *name = xasprintf("m%u", i);
		CLEANUP(free) char *path = xasprintf("%s/%s", maps, name);

		session_register_map(s, 10, name);
		if (i % 3)
			write_bytes(path, &(char){(char)('a' + i % 26)}, 1);
	}
	c = catch_begin(stderr, STDERR_FILENO);
	rc = reading_run(&in, &(struct reading_job){.fn = count_maps}, &merged, sizeof(merged),
			 &err);
	said = caught(&c);
	is_int(rc, 0, "600 files are handed over");
	ok(strstr(said, ": 200 files cannot be opened, "), "those that are missing are counted");
	is_int(merged.maps, 600, "the reader knows all of them");
	is_int(merged.open_maps, 400, "each that is there arrives at its own place");
}

/* ---- drawing ----------------------------------------------------------------------------- */

static void formats_of(struct format_set *ret, const char *list)
{
	struct err err;

	if (formats_parse(list, ret, &err) < 0)
		abort();
}

static char *drawn_file(const char *name)
{
	CLEANUP(free) char *path = at(name);

	return content_of(path);
}

static void test_render(void)
{
	CLEANUP(inputs_fini) struct inputs in = {0};
	CLEANUP(free) char *out = at("out/deep");
	CLEANUP(free) char *text = NULL;
	CLEANUP(free) char *json = NULL;
	CLEANUP(free) char *graphs = at("web");
	struct render_result r;
	struct format_set set;
	struct err err;

	add_text(&in, "hot", "t;a;b 5\nt;c;b 4\nt;a 8\nbad\n");
	formats_of(&set, "folded,json");
	is_int(render_at(&in, ROOT_NONE, &set, out, &r, &err), 0, "two formats are drawn");
	is_str(r.leaf, "b", "the hottest leaf is that of all its places");
	is_int(r.leaf_self, 9, "its samples are those of all its places");
	is_str(r.path, "a", "the hottest stack is one stack");
	is_int(r.path_self, 8, "with its own samples");
	is_int(r.skipped, 1, "lines that were left out are counted");
	is_int(r.quality.samples, 17, "the quality is returned");
	text = drawn_file("out/deep/flame.folded");
	is_str(text, "a 8\na;b 5\nc;b 4\n", "a format without details has the roots asked for");
	json = drawn_file("out/deep/flame.json");
	ok(json && strstr(json, "\"name\":\"t\",\"kind\":\"thread\""),
	   "a format with details keeps the threads");
	ok(json && strstr(json, "\"frequency\":0,\"duration\":0"), "a file has no frequency");
	inputs_fini(&in);
	ok(inputs_add(&in, graphs, &err) == 0 &&
		   render_at(&in, ROOT_THREAD, &set, out, &r, &err) == 0,
	   "a session is drawn");
	free(json);
	json = drawn_file("out/deep/flame.json");
	ok(json && strstr(json, "\"title\":\"web: 1.5 s at 99 Hz\",\"subtitle\":\"0123456789ab · "),
	   "a picture of one input has its title and subtitle");
	ok(json && strstr(json, "\"frequency\":99,\"duration\":1.5"),
	   "a picture of one session has its frequency and duration");
	is_str(r.leaf, "[unknown]", "the leaf of a session is found");
	is_str(r.path, "worker;[unknown];[unknown]", "the path of a session is found");
}

/* Draws the inputs as JSON; the title and subtitle, "title\nsubtitle\nfrequency". */
static char *head_of(const struct inputs *in)
{
	CLEANUP(free) char *out = at("heads");
	CLEANUP(free) char *json = NULL;
	struct render_result r;
	struct format_set set;
	struct err err = {0};
	char *end;

	formats_of(&set, "json");
	if (render_at(in, ROOT_THREAD, &set, out, &r, &err) < 0)
		return xstrdup(err.msg);
	json = drawn_file("heads/flame.json");
	end = strstr(json, ",\"samples\":");
	return end ? xstrndup(json + strlen("{\"format\":\"dfg-tree\",\"version\":1,\n"),
			      (size_t)(end - json) -
				      strlen("{\"format\":\"dfg-tree\",\"version\":1,\n"))
		   : xstrdup(json);
}

static void check_head(const struct inputs *in, const char *want, const char *name)
{
	CLEANUP(free) char *got = head_of(in);

	is_str(got, want, "%s", name);
}

static void add_session(struct inputs *in, const char *name)
{
	CLEANUP(free) char *path = at(name);
	struct err err;

	if (inputs_add(in, path, &err) < 0)
		abort();
}

static void test_heads(void)
{
	CLEANUP(inputs_fini) struct inputs in = {0};
	CLEANUP(free) char *want = NULL;

	make_session("db", "db", 99, "db_stub");
	make_session("fast", "fast", 999, "fast_stub");
	add_session(&in, "web");
	add_session(&in, "web");
	check_head(&in,
		   "\"title\":\"web: 2 recordings\",\"subtitle\":\"web\",\"frequency\":99,"
		   "\"duration\":0",
		   "two recordings of one container have its name, and no common duration");
	add_session(&in, "db");
	check_head(&in,
		   "\"title\":\"3 recordings of 2 containers\",\"subtitle\":\"web, db\","
		   "\"frequency\":99,\"duration\":0",
		   "recordings of two containers have both names, each once");
	add_session(&in, "fast");
	check_head(&in,
		   "\"title\":\"4 recordings of 3 containers\",\"subtitle\":\"web, db, fast\","
		   "\"frequency\":0,\"duration\":0",
		   "different frequencies are none");
	inputs_fini(&in);
	add_session(&in, "web");
	add_text(&in, "x.txt", "t;a 1\n");
	want = xasprintf("\"title\":\"2 recordings of 2 containers\",\"subtitle\":\"web, %s\","
			 "\"frequency\":0,\"duration\":0",
			 in.list[1].path);
	check_head(&in, want, "a file has no frequency in common with a session");
}

/* Names are listed until there are 120 bytes of them. */
static void test_long_subtitle(void)
{
	CLEANUP(inputs_fini) struct inputs in = {0};
	CLEANUP(str_fini) struct str want = {0};
	size_t len = 0;

	for (unsigned i = 0; i < 9; i++) {
		char name[] = "a-name-of-thirty-characters-0";

		name[sizeof(name) - 2] = (char)('0' + i);
		add_text(&in, name, "t;a 1\n");
	}
	str_adds(&want, "\"title\":\"9 recordings of 9 containers\",\"subtitle\":\"");
	for (size_t i = 0; i < 9 && len < 120; i++) {
		str_addf(&want, "%s%s", i ? ", " : "", in.list[i].path);
		len += (i ? 2 : 0) + strlen(in.list[i].path);
	}
	str_adds(&want, ", …\",\"frequency\":0,\"duration\":0");
	check_head(&in, want.buf, "a long list of names ends with dots");
}

/* A stack of `n` frames of ten bytes below a thread. */
static void check_path(size_t n, size_t shown, const char *name)
{
	CLEANUP(inputs_fini) struct inputs in = {0};
	CLEANUP(str_fini) struct str text = {0};
	CLEANUP(str_fini) struct str want = {0};
	CLEANUP(free) char *out = at("paths");
	struct render_result r;
	struct format_set set;
	struct err err;

	str_adds(&text, "t");
	for (size_t i = 0; i < n; i++)
		str_addf(&text, ";frame%05zu", i);
	str_add(&want, text.buf, shown < n ? strlen("t;frame00000") : text.len);
	if (shown < n) {
		str_adds(&want, ";...");
		for (size_t i = n - shown; i < n; i++)
			str_addf(&want, ";frame%05zu", i);
	}
	str_adds(&text, " 1\n");
	add_text(&in, "path", text.buf);
	formats_of(&set, "folded");
	ok(render_at(&in, ROOT_THREAD, &set, out, &r, &err) == 0 && !strcmp(r.path, want.buf), "%s",
	   name);
}

static void test_paths(void)
{
	check_path(1, 1, "a path of two frames is whole");
	/* "t;frame00000" and eleven bytes each; the room of ";..." is always kept. */
	check_path(185, 185, "a path of 2036 bytes is whole");
	check_path(186, 184, "of a longer one the outermost two and the innermost are shown");
	check_path(500, 184, "however long it is");
}

/* The room is 2047 bytes, of which ";..." and a zero are kept free. */
static void test_path_room(void)
{
	static const struct {
		size_t middle;
		const char *tail, *cut;
	} t[] = {{2039, "", NULL},
		 {2040, "", "t;a;..."},
		 {2040, ";b;c", "t;a;...;b;c"},
		 {3000, ";b;cc;d", "t;a;...;b;cc;d"}};

	for (size_t i = 0; i < ARRAY_LEN(t); i++) {
		CLEANUP(inputs_fini) struct inputs in = {0};
		CLEANUP(str_fini) struct str text = {0};
		CLEANUP(str_fini) struct str whole = {0};
		CLEANUP(free) char *out = at("room.out");
		struct render_result r;
		struct format_set set;
		struct err err;

		str_adds(&whole, "t;a;");
		for (size_t k = 0; k < t[i].middle; k++)
			str_addc(&whole, 'x');
		str_adds(&whole, t[i].tail);
		str_addf(&text, "%s 1\n", whole.buf);
		add_text(&in, "room", text.buf);
		formats_of(&set, "folded");
		ok(render_at(&in, ROOT_THREAD, &set, out, &r, &err) == 0 &&
			   !strcmp(r.path, t[i].cut ? t[i].cut : whole.buf),
		   "of a frame of %zu bytes and \"%s\" after it what fits is shown", t[i].middle,
		   t[i].tail);
	}
}

/* Samples that end in the thread itself, and a tie. */
static void test_thread_is_hottest(void)
{
	CLEANUP(inputs_fini) struct inputs in = {0};
	CLEANUP(free) char *out = at("thread");
	struct render_result r;
	struct format_set set;
	struct err err;

	add_text(&in, "thread.txt", "t 9\nt;a 5\nu;b 9\n");
	formats_of(&set, "folded");
	is_int(render_at(&in, ROOT_THREAD, &set, out, &r, &err), 0,
	       "a thread with samples is drawn");
	is_str(r.leaf, "t", "a thread may be the hottest leaf, and of equals the first is");
	is_int(r.leaf_self, 9, "with its own samples");
	is_str(r.path, "t", "a thread alone may be the hottest stack");
	is_int(r.path_self, 9, "with its samples");
}

static void test_nothing(void)
{
	CLEANUP(inputs_fini) struct inputs in = {0};
	CLEANUP(free) char *out = at("nothing");
	struct render_result r;
	struct format_set set;
	struct err err = {0};

	add_text(&in, "nil", "");
	formats_of(&set, "folded,svg,html");
	is_int(render_at(&in, ROOT_THREAD, &set, out, &r, &err), 0, "an empty profile is drawn");
	ok(!r.leaf[0] && !r.path[0] && !r.leaf_self && !r.path_self, "it has no hottest frame");
	inputs_fini(&in);
	add_text(&in, "nil", "garbage");
	r.leaf_self = 77;
	is_int(render_at(&in, ROOT_THREAD, &set, out, &r, &err), -1, "garbage is not drawn");
	is_int(r.leaf_self, 77, "the result is untouched after a failure");
	ok(!strncmp(err.msg, "draw: ", 6) && strstr(err.msg, "/nil: not folded text"),
	   "the error says what failed");
}

/* The second format is larger than files may be. */
static void test_failed_format(void)
{
	CLEANUP(inputs_fini) struct inputs in = {0};
	CLEANUP(free) char *out = at("limited");
	CLEANUP(free) char *folded_path = at("limited/flame.folded");
	struct rlimit before, limit;
	struct render_result r;
	struct format_set set;
	struct err err = {.msg = "untouched"};
	int rc;

	add_text(&in, "small", "t;a 1\n");
	formats_of(&set, "folded,html");
	ok(render_at(&in, ROOT_THREAD, &set, out, &r, &err) == 0 && !strcmp(err.msg, "untouched"),
	   "without a failure the error is untouched");
	unlink(folded_path);
	signal(SIGXFSZ, SIG_IGN);
	getrlimit(RLIMIT_FSIZE, &before);
	limit = before;
	limit.rlim_cur = 1024;
	setrlimit(RLIMIT_FSIZE, &limit);
	rc = render_at(&in, ROOT_THREAD, &set, out, &r, &err);
	setrlimit(RLIMIT_FSIZE, &before);
	signal(SIGXFSZ, SIG_DFL);
	is_int(rc, -1, "a format that cannot be written is an error");
	ok(!strncmp(err.msg, "draw: flame.html: ", 18) && strstr(err.msg, "File too large"),
	   "the error names the file and the reason");
	ok(access(folded_path, F_OK) < 0, "no other format is left");
}

static int write_names(const struct stacks *s, int fd, struct err *err)
{
	return draw_folded(s, fd, err);
}

static int write_nothing(const struct stacks *s, int fd, struct err *err)
{
	(void)s;
	(void)fd;
	return err_set(err, 0, "no place");
}

static void test_tree(void)
{
	CLEANUP(inputs_fini) struct inputs in = {0};
	CLEANUP(close_fd) int fd = memfd_create("tree", MFD_CLOEXEC);
	CLEANUP(free) char *text = NULL;
	struct render_result r = {0};
	struct err err;

	add_text(&in, "tree", "t;a 2\nbad\n");
	is_int(render_tree(&in, write_names, fd, &r, &err), 0, "a tree is written");
	text = drawn_text(fd);
	is_str(text, "t;a 2\n", "the tree has threads as roots");
	is_int(r.quality.samples, 2, "its samples are counted");
	is_int(r.skipped, 1, "its bad lines are counted");
	ok(!r.leaf[0], "no hottest frame is searched");
	is_int(render_tree(&in, write_nothing, fd, &r, &err), -1, "a writer's failure is one");
	is_str(err.msg, "draw: no place", "with its reason");
}

/* ---- formats ----------------------------------------------------------------------------- */

static bool has_file(const struct format_set *set, const char *name, const char *file)
{
	CLEANUP(free) char *got = formats_file(set, formats_get(name));

	return strcmp(got, file) == 0;
}

static void test_formats(void)
{
	static const struct {
		const char *name, *file;
		bool details;
	} kinds[] = {
		{"svg", "flame.svg", false},
		{"html", "flame.html", true},
		{"folded", "flame.folded", false},
		{"pprof", "flame.pb.gz", true},
		{"speedscope", "flame.speedscope.json", true},
		{"firefox", "flame.firefox.json", true},
		{"json", "flame.json", true},
		{"perf-map", "perf-map.tar", false},
	};
	struct format_set set = {.count = 7};
	struct err err;

	is_int(formats_parse("svg,folded,svg", &set, &err), 0, "a list is parsed");
	is_int(set.count, 2, "a name that comes twice counts once");
	is_str(set.list[1]->name, "folded", "formats are in the order of the list");
	ok(!formats_take_details(&set), "neither takes details");
	for (size_t i = 0; i < ARRAY_LEN(kinds); i++)
		ok(formats_parse(kinds[i].name, &set, &err) == 0 &&
			   formats_take_details(&set) == kinds[i].details &&
			   has_file(&set, kinds[i].name, kinds[i].file),
		   "format %s has its file and takes %s details", kinds[i].name,
		   kinds[i].details ? "all" : "no");
	is_int(formats_parse("svg,folded,svg", &set, &err), 0, "a list is parsed again");
	formats_add("html", &set);
	formats_add("html", &set);
	is_int(set.count, 3, "a format is added once");
	ok(formats_take_details(&set), "HTML takes details");
	is_int(formats_parse("svg,nothing", &set, &err), -1, "an unknown format is an error");
	is_str(err.msg,
	       "unknown format \"nothing\"; there are: svg, html, folded, pprof, speedscope, "
	       "firefox, json, perf-map",
	       "the error lists the formats");
	is_int(set.count, 3, "the set is untouched after a failure");
	is_int(formats_parse_difference("pprof", &set, &err), -1, "pprof has no differences");
	is_str(err.msg, "unknown format \"pprof\"; there are: svg, html, folded",
	       "the error lists the formats of differences");
	is_int(formats_parse(",", &set, &err), -1, "a list of nothing is an error");
	is_str(err.msg, "no format given", "the error says so");
	ok(formats_parse("svg,html", &set, &err) == 0 && formats_include(&set, "html") &&
		   !formats_include(&set, "folded"),
	   "a set includes what was parsed and nothing else");
}

static void test_check(void)
{
	CLEANUP(inputs_fini) struct inputs in = {0};
	struct format_set set;
	struct err err;

	formats_of(&set, "svg,perf-map");
	add_text(&in, "only", "t;a 1\n");
	is_int(formats_check(&set, &in, &err), -1, "no perf map is made from text");
	is_str(err.msg,
	       "format perf-map: needs a session directory; folded text and pprof have no "
	       "addresses of code",
	       "the error says why");
	add_session(&in, "web");
	is_int(formats_check(&set, &in, &err), 0, "one session is enough");
	is_int(set.list[1]->draw(NULL, NULL, -1, &err), -1, "no perf map is made of a profile");
	is_str(err.msg, "it is made from a recording, with dfg-trigger", "the error says how");
}

/* Runs tar on the archive in `dir`; what it printed. */
static char *tar_says(const char *command)
{
	CLEANUP(free) char *line = xasprintf("cd %s/maps && tar %s 2>&1", dir, command);
	struct str out = {0};
	FILE *f = popen(line, "re");
	int c;

	str_adds(&out, "");
	while (f && (c = getc(f)) != EOF)
		str_addc(&out, (char)c);
	if (!f || pclose(f) != 0)
		str_adds(&out, "(failed)");
	return out.buf;
}

/* Two JVMs, one with two snapshots of which one is damaged. */
static void test_perf_maps(void)
{
	CLEANUP(inputs_fini) struct inputs in = {0};
	CLEANUP(free) char *out = at("maps");
	CLEANUP(free) char *last = at("web/session/maps/jvm-10.1.snap");
	CLEANUP(free) char *first = NULL;
	CLEANUP(free) char *list = NULL;
	CLEANUP(free) char *ten = NULL;
	CLEANUP(free) char *eleven = NULL;
	CLEANUP(free) char *archive = at("maps/perf-map.tar");
	struct render_result r;
	struct format_set set;
	struct stat st;
	struct err err;

	add_session(&in, "web");
	formats_of(&set, "perf-map");
	write_bytes(last, "damaged", 7);
	is_int(render_at(&in, ROOT_THREAD, &set, out, &r, &err), 0, "perf maps are made");
	list = tar_says("--numeric-owner --utc -tvf perf-map.tar");
	is_str(list,
	       "-rw-r--r-- 0/0              19 1970-01-01 00:00 perf-10.map\n"
	       "-rw-r--r-- 0/0              19 1970-01-01 00:00 perf-11.map\n",
	       "each JVM has one map, of root, as tar lists it");
	first = tar_says("--utc -tvf perf-map.tar perf-10.map");
	ok(strstr(first, "root/root"), "the owner has a name");
	ten = tar_says("-xOf perf-map.tar perf-10.map");
	is_str(ten, "7000 20 early_stub\n", "a damaged snapshot does not spoil the others");
	eleven = tar_says("-xOf perf-map.tar perf-11.map");
	is_str(eleven, "7000 20 other_stub\n", "the second JVM has its own map");
	ok(stat(archive, &st) == 0 && st.st_size == 6 * 512,
	   "the archive has two heads, two blocks of text and two of zeros");
}

static void add_map(const char *session, const char *name, const char *text)
{
	CLEANUP(free) char *path = xasprintf("%s/session/maps/%s", session, name);

	write_bytes(path, text, strlen(text));
}

/* The map that the agent dumped goes before that of the snapshots, if one of its lines is valid. */
static void test_agent_maps(void)
{
	CLEANUP(inputs_fini) struct inputs in = {0};
	CLEANUP(free) char *out = at("maps");
	CLEANUP(free) char *graphs = at("agent");
	CLEANUP(free) char *archive = at("maps/perf-map.tar");
	CLEANUP(free) char *ten = NULL;
	CLEANUP(free) char *eleven = NULL;
	CLEANUP(free) char *text = NULL;
	CLEANUP(free) char *list = NULL;
	CLEANUP(free) char *said = NULL;
	struct session *s;
	struct render_result r;
	struct format_set set;
	struct catcher c;
	struct err err;
	int rc;

	make_session("agent", "agent", 99, "stub");
	add_session(&in, "agent");
	s = &in.list[0].own;
	session_register_map(s, 10, "agent-10.map");
	session_register_map(s, 11, "agent-11.map");
	session_register_map(s, 12, "perf-12.map");
	add_map(graphs, "agent-10.map", "9000 10 by_agent\n");
	add_map(graphs, "agent-11.map", "no line of a map\n");
	add_map(graphs, "perf-12.map", "9000 10 by_jvm\n");
	formats_of(&set, "perf-map");
	unlink(archive); /* of the test before */
	c = catch_begin(stderr, STDERR_FILENO);
	rc = render_at(&in, ROOT_THREAD, &set, out, &r, &err);
	said = caught(&c);
	is_int(rc, 0, "perf maps are made");
	is_str(said,
	       "dfg: warning: the perf map of 11 is made by the host: the agent's has no valid "
	       "line\n",
	       "one line tells of an agent's map without a valid line");
	list = tar_says("-tf perf-map.tar");
	is_str(list, "perf-10.map\nperf-11.map\n", "only JVMs with a snapshot or a dump have one");
	ten = tar_says("-xOf perf-map.tar perf-10.map");
	is_str(ten, "9000 10 by_agent\n", "the agent's own map is taken");
	eleven = tar_says("-xOf perf-map.tar perf-11.map");
	is_str(eleven, "7000 20 other_stub\n", "where it has no valid line the host's is");
	free(s->maps[0].name);
	s->maps[0].name = xstrdup("gone");
	free(s->maps[2].name);
	s->maps[2].name = xstrdup("gone too");
	c = catch_begin(stderr, STDERR_FILENO);
	rc = render_at(&in, ROOT_THREAD, &set, out, &r, &err);
	free(said);
	said = caught(&c);
	is_int(rc, 0, "perf maps are made again");
	text = tar_says("-xOf perf-map.tar perf-10.map");
	is_str(text, "9000 10 by_agent\n", "no snapshot is needed for the agent's map");
}

/* A text that fills a block exactly needs no zeros after it. */
static void test_whole_block(void)
{
	CLEANUP(inputs_fini) struct inputs in = {0};
	CLEANUP(free) char *out = at("maps");
	CLEANUP(free) char *graphs = at("block");
	CLEANUP(free) char *archive = at("maps/perf-map.tar");
	CLEANUP(free) char *list = NULL;
	char line[513] = "";
	struct render_result r;
	struct format_set set;
	struct stat st;
	struct err err;

	memset(line, 'x', 512);
	memcpy(line, "9000 10 ", 8);
	line[511] = '\n';
	make_session("block", "block", 99, "stub");
	add_session(&in, "block");
	session_register_map(&in.list[0].own, 10, "agent-10.map");
	add_map(graphs, "agent-10.map", line);
	formats_of(&set, "perf-map");
	is_int(render_at(&in, ROOT_THREAD, &set, out, &r, &err), 0, "a map of one block is made");
	ok(stat(archive, &st) == 0 && st.st_size == 6 * 512,
	   "no block of zeros follows a whole block of text");
	list = tar_says("--numeric-owner --utc -tvf perf-map.tar perf-10.map");
	is_str(list, "-rw-r--r-- 0/0             512 1970-01-01 00:00 perf-10.map\n",
	       "its size in the archive is that of the text");
}

int main(void)
{
	if (!mkdtemp(dir))
		return 1;
	make_session("web", "web", 99, "early_stub");
	test_list();
	test_titles();
	test_files();
	test_merge();
	test_kinds();
	test_refused();
	test_accepted();
	test_events();
	test_session_events();
	test_gone();
	test_no_more();
	test_many_files();
	test_render();
	test_heads();
	test_long_subtitle();
	test_paths();
	test_path_room();
	test_thread_is_hottest();
	test_nothing();
	test_failed_format();
	test_tree();
	test_formats();
	test_check();
	test_perf_maps();
	test_agent_maps();
	test_whole_block();
	free(folded);
	fs_remove_tree(AT_FDCWD, dir);
	return tap_done();
}
