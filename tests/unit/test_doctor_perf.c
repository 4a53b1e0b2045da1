// SPDX-License-Identifier: Apache-2.0
/* dfg-doctor's findings about perf and the kernel's events. perf_event_open(2) of a thread is
 * answered by this test (SECCOMP_RET_USER_NOTIF), which plays kernels of all sorts. */
#include <errno.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/perf_event.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <pthread.h>
#include <stddef.h>
#include <sys/capability.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>

#include "common/child.h"
#include "lib/doctorbox.h"
#include "record/perf.h"

#define CALLS_MAX 8

static struct err err;

/* A kernel: the error of each sort of event, 0: it can be opened. */
struct kernel {
	int kernel, user, stack, cycles;
};

/* A thread that probes, and the calls that it made. */
struct prober {
	void (*probe)(const struct probe *);
	int ready[2];
	int listener;
	struct perf_event_attr calls[CALLS_MAX];
	uint64_t others[CALLS_MAX][4]; /* the other arguments */
	size_t count;
};

/* Returns the descriptor on which calls of perf_event_open(2) of this thread are reported. */
static int guard(void)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_perf_event_open, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_USER_NOTIF),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = {ARRAY_LEN(code), code};

	prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
	return (int)syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_NEW_LISTENER,
			    &program);
}

static void *probe_guarded(void *arg)
{
	struct prober *p = arg;
	int listener = guard();

	if (write(p->ready[1], &listener, sizeof(listener)) != sizeof(listener))
		abort();
	if (listener >= 0)
		p->probe(&machine);
	close(p->ready[1]);
	return NULL;
}

static int answer_of(const struct kernel *k, const struct perf_event_attr *a)
{
	if (a->type == PERF_TYPE_HARDWARE)
		return k->cycles;
	if (a->sample_type & PERF_SAMPLE_STACK_USER)
		return k->stack;
	return a->exclude_kernel ? k->user : k->kernel;
}

/* Answers one call; the thread has the same memory. */
static void answer(struct prober *p, const struct kernel *k)
{
	struct seccomp_notif call = {0};
	struct seccomp_notif_resp reply = {.val = 1 << 20}; /* a descriptor that nobody has */
	struct perf_event_attr attr;

	if (ioctl(p->listener, SECCOMP_IOCTL_NOTIF_RECV, &call) < 0)
		return;
	memcpy(&attr, (void *)(uintptr_t)call.data.args[0], sizeof(attr));
	if (p->count < CALLS_MAX) {
		p->calls[p->count] = attr;
		memcpy(p->others[p->count++], call.data.args + 1, sizeof(p->others[0]));
	}
	reply.id = call.id;
	reply.error = -answer_of(k, &attr);
	if (reply.error)
		reply.val = 0;
	(void)ioctl(p->listener, SECCOMP_IOCTL_NOTIF_SEND, &reply);
}

/* False where there can be no such filter. */
static bool probe_on(const struct kernel *k, void (*probe)(const struct probe *), struct prober *p)
{
	struct pollfd on[2];
	pthread_t thread;

	*p = (struct prober){.probe = probe};
	forget();
	if (pipe2(p->ready, O_CLOEXEC) < 0 || pthread_create(&thread, NULL, probe_guarded, p) ||
	    read(p->ready[0], &p->listener, sizeof(p->listener)) != sizeof(p->listener))
		abort();
	on[0] = (struct pollfd){.fd = p->listener, .events = POLLIN};
	on[1] = (struct pollfd){.fd = p->ready[0]};
	while (poll(on, 2, 60000) > 0 && !(on[1].revents & POLLHUP))
		if (on[0].revents & POLLIN)
			answer(p, k);
	close(p->listener); /* a thread that waits for an answer goes on */
	pthread_join(thread, NULL);
	close(p->ready[0]);
	return p->listener >= 0;
}

/* ---- events ---- */

#define SAMPLED(how) HEAD "  " how " (perf_event_paranoid 3)"
#define ALL	     SAMPLED("ok    events     kernel and user code can be sampled") "\n"
#define USER                                                                                       \
	SAMPLED("note  events     user code alone can be sampled")                                 \
	" → graphs have no kernel frames\n"
#define DENIED                                                                                     \
	SAMPLED("no    events     the kernel refuses perf_event_open(2)")                          \
	" → run it on the host; look at seccomp and SELinux\n"
#define STACKS	 "  ok    stacks     registers and %u KiB of stack with each sample\n"
#define COUNTERS "  ok    counters   perf samples by the processor's cycles\n"
#define NO_COPY                                                                                    \
	"  note  stacks     no registers and copies of the stack: %s → --unwind fp; start JVMs " \
	"with -XX:+PreserveFramePointer\n"

static void check_events(struct kernel k, const char *want, const char *name)
{
	struct prober p;

	probe_on(&k, probe_events, &p);
	check_printed(want, name);
}

/* Case 70: what the kernel allows, with perf_event_paranoid 3. */
static void test_events(void)
{
	CLEANUP(free) char *stacks = xasprintf(STACKS, probe_stack_bytes() >> 10);
	CLEANUP(free) char *all = xasprintf(ALL "%s" COUNTERS, stacks);
	CLEANUP(free) char *user = xasprintf(USER "%s" COUNTERS, stacks);
	CLEANUP(free) char *no_copy = xasprintf(ALL NO_COPY COUNTERS, strerror(EOPNOTSUPP));
	CLEANUP(free)
	char *no_counters = xasprintf(ALL "%s  note  counters   none, as in most virtual "
					  "machines → perf samples by a timer, cpu-clock\n",
				      stacks);
	CLEANUP(free)
	char *no_cycles = xasprintf(ALL "%s  note  counters   none: %s → perf samples by a "
					"timer, cpu-clock\n",
				    stacks, strerror(EINVAL));
	CLEANUP(free)
	char *none = xasprintf(HEAD "  no    events     perf_event_open(2): %s → a kernel with "
				    "CONFIG_PERF_EVENTS\n",
			       strerror(ENOSYS));

	put("proc/sys/kernel/perf_event_paranoid", "3\n");
	check_events((struct kernel){0}, all, "a kernel that allows everything");
	check_events((struct kernel){.kernel = EACCES}, user, "one that hides itself");
	check_events((struct kernel){.kernel = EPERM}, user, "with the other error, too");
	check_events((struct kernel){.kernel = EACCES, .user = EACCES}, DENIED,
		     "one that refuses user code, too: nothing else is tried");
	check_events((struct kernel){.kernel = EPERM, .user = EPERM}, DENIED,
		     "one whose filter refuses the call");
	check_events((struct kernel){.kernel = ENOSYS}, none, "one without events");
	check_events((struct kernel){.stack = EOPNOTSUPP}, no_copy,
		     "one that cannot copy the stack");
	check_events((struct kernel){.cycles = ENOENT}, no_counters,
		     "a virtual machine without counters");
	check_events((struct kernel){.cycles = EINVAL}, no_cycles, "counters that fail");
	take_away("proc/sys/kernel/perf_event_paranoid");
	check_events((struct kernel){.kernel = EACCES, .user = EACCES},
		     HEAD "  no    events     the kernel refuses perf_event_open(2) "
			  "(perf_event_paranoid 2) → run it on the host; look at seccomp and "
			  "SELinux\n",
		     "an unknown setting is taken for the kernel's own");
}

/* The events are those that perf opens (record/perf.h), of this process alone, and never count. */
static void test_attributes(void)
{
	struct prober p;

	probe_on(&(struct kernel){0}, probe_events, &p);
	if (!is_int((int64_t)p.count, 3, "three sorts of events are tried"))
		return;
	for (size_t i = 0; i < p.count; i++) {
		const struct perf_event_attr *a = &p.calls[i];

		is_int(a->size, sizeof(*a), "event %zu: its size is right", i);
		ok(a->disabled, "it does not count");
		ok(a->freq && a->sample_freq == PERF_FREQUENCY, "it has perf's frequency");
		ok(a->use_clockid && a->clockid == CLOCK_MONOTONIC, "and the snapshots' clock");
		is_int(a->sample_type & (PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME |
					 PERF_SAMPLE_CALLCHAIN),
		       PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_CALLCHAIN,
		       "and what a stack needs");
		ok(p.others[i][0] == 0 && (int)p.others[i][1] == -1 && (int)p.others[i][2] == -1 &&
			   p.others[i][3] == PERF_FLAG_FD_CLOEXEC,
		   "it is of this process, on any processor, and not inherited by programs");
	}
	ok(p.calls[0].type == PERF_TYPE_SOFTWARE && p.calls[0].config == PERF_COUNT_SW_CPU_CLOCK &&
		   !p.calls[0].exclude_kernel && !p.calls[0].sample_stack_user,
	   "the first is a timer, with the kernel");
	ok(p.calls[1].type == PERF_TYPE_SOFTWARE && p.calls[1].exclude_kernel &&
		   (p.calls[1].sample_type & PERF_SAMPLE_REGS_USER) &&
		   p.calls[1].sample_regs_user && p.calls[1].exclude_callchain_user,
	   "the second is of user code, with registers in place of frame pointers");
	is_int(p.calls[1].sample_stack_user, probe_stack_bytes(), "and with the stack");
	ok(p.calls[2].type == PERF_TYPE_HARDWARE && p.calls[2].config == PERF_COUNT_HW_CPU_CYCLES &&
		   p.calls[2].exclude_kernel && !p.calls[2].sample_stack_user,
	   "the third is of cycles");
}

/* ---- an explanation ---- */

static struct err explained;

static void explain(const struct probe *p)
{
	(void)p;
	err_set(&explained, 7, "perf recorded nothing");
	probe_explain("/nonexistent", &explained);
}

/* The first thing that is missing on this machine, or NULL. */
static const struct finding *first_missing(void)
{
	for (size_t i = 0; i < found.count; i++)
		if (found.list[i].state == FINDING_NO)
			return &found.list[i];
	return NULL;
}

static void explain_again(const struct probe *p)
{
	struct probe real = *p;

	real.rootfd = open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	probe_rights(&real);
	probe_events(&real);
	probe_buffers(&real);
	close(real.rootfd);
}

static void check_explained(struct kernel k, const char *name)
{
	CLEANUP(free) char *want = NULL;
	const struct finding *f;
	struct prober p;

	probe_on(&k, explain, &p);
	probe_on(&k, explain_again, &p);
	f = first_missing();
	want = f ? xasprintf("perf recorded nothing: %s; %s: %s", strerror(7), f->why, f->advice)
		 : xasprintf("perf recorded nothing: %s", strerror(7));
	is_str(explained.msg, want, "%s", name);
	is_int(explained.code, f ? 0 : 7, "its code is the system's only if nothing was added");
}

static void test_explain(void)
{
	check_explained((struct kernel){0}, "where nothing is missing an error stays as it is");
	check_explained((struct kernel){.kernel = ENOSYS},
			"where something is missing the first such thing is added");
}

/* ---- perf itself, and its buffers ---- */

static void test_perf(void)
{
	char *argv[] = {(char *)"perf", (char *)"version", NULL};
	CLEANUP(str_fini) struct str out = {0};
	int status = child_capture(argv, NULL, -1, 10000, 4096, &out, &err);

	/* Three seconds may be too few on a busy machine. */
	for (int i = 0; i < 20 && (i == 0 || strstr(found.list[0].why, "timed out")); i++) {
		forget();
		probe_perf(&machine);
	}
	is_int((int64_t)found.count, 1, "there is one finding about perf");
	if (status < 0) {
		check_found("perf", FINDING_NO, "not installed",
			    "on Debian: apt-get install linux-perf", "perf is not there");
	} else if (status > 0) {
		check_found("perf", FINDING_NO, "`perf version` fails: see what it says",
			    "install the one of this kernel", "perf fails");
	} else {
		out.buf[strcspn(out.buf, "\n")] = '\0';
		check_found("perf", FINDING_OK, out.buf + strlen("perf version "), "",
			    "perf has its version");
	}
}

static void check_buffers(const char *kb, const char *caps, bool enough, const char *name)
{
	CLEANUP(free)
	char *want = enough ? xasprintf("4M for each of %zu processors (perf_event_mlock_kb %s)",
					probe_cpus(), kb)
			    : xasprintf("no CAP_IPC_LOCK, and perf_event_mlock_kb %s is less than "
					"4M",
					kb);

	put("proc/sys/kernel/perf_event_mlock_kb", kb);
	put("proc/self/status", caps);
	forget();
	probe_buffers(&machine);
	check_found("buffers", enough ? FINDING_OK : FINDING_NO, want,
		    enough ? "" : "sysctl kernel.perf_event_mlock_kb=4100", name);
}

static void test_buffers(void)
{
	static const char lock[] = "Name:\tx\nCapEff:\t0000000000004000\n",
			  none[] = "Name:\tx\nCapEff:\t0000000000000000\n";

	check_buffers("516", none, false, "the kernel's own limit is too small for perf's buffers");
	check_buffers("4096", none, false, "perf needs a page more than the buffer");
	check_buffers("4097", none, true, "which is enough");
	check_buffers("516", lock, true, "the limit does not count with CAP_IPC_LOCK");
	take_away("proc/sys/kernel/perf_event_mlock_kb");
	put("proc/self/status", none);
	finds(probe_buffers, "buffers", FINDING_NO, "perf_event_mlock_kb 516 is less");
}

int main(void)
{
	struct prober p;

	doctorbox_make();
	test_perf();
	test_buffers();
	if (probe_on(&(struct kernel){0}, probe_events, &p)) {
		test_events();
		test_attributes();
		test_explain();
	} else {
		ok(true, "events # SKIP no filter with a listener can be made here");
	}
	doctorbox_remove();
	return tap_done();
}
