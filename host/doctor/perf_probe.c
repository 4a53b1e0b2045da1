// SPDX-License-Identifier: Apache-2.0
/* Probes perf and the kernel's events, with events of this process that never count. */
#include <errno.h>
#include <fcntl.h>
#include <linux/perf_event.h>
#include <sys/capability.h>
#include <sys/syscall.h>
#include <time.h>

#include "bpf/recording.h"
#include "common/child.h"
#include "doctor/probe.h"
#include "record/perf.h"

#define PERF_SAYS "perf version "
#define PERF_MS	  3000
#define BUFFER_KB 4096 /* PERF_BUFFER; perf adds a page */

/* All that perf asks for: tools/perf/arch/.../perf_regs.c. x86-64 has no ds, es, fs, gs here. */
#if defined(__x86_64__)
#define USER_REGS 0xff0fffull
#elif defined(__aarch64__)
#define USER_REGS 0x1ffffffffull
#endif

void probe_perf(const struct probe *p)
{
	char *argv[] = {(char *)"perf", (char *)"version", NULL};
	CLEANUP(str_fini) struct str out = {0};
	struct err err;
	int status = child_capture(argv, NULL, -1, PERF_MS, 4096, &out, &err);
	const char *version = out.buf ? out.buf : "";

	version += has_prefix(version, PERF_SAYS) ? strlen(PERF_SAYS) : 0;
	if (status < 0 && err.code == ENOENT)
		finding_add(p->f, FINDING_NO, "perf", "on Debian: apt-get install linux-perf",
			    "not installed");
	else if (status != 0)
		finding_add(p->f, FINDING_NO, "perf", "install the one of this kernel",
			    "`perf version` fails: %s", status < 0 ? err.msg : "see what it says");
	else
		finding_add(p->f, FINDING_OK, "perf", "", "%.*s", (int)strcspn(version, "\n"),
			    version);
}

/* Returns 0 or the error's number. */
static int try_event(uint32_t type, uint64_t config, bool kernel, unsigned stack_bytes)
{
	struct perf_event_attr attr = {
		.type = type,
		.size = sizeof(attr),
		.config = config,
		.freq = 1,
		.sample_freq = PERF_FREQUENCY,
		.sample_type =
			PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_CALLCHAIN,
		.disabled = 1,
		.exclude_kernel = !kernel,
		.use_clockid = 1,
		.clockid = CLOCK_MONOTONIC,
	};
	CLEANUP(close_fd) int fd = -1;

	if (stack_bytes) {
		attr.sample_type |= PERF_SAMPLE_REGS_USER | PERF_SAMPLE_STACK_USER;
		attr.sample_regs_user = USER_REGS;
		attr.sample_stack_user = stack_bytes;
		attr.exclude_callchain_user = 1;
	}
	fd = (int)syscall(SYS_perf_event_open, &attr, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);
	return fd >= 0 ? 0 : errno;
}

static int try_clock(bool kernel, unsigned stack_bytes)
{
	return try_event(PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CPU_CLOCK, kernel, stack_bytes);
}

/* Returns true if perf can sample, if only user code. */
static bool check_events(const struct probe *p)
{
	long paranoid = probe_number(p, "proc/sys/kernel/perf_event_paranoid", 2);
	int code = try_clock(true, 0);
	bool denied = code == EACCES || code == EPERM;

	if (code == 0)
		finding_add(p->f, FINDING_OK, "events", "",
			    "kernel and user code can be sampled (perf_event_paranoid %ld)",
			    paranoid);
	else if (denied && try_clock(false, 0) == 0)
		finding_add(p->f, FINDING_NOTE, "events", "graphs have no kernel frames",
			    "user code alone can be sampled (perf_event_paranoid %ld)", paranoid);
	else if (denied)
		finding_add(p->f, FINDING_NO, "events",
			    "run it on the host; look at seccomp and SELinux",
			    "the kernel refuses perf_event_open(2) (perf_event_paranoid %ld)",
			    paranoid);
	else
		finding_add(p->f, FINDING_NO, "events", "a kernel with CONFIG_PERF_EVENTS",
			    "perf_event_open(2): %s", strerror(code));
	return p->f->list[p->f->count - 1].state != FINDING_NO;
}

void probe_walks(const struct probe *p)
{
	struct err err;

	if (kernel_recording_check(&err) == 0)
		finding_add(p->f, FINDING_OK, "walks", "",
			    "stacks are walked in the kernel, copied where that cannot be proved");
	else
		finding_add(p->f, FINDING_NOTE, "walks", "perf records instead, with stack copies",
			    "no stacks are walked in the kernel: %s", err.msg);
}

void probe_events(const struct probe *p)
{
	unsigned bytes = probe_stack_bytes();
	int copies, cycles;

	if (!check_events(p))
		return;
	copies = try_clock(false, bytes);
	if (copies)
		finding_add(p->f, FINDING_NOTE, "stacks",
			    "--unwind fp; start JVMs with -XX:+PreserveFramePointer",
			    "no registers and copies of the stack: %s", strerror(copies));
	else
		finding_add(p->f, FINDING_OK, "stacks", "",
			    "registers and %u KiB of stack with each sample", bytes >> 10);
	cycles = try_event(PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES, false, 0);
	if (cycles)
		finding_add(p->f, FINDING_NOTE, "counters", "perf samples by a timer, cpu-clock",
			    "none%s%s", cycles == ENOENT ? ", as in most virtual machines" : ": ",
			    cycles == ENOENT ? "" : strerror(cycles));
	else
		finding_add(p->f, FINDING_OK, "counters", "",
			    "perf samples by the processor's cycles");
}

/* Beyond what it may lock, perf's buffers need CAP_IPC_LOCK (kernel/events/core.c, perf_mmap). */
void probe_buffers(const struct probe *p)
{
	long kb = probe_number(p, "proc/sys/kernel/perf_event_mlock_kb", 516);

	if (probe_capable(p, CAP_IPC_LOCK) || kb > BUFFER_KB)
		finding_add(p->f, FINDING_OK, "buffers", "",
			    PERF_BUFFER " for each of %zu processors (perf_event_mlock_kb %ld)",
			    probe_cpus(), kb);
	else
		finding_add(
			p->f, FINDING_NO, "buffers", "sysctl kernel.perf_event_mlock_kb=4100",
			"no CAP_IPC_LOCK, and perf_event_mlock_kb %ld is less than " PERF_BUFFER,
			kb);
}

void probe_explain(const char *root, struct err *err)
{
	struct findings f = {0};
	struct probe p = {
		.rootfd = open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC), .root = root, .f = &f};
	struct err said = *err;

	findings_about(&f, "machine", 0, "this machine");
	probe_rights(&p);
	probe_events(&p);
	probe_buffers(&p);
	for (size_t i = 0; i < f.count; i++) {
		if (f.list[i].state != FINDING_NO)
			continue;
		err_set(err, 0, "%.250s; %.120s: %.120s", said.msg, f.list[i].why,
			f.list[i].advice);
		break;
	}
	findings_fini(&f);
	cleanup_close_fd(&p.rootfd);
}
