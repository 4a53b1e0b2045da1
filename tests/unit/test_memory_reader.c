// SPDX-License-Identifier: Apache-2.0
/* Reads the HotSpot of another process through its memory. */
#include "record/memory_reader.h"

#include <errno.h>
#include <poll.h>
#include <sys/resource.h>
#include <sys/socket.h>

#include "bpf/made.h"
#include "discover/jvm_memory.h"
#include "jit/code_history.h"
#include "lib/fakejvm.h"
#include "lib/scratch.h"
#include "lib/tap.h"
#include "record/agent_share.h"

static int asks = -1; /* the reader's end */

static int open_reader(const struct jvm *j, bool debug_info, int to, struct memory_reader **ret,
		       struct err *err)
{
	const struct memory_reader_options o = {
		.to = to, .asks = asks, .debug_info = debug_info, .turns = -1};

	return memory_reader_open(j, &o, ret, err);
}

static char *library;
static struct snap_image image;
static struct err err;

static uint8_t byte_at(const struct jvm *j, uint64_t addr)
{
	CLEANUP(close_fd) int fd = openat(j->procfd, "mem", O_RDONLY | O_CLOEXEC);
	uint8_t byte = 0xee;

	(void)!pread(fd, &byte, 1, (off_t)addr);
	return byte;
}

/* ---- memory ---- */

static void test_memory(void)
{
	struct jvm j = fakejvm_start(library);
	CLEANUP(free) uint64_t *addr = xcalloc(1500, sizeof(*addr));
	CLEANUP(free) uint8_t *bytes = xcalloc(1500, 4);
	const struct hs_source *source;
	struct jvm_memory *m = NULL;
	uint8_t buf[64];

	if (!ok(jvm_memory_open(j.procfd, &m, &err) == 0, "the memory of a process is opened"))
		return;
	is_int(jvm_memory_find_tables(m, &err), 0, "HotSpot's tables are found in it");
	source = jvm_memory_source(m);
	ok(source->image.low == IMAGE_BASE - FAKEJVM_HEAD &&
		   source->image.high == IMAGE_BASE + IMAGE_BYTES,
	   "the library is where it is mapped");
	is_int(source->read(source->arg, IMAGE_BASE + 64, buf, sizeof(buf)), sizeof(buf),
	       "memory is read");
	ok(memcmp(buf, image.im.mem + 64, sizeof(buf)) == 0, "it is what the process has there");
	is_int(source->read(source->arg, IMAGE_BASE + IMAGE_BYTES - 16, buf, sizeof(buf)), 16,
	       "a read ends where the memory ends");
	is_int(source->read(source->arg, 16, buf, 8), -1, "what is not mapped is not read");
	is_int(source->read(source->arg, UINT64_MAX - 7, buf, 8), -1, "nor is the end of all");
	for (size_t i = 0; i < 1500; i++)
		addr[i] = IMAGE_BASE + 8 * i;
	is_int(source->gather(source->arg, addr, 1500, bytes, 4), 1024,
	       "1024 pieces are read at once");
	ok(memcmp(bytes + 4 * 1023, image.im.mem + 8 * 1023, 4) == 0, "the last one, too");
	is_int(source->gather(source->arg, addr, 3, bytes, 4), 3, "fewer are read at once");
	addr[2] = 16;
	is_int(source->gather(source->arg, addr, 4, bytes, 4), 2, "pieces end at a hole");
	is_int(source->gather(source->arg, addr, 0, bytes, 4), 0, "of no piece none is read");
	jvm_memory_close(m);
	jvm_memory_close(NULL);
	fakejvm_end(&j);
}

static void test_no_tables(void)
{
	struct jvm j = fakejvm_start(NULL);
	struct memory_reader *r = NULL;
	CLEANUP(free)
	char *want = xasprintf("read process %d: no libjvm.so with HotSpot's tables is mapped",
			       (int)j.pid);
	CLEANUP(close_fd) int to = memfd_create("to", MFD_CLOEXEC);
	struct jvm_memory *m;

	is_int(open_reader(&j, false, to, &r, &err), -1, "a process without HotSpot fails");
	is_str(err.msg, want, "the message says what is missing");
	is_int(err.code, 0, "it has no code of the system's");
	ok(!r, "nothing is returned");
	fakejvm_end(&j);
	j.procfd = open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	is_int(jvm_memory_open(j.procfd, &m, &err), -1, "what is no process has no memory");
	is_str(err.msg, "open the memory of the process: No such file or directory",
	       "the message says so");
	close(j.procfd);
	memory_reader_close(NULL);
}

/* ---- snapshots ---- */

/* ---- code that has just been made ---- */

/* Asks what is at an address, and returns the bytes of the answer; 0: there is none. */
static size_t ask(struct made_reader *m, uint64_t at, void *buf)
{
	struct pollfd p = {.fd = m->sock, .events = POLLIN};

	made_reader_want(m, at);
	made_reader_ask(m);
	return poll(&p, 1, 60000) > 0 ? made_reader_answer(m, buf) : 0;
}

/* Counts the codes of an answer. */
static size_t codes_of(const void *buf, size_t n)
{
	CLEANUP(snapfile_free) struct snapfile *sf = snapfile_new();
	const struct made_answer *head = buf;

	if (n <= sizeof(*head) || snapfile_add(sf, head + 1, n - sizeof(*head), &err) < 0 ||
	    snapfile_is_whole(sf))
		return 0;
	snapfile_finish(sf);
	return snapfile_code_count(sf);
}

/* A reader answers before its first snapshot, after it, and while it watches; `to`: -1 as one that
 * only watches. */
static void test_asked(const char *what, bool takes)
{
	static _Alignas(8) uint8_t buf[sizeof(struct made_answer) + MADE_ANSWER];
	const uint64_t code = image.im.block[0] + IM_HEADER + IM_BLOB;
	struct jvm j = fakejvm_start(library);
	CLEANUP(close_fd) int to = takes ? memfd_create("to", MFD_CLOEXEC) : -1;
	struct made_reader m = {0};
	struct memory_reader *r = NULL;
	struct hs_result one = {0};
	uint64_t cpu;
	int pair[2];
	size_t n;

	if (!ok(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, pair) == 0,
		"%s", what))
		return;
	m.sock = pair[0];
	asks = pair[1];
	if (!ok(open_reader(&j, false, to, &r, &err) == 0, "a reader starts")) {
		printf("# %s\n", err.msg);
		return;
	}
	close(pair[1]);
	n = ask(&m, code + 5, buf);
	is_int(codes_of(buf, n), 1, "it tells the code at an address");
	ok(((struct made_answer *)buf)->cpu_us < 60000000, "and what that cost");
	is_int(codes_of(buf, ask(&m, 16, buf)), 0, "of another address nothing");
	if (takes) {
		is_int(memory_reader_dump(r, false, UINT64_MAX, &one, &cpu, &err), 0,
		       "a snapshot is taken");
		ok(one.entries > 1, "it is whole");
		is_int(codes_of(buf, ask(&m, code, buf)), 1, "it answers after that");
		is_int(memory_reader_dump(r, false, UINT64_MAX, &one, &cpu, &err), 0,
		       "a delta is taken");
		is_int(one.entries, 0, "which has no code");
	}
	memory_reader_watch(r);
	is_int(codes_of(buf, ask(&m, code, buf)), 1, "while it watches, too");
	memory_reader_close(r);
	is_int(ask(&m, code, buf), 0, "nobody answers after its end");
	is_int(m.sock, -1, "nobody is asked any more");
	asks = -1;
	fakejvm_end(&j);
}

/* ---- a file ---- */

static bool is_snapshot(int fd, off_t from, uint64_t bytes)
{
	CLEANUP(str_fini) struct str text = {0};

	return lseek(fd, from, SEEK_SET) == from && fs_read_all(fd, 1 << 24, &text, &err) == 0 &&
	       text.len >= bytes && answer_is_snapshot(text.buf, bytes);
}

static void test_snapshots(void)
{
	struct jvm j = fakejvm_start(library);
	CLEANUP(close_fd) int to = memfd_create("to", MFD_CLOEXEC);
	struct memory_reader *r = NULL;
	struct hs_result one = {0}, two = {0}, three = {0};
	uint64_t cpu = UINT64_MAX;

	is_int(byte_at(&j, image.non_safepoints), 0, "a flag is off");
	if (!ok(open_reader(&j, true, to, &r, &err) == 0, "a reader starts")) {
		printf("# %s\n", err.msg);
		return;
	}
	is_int(byte_at(&j, image.non_safepoints), 1, "it has switched the flag on");
	is_int(lseek(to, 0, SEEK_END), 0, "nothing is written before a snapshot is asked for");
	is_int(memory_reader_dump(r, false, UINT64_MAX, &one, &cpu, &err), 0,
	       "a snapshot is taken");
	is_int(one.status, DFG_DUMP_OK, "it is whole");
	ok(one.entries > 0, "it has code: %u", (unsigned)one.entries);
	ok(cpu < 60000000, "it tells its cost");
	is_str(memory_reader_missing(r), "", "nothing is missing");
	is_int(lseek(to, 0, SEEK_END), one.bytes, "all of it is in the file");
	ok(is_snapshot(to, 0, one.bytes), "its records are a snapshot");
	lseek(to, 0, SEEK_END);
	is_int(memory_reader_dump(r, false, UINT64_MAX, &two, &cpu, &err), 0, "a delta is taken");
	ok(two.bytes < one.bytes, "it is smaller: %u", (unsigned)two.bytes);
	is_int(two.entries, 0, "it has no code, since none is new");
	is_int(memory_reader_dump(r, true, UINT64_MAX, &three, &cpu, &err), 0,
	       "the last one is taken");
	is_int(lseek(to, 0, SEEK_END), one.bytes + two.bytes + three.bytes,
	       "they follow each other in the file");
	ok(is_snapshot(to, (off_t)one.bytes, two.bytes) &&
		   is_snapshot(to, (off_t)(one.bytes + two.bytes), three.bytes),
	   "each of them is a snapshot");
	kill(j.pid, SIGKILL);
	waitpid(j.pid, NULL, 0);
	err = (struct err){0};
	is_int(memory_reader_dump(r, false, UINT64_MAX, &two, &cpu, &err), -1,
	       "after the JVM's end it fails");
	is_int(err.code, ESRCH, "the error is that the process is gone");
	is_str(err.msg, "the JVM ended meanwhile: No such process", "the message says so");
	memory_reader_close(r);
	cleanup_close_fd(&j.procfd);
}

static void write_at(const struct jvm *j, uint64_t addr, uint64_t value)
{
	CLEANUP(close_fd) int fd = openat(j->procfd, "mem", O_WRONLY | O_CLOEXEC);

	if (pwrite(fd, &value, sizeof(value), (off_t)addr) != sizeof(value))
		abort();
}

static bool is_readable(const struct memory_reader *r, int ms)
{
	struct pollfd p = {.fd = memory_reader_fd(r), .events = POLLIN};

	return poll(&p, 1, ms) > 0;
}

static void test_watch(void)
{
	struct jvm j = fakejvm_start(library);
	CLEANUP(close_fd) int to = memfd_create("to", MFD_CLOEXEC);
	uint64_t list = image.im.heap[1] + 184; /* the end of a CodeHeap */
	struct memory_reader *r = NULL;
	struct hs_result result;
	uint64_t cpu;

	if (open_reader(&j, false, to, &r, &err) < 0)
		abort();
	memory_reader_watch(r);
	ok(!is_readable(r, 50), "while no code is made or freed, a watch finds nothing");
	ok(!memory_reader_noticed(r), "nor does it say so");
	write_at(&j, list, 5);
	ok(is_readable(r, 60000), "what changes at the end of a code heap is found");
	ok(memory_reader_noticed(r), "and told");
	ok(!memory_reader_noticed(r), "once");
	memory_reader_watch(r);
	ok(!is_readable(r, 50), "the next watch begins with what was found");
	is_int(memory_reader_dump(r, false, UINT64_MAX, &result, &cpu, &err), 0,
	       "a snapshot ends a watch");
	ok(!memory_reader_noticed(r), "which finds nothing more");
	write_at(&j, list, 6);
	memory_reader_watch(r);
	ok(is_readable(r, 60000), "a change before the watch is found");
	is_int(memory_reader_dump(r, false, UINT64_MAX, &result, &cpu, &err), 0,
	       "a snapshot is not mistaken for what was found before");
	ok(!is_readable(r, 0), "which is forgotten");
	memory_reader_watch(r);
	kill(j.pid, SIGKILL);
	waitpid(j.pid, NULL, 0);
	ok(!is_readable(r, 50), "a JVM's end is not its business");
	memory_reader_close(r);
	cleanup_close_fd(&j.procfd);
}

struct search {
	pid_t not, found;
};

static int find_child(pid_t pid, void *arg)
{
	CLEANUP(close_fd) int procfd = proc_open(pid, &err);
	struct search *s = arg;
	struct proc_status st;

	if (procfd >= 0 && proc_read_status(procfd, &st, &err) == 0 && st.ppid == getpid() &&
	    st.state != 'Z' && pid != s->not )
		s->found = pid;
	return 0;
}

/* The reader is a child of ours, like the process that it reads. */
static void test_crash(void)
{
	struct jvm j = fakejvm_start(library);
	CLEANUP(close_fd) int to = memfd_create("to", MFD_CLOEXEC);
	struct memory_reader *r = NULL;
	struct search s = {.not = j.pid};
	struct hs_result result;
	siginfo_t info;
	uint64_t cpu;

	if (open_reader(&j, false, to, &r, &err) < 0 || proc_each(find_child, &s, &err) < 0)
		abort();
	ok(s.found > 0 && kill(s.found, SIGKILL) == 0, "a reader is killed");
	waitid(P_PID, (id_t)s.found, &info, WEXITED | WNOWAIT);
	err = (struct err){.code = 77};
	is_int(memory_reader_dump(r, false, UINT64_MAX, &result, &cpu, &err), -1,
	       "it takes no snapshot");
	is_str(err.msg, "the reader crashed", "the message says so");
	is_int(err.code, 0, "it has no code of the system's");
	is_int(kill(j.pid, 0), 0, "the JVM runs on");
	memory_reader_close(r);
	fakejvm_end(&j);
}

/* The cost of the snapshots is at most all that the reader has used. */
static void test_cost(void)
{
	struct jvm j = fakejvm_start(library);
	CLEANUP(close_fd) int to = memfd_create("to", MFD_CLOEXEC);
	struct memory_reader *r = NULL;
	uint64_t cost = 0, before, all, cpu = 0;
	struct hs_result result;
	struct rusage u;

	getrusage(RUSAGE_CHILDREN, &u);
	before = (uint64_t)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) * 1000000 +
		 (uint64_t)(u.ru_utime.tv_usec + u.ru_stime.tv_usec);
	if (open_reader(&j, false, to, &r, &err) < 0)
		abort();
	for (int i = 0; i < 40; i++) {
		if (memory_reader_dump(r, i == 39, UINT64_MAX, &result, &cpu, &err) < 0)
			abort();
		cost += cpu;
	}
	memory_reader_close(r);
	fakejvm_end(&j);
	while (waitpid(-1, NULL, 0) > 0)
		;
	getrusage(RUSAGE_CHILDREN, &u);
	all = (uint64_t)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) * 1000000 +
	      (uint64_t)(u.ru_utime.tv_usec + u.ru_stime.tv_usec) - before;
	ok(cost <= all + 1000, "the cost of 40 snapshots is at most the reader's: %llu of %llu us",
	   (unsigned long long)cost, (unsigned long long)all);
}

static void test_flag_is_kept(void)
{
	struct jvm j = fakejvm_start(library);
	CLEANUP(close_fd) int to = memfd_create("to", MFD_CLOEXEC);
	struct memory_reader *r = NULL;

	is_int(open_reader(&j, false, to, &r, &err), 0, "a reader starts");
	is_int(byte_at(&j, image.non_safepoints), 0, "without being asked it changes no flag");
	memory_reader_close(r);
	fakejvm_end(&j);
}

static void test_full(void)
{
	struct jvm j = fakejvm_start(library);
	CLEANUP(close_fd) int to = open("/dev/full", O_WRONLY | O_CLOEXEC);
	struct memory_reader *r = NULL;
	struct hs_result result;
	uint64_t cpu;

	if (to < 0 || open_reader(&j, false, to, &r, &err) < 0)
		abort();
	is_int(memory_reader_dump(r, false, UINT64_MAX, &result, &cpu, &err), -1,
	       "a full disk is an error");
	is_int(err.code, ENOSPC, "the error is that there is no space");
	is_str(err.msg, "write the snapshot: No space left on device", "the message says so");
	memory_reader_close(r);
	fakejvm_end(&j);
}

/* A JVM whose tables have lost a name. */
static void test_missing(void)
{
	CLEANUP(free) struct snap_image *broken = xcalloc(1, sizeof(*broken));
	CLEANUP(close_fd) int to = memfd_create("to", MFD_CLOEXEC);
	struct memory_reader *r = NULL;
	struct hs_result result;
	struct jvm j;
	uint64_t cpu;

	snap_image_build(broken, IMAGE_17);
	image_set(&broken->im, image_find(&broken->im, "gHotSpotVMStructs"), 0, 8);
	fakejvm_library(&broken->im, library);
	j = fakejvm_start(library);
	if (open_reader(&j, true, to, &r, &err) < 0)
		abort();
	is_int(memory_reader_dump(r, false, UINT64_MAX, &result, &cpu, &err), -1,
	       "broken tables are an error");
	ok(!strncmp(err.msg, "HotSpot's tables of this JVM lack ", 34) && err.msg[34],
	   "the message tells what they lack: %s", err.msg);
	is_int(err.code, 0, "it has no code of the system's");
	is_str(memory_reader_missing(r), err.msg + 34, "it can be asked for, too");
	is_int(lseek(to, 0, SEEK_END), 0, "nothing is written");
	memory_reader_close(r);
	fakejvm_end(&j);
	fakejvm_library(&image.im, library);
}

/* One that can be read in part: what is missing is looked for at the end only. */
static void test_partly(void)
{
	CLEANUP(free) struct snap_image *broken = xcalloc(1, sizeof(*broken));
	CLEANUP(close_fd) int to = memfd_create("to", MFD_CLOEXEC);
	struct memory_reader *r = NULL;
	struct hs_result result = {0};
	struct jvm j;
	uint64_t cpu;
	char *field;

	snap_image_build(broken, IMAGE_17);
	field = memmem(broken->im.mem, IMAGE_BYTES, "_frame_size", sizeof("_frame_size"));
	if (!field)
		abort();
	*field = 'X';
	fakejvm_library(&broken->im, library);
	j = fakejvm_start(library);
	if (open_reader(&j, true, to, &r, &err) < 0)
		abort();
	is_int(memory_reader_dump(r, false, UINT64_MAX, &result, &cpu, &err), 0,
	       "a part is a snapshot, too");
	is_int(result.status, DFG_DUMP_PARTLY, "its status tells that it is a part");
	is_str(memory_reader_missing(r), "", "what is missing is not looked for each time");
	is_int(memory_reader_dump(r, true, UINT64_MAX, &result, &cpu, &err), 0,
	       "the last one is taken");
	is_str(memory_reader_missing(r), "CodeBlob::_frame_size", "it tells what is missing");
	memory_reader_close(r);
	fakejvm_end(&j);
	fakejvm_library(&image.im, library);
}

/* A snapshot that would be larger than there is room for. */
static void test_room(void)
{
	struct jvm j = fakejvm_start(library);
	CLEANUP(close_fd) int to = memfd_create("to", MFD_CLOEXEC);
	struct memory_reader *r = NULL;
	struct hs_result result;
	uint64_t cpu;

	if (open_reader(&j, false, to, &r, &err) < 0)
		abort();
	is_int(memory_reader_dump(r, false, 200, &result, &cpu, &err), -1, "it is not taken");
	is_int(err.code, EFBIG, "the error is its size");
	ok(lseek(to, 0, SEEK_END) <= 200, "no more than that is written");
	memory_reader_close(r);
	fakejvm_end(&j);
}

/* ---- a hostile JVM ---- */

#define POINTERS (1u << 20)

/* Makes all variables, 8 MiB, lead to a list of stubs without an end. */
static void map_endless(uint64_t code)
{
	uint64_t *p = (uint64_t *)(uintptr_t)(IMAGE_BASE + IMAGE_BYTES), *stub = p + POINTERS + 512;
	const uint64_t desc[] = {(uintptr_t)stub, code, code, code, code + 16, 0};

	if (mmap(p, POINTERS * sizeof(*p) + 8192, PROT_READ | PROT_WRITE,
		 MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0) == MAP_FAILED)
		_exit(1);
	for (size_t i = 0; i < POINTERS; i++)
		p[i] = (uintptr_t)stub;
	memcpy(stub, desc, sizeof(desc));
}

/* Case 80: it does not keep the reader busy. */
static void test_endless(void)
{
	CLEANUP(free) char *path = path_of("libjvm.so");
	CLEANUP(close_fd) int to = memfd_create("to", MFD_CLOEXEC);
	CLEANUP(close_fd) int lib = open(path, O_RDWR | O_CLOEXEC);
	const uint64_t bytes = FAKEJVM_HEAD + IMAGE_BYTES + POINTERS * sizeof(uint64_t);
	struct memory_reader *r = NULL;
	struct hs_result result = {0};
	uint64_t cpu = 0;
	struct actor a;
	struct jvm j;

	if (pwrite(lib, &bytes, sizeof(bytes),
		   offsetof(struct fakejvm_head, ph[0]) + offsetof(Elf64_Phdr, p_memsz)) < 0)
		abort();
	if (actor_fork(&a)) {
		fakejvm_map(path);
		map_endless(image.im.block[2] + IM_HEADER + IM_BLOB);
		actor_play(&a);
	}
	j = fakejvm_wait(&a);
	if (open_reader(&j, false, to, &r, &err) < 0)
		abort();
	is_int(memory_reader_dump(r, false, UINT64_MAX, &result, &cpu, &err), 0,
	       "a million lists of stubs without an end are left");
	is_int(result.status, DFG_DUMP_OK, "all else is read");
	ok(result.entries > 0, "its code, too");
	printf("# %llu us\n", (unsigned long long)cpu);
	memory_reader_close(r);
	fakejvm_end(&j);
	fakejvm_library(&image.im, library);
}

int main(void)
{
	scratch_make();
	library = path_of("libjvm.so");
	snap_image_build(&image, IMAGE_17);
	fakejvm_library(&image.im, library);
	test_memory();
	test_no_tables();
	test_asked("a reader that takes snapshots", true);
	test_asked("a reader that only watches", false);
	test_snapshots();
	test_watch();
	test_crash();
	test_cost();
	test_flag_is_kept();
	test_full();
	test_missing();
	test_partly();
	test_room();
	test_endless();
	free(library);
	scratch_remove();
	return tap_done();
}
