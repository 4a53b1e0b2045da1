/* SPDX-License-Identifier: Apache-2.0 */
/* A perf that records nothing: links to the test program by the names below, each of which behaves
 * in its own way. The recording that it "makes" is the file "golden" next to the link.
 *
 *	perf-good	records until it gets SIGINT
 *	perf-fails	fails at once, with a message
 *	perf-dies	is killed after a while
 *	perf-late	needs a while to enable its events
 *	perf-mute	never says that it has enabled them
 *	perf-breaks	ends before it says so
 *	perf-stuck	never opens its events
 *	perf-hangs	records, and does not end when it is told to
 *	perf-old	knows no --control
 *	perf-strict	ends at once, without a word, if a process has ended
 *	perf-ends	ends by itself, as perf does when all processes have ended
 *	perf-fills	fills its part of the disk, as --max-size says, and ends */
#ifndef DFG_LIB_FAKEPERF_H
#define DFG_LIB_FAKEPERF_H

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/fs.h"
#include "common/str.h"
#include "lib/perffile.h"

static volatile sig_atomic_t fakeperf_switches, fakeperf_ended;

static inline void fakeperf_on_signal(int sig)
{
	if (sig == SIGUSR2)
		fakeperf_switches = 1;
	else
		fakeperf_ended = 1;
}

static inline void fakeperf_copy(const char *golden, const char *to)
{
	CLEANUP(close_fd) int from = open(golden, O_RDONLY | O_CLOEXEC);
	CLEANUP(close_fd) int fd = open(to, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	struct err err;

	if (from < 0 || fd < 0 || fs_copy(from, fd, 64 << 20, &err) < 0)
		exit(2);
}

/* Goes on in a new file, as perf does: the one before is named after the time. */
static inline void fakeperf_switch(const char *golden, const char *data)
{
	CLEANUP(free)
	char *whole = xasprintf("%s.%020llu", data, (unsigned long long)clock_us());

	fakeperf_switches = 0;
	rename(data, whole);
	fakeperf_copy(golden, data);
	puts("[ perf switched");
	fflush(stdout);
}

/* Answers a command on stdin, as perf does, and leaves the time at which it did so in perf.log. */
static inline void fakeperf_answer(const char *kind, const char *expected)
{
	char command[16] = "";

	if (read(STDIN_FILENO, command, sizeof(command) - 1) <= 0 || strcmp(command, expected))
		exit(3);
	if (!strcmp(kind, "perf-mute"))
		return;
	if (!strcmp(kind, "perf-late"))
		sleep_ms(300);
	if (!strcmp(kind, "perf-breaks"))
		raise(SIGKILL);
	printf("[ perf %.*sd %llu\n", (int)strlen(expected) - 1, expected,
	       (unsigned long long)clock_us());
	fflush(stdout);
	(void)!write(STDIN_FILENO, "ack\n", 5);
}

static inline void fakeperf_go_on(const char *kind, const char *golden, const char *data,
				  unsigned long long max_kib, bool control)
{
	struct pollfd in = {.fd = control ? STDIN_FILENO : -1, .events = POLLIN};

	for (int i = 0; !fakeperf_ended; i++) {
		if (poll(&in, 1, 5) > 0) {
			fakeperf_answer(kind, "disable\n");
			in.fd = -1;
		}
		if (fakeperf_switches)
			fakeperf_switch(golden, data);
		if (i == 60 && !strcmp(kind, "perf-dies"))
			raise(SIGKILL);
		if (!strcmp(kind, "perf-ends"))
			return;
		if (!strcmp(kind, "perf-fills")) {
			if (truncate(data, (off_t)max_kib << 10) < 0)
				exit(4);
			return;
		}
	}
}

/* True if one of the processes that it is to record has ended. */
static inline bool fakeperf_lacks_process(int argc, char **argv)
{
	bool lacks = false;

	for (int i = 1; i + 1 < argc; i++)
		for (const char *p = strcmp(argv[i], "-p") ? "" : argv[i + 1]; *p;) {
			lacks |= kill(atoi(p), 0) < 0;
			p += strcspn(p, ",");
			p += *p == ',';
		}
	return lacks;
}

/* Prints its arguments, which the caller has in perf.log. */
static inline int fakeperf_record(const char *kind, const char *golden, int argc, char **argv)
{
	struct sigaction act = {.sa_handler = fakeperf_on_signal};
	unsigned long long max_kib = 0;
	const char *data = NULL;
	bool control = false;

	if (!strcmp(kind, "perf-fails")) {
		fputs("Error:\nthe kernel said no\n", stderr);
		return 1;
	}
	if (!strcmp(kind, "perf-strict") && fakeperf_lacks_process(argc, argv))
		return 255;
	printf("[ perf");
	for (int i = 1; i < argc; i++) {
		printf(" %s", argv[i]);
		if (!strcmp(argv[i], "-o"))
			data = argv[i + 1];
		control |= has_prefix(argv[i], "--control=");
		(void)sscanf(argv[i], "--max-size=%lluK", &max_kib);
	}
	puts("");
	if (control && !strcmp(kind, "perf-old")) {
		fputs(" Error: unknown option `control=fd:0,0'\n", stderr);
		return 129;
	}
	fflush(stdout);
	while (!strcmp(kind, "perf-stuck"))
		pause();
	sleep_ms(50); /* it opens its events */
	sigaction(SIGUSR2, &act, NULL);
	sigaction(SIGINT, &act, NULL);
	if (!data)
		return 2;
	fakeperf_copy(golden, data);
	if (control)
		fakeperf_answer(kind, "enable\n");
	fakeperf_go_on(kind, golden, data, max_kib, control);
	while (!strcmp(kind, "perf-hangs"))
		pause();
	return 0;
}

/* ---- in a test program ---- */

/* True where the program was started by one of the names. */
static inline bool fakeperf_is(const char *argv0)
{
	const char *slash = strrchr(argv0, '/');

	return slash && has_prefix(slash + 1, "perf-");
}

static inline int fakeperf_main(int argc, char **argv)
{
	const char *kind = strrchr(argv[0], '/') + 1;
	CLEANUP(free) char *golden = xasprintf("%.*sgolden", (int)(kind - argv[0]), argv[0]);

	return fakeperf_record(kind, golden, argc, argv);
}

static inline void fakeperf_install(const char *dir, const char *const *kinds, size_t n)
{
	char self[256] = "";

	if (readlink("/proc/self/exe", self, sizeof(self) - 1) < 0)
		abort();
	for (size_t i = 0; i < n; i++) {
		CLEANUP(free) char *path = xasprintf("%s/%s", dir, kinds[i]);

		if (symlink(self, path) < 0)
			abort();
	}
}

/* ---- a recording of a process ---- */

/* Names of the code in it: a process's perf map. */
#define FAKEPERF_MAP "10000000 100 run\n10000100 100 get\n10000200 100 put\n"

/* Six samples in two threads: main;run;get 3, main;run;put 2, worker;run 1. */
static inline void fakeperf_make(struct perffile *f, pid_t process)
{
	static const struct {
		unsigned thread, leaf;
	} rows[] = {{0, 0x180}, {0, 0x180}, {0, 0x280}, {1, 0}, {0, 0x180}, {0, 0x280}};
	const struct perf_event_attr a = {.size = sizeof(a),
					  .sample_type = PERF_SAMPLE_IP | PERF_SAMPLE_TID |
							 PERF_SAMPLE_TIME | PERF_SAMPLE_CALLCHAIN,
					  .sample_freq = 99,
					  .freq = 1,
					  .sample_id_all = 1};
	uint32_t pid = (uint32_t)process;

	pf_start(f, &a, 1);
	pf_comm(f, pid, pid, "main", 0, 0);
	pf_comm(f, pid, pid + 1, "worker", 0, 0);
	pf_mmap2(f, pid, 0x10000000, 0x1000, 0, 5, "//anon", 0);
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		const uint64_t run = 0x10000040, leaf = 0x10000000 + rows[i].leaf;
		const uint64_t chain[] = {PERF_CONTEXT_USER, rows[i].leaf ? leaf : run, run};

		pf_sample(f, pid, pid + rows[i].thread, 1000000 * (i + 1), chain,
			  rows[i].leaf ? 3 : 2);
	}
	pf_done(f);
}

/* Writes it to a file. */
static inline void fakeperf_make_at(const char *path, pid_t process)
{
	CLEANUP(close_fd) int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	struct perffile f;
	struct err err;

	fakeperf_make(&f, process);
	if (fd < 0 || fs_write_all(fd, f.s.buf, f.s.len, &err) < 0)
		abort();
	str_fini(&f.s);
}

#endif
