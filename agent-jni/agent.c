// SPDX-License-Identifier: Apache-2.0
/* The entry points the JVM calls, and the one thread that serves requests.
 *
 * The agent gets no JVMTI environment (GetEnv(JVMTI) slows virtual threads for the rest of the
 * JVM's life, JDK 21 and later) and calls no function of the JVM. The thread that loads the agent
 * is a Java thread: it queues its request, wakes the agent's thread, and returns. */
#include <linux/prctl.h>

#include "agent-jni/agent.h"
#include "agent-jni/jvm_memory.h"
#include "agent-jni/sys.h"

#define EXPORT	   __attribute__((visibility("default")))
#define QUEUE_MAX  8
#define LOCK_TRIES 100000

static struct {
	uint32_t lock;
	/* Set by the loading thread before the thread starts. */
	const void *vm;
	int pid, tid;
	uint64_t blocked; /* the loading thread's signal mask */
	struct load_options options;
	struct events events;
	/* Used by the agent's thread only. */
	bool guest; /* another copy of the agent is resident: serve only own loads */
	uint32_t last_seq;
	/* Guarded by the lock. */
	unsigned queued;
	struct request queue[QUEUE_MAX];
} agent;

/* Gives up after a while: in a forked child the owner may not exist. */
static bool agent_lock(void)
{
	for (int i = 0; i < LOCK_TRIES; i++) {
		if (!sys_exchange(&agent.lock, 1))
			return true;
		sys_call0(__NR_sched_yield);
	}
	return false;
}

static void agent_unlock(void)
{
	sys_exchange(&agent.lock, 0);
}

static bool queue_push(const struct request *request)
{
	if (agent.queued == QUEUE_MAX)
		return false;
	agent.queue[agent.queued++] = *request;
	return true;
}

static bool queue_pop(struct request *ret)
{
	bool some = false;

	if (!agent_lock())
		return false;
	if (agent.queued > 0) {
		some = true;
		*ret = agent.queue[0];
		agent.queued--;
		__builtin_memmove(agent.queue, agent.queue + 1,
				  agent.queued * sizeof(agent.queue[0]));
	}
	agent_unlock();
	return some;
}

static void serve(const struct request *request, uint64_t since)
{
	if (request->seq != 0 && request->seq <= agent.last_seq)
		return;
	if (dump_serve(request, agent.vm, since) && request->seq != 0)
		agent.last_seq = request->seq;
}

/* Serves the request file, or the value of the signal where there is no control directory. */
static void serve_pending(uint64_t since)
{
	uint32_t value = events_signal_value();
	struct request request;
	int found = dump_read_request(agent.options.ctl, agent.pid, &request);

	if (found < 0)
		found = request_from_pid(value, &request);
	if (found <= 0)
		return;
	__builtin_memcpy(request.dir, agent.options.dir, sizeof(request.dir));
	serve(&request, since);
}

static void serve_all(void)
{
	uint64_t since = sys_now_us();
	struct request request;

	while (queue_pop(&request)) {
		serve(&request, since);
		since = sys_now_us();
	}
	if (!agent.guest)
		serve_pending(since);
}

/* Writes <dir>/agent.<pid>, if it can. */
static void publish(const char *dir, int pid, int tid, int signal)
{
	char path[AGENT_PATH_MAX + 32], line[96];
	struct text_builder t = TEXT_OF(line), name = TEXT_OF(path);
	int fd;

	text_adds(&t, "dfg1 agent signal=");
	text_addu(&t, (uint64_t)signal);
	text_adds(&t, " tid=");
	text_addu(&t, (uint64_t)tid);
	text_adds(&t, "\n");
	text_adds(&name, dir);
	text_adds(&name, "/agent.");
	text_addu(&name, (uint64_t)pid);
	sys_call3(__NR_unlinkat, AT_FDCWD, path, 0);
	fd = sys_openat(AT_FDCWD, path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, 0644);
	if (fd < 0)
		return;
	/* Readable for the host, whatever the umask. */
	sys_call2(__NR_fchmod, fd, 0644);
	sys_write(fd, line, t.len);
	sys_close(fd);
}

static bool thread_is_agent(const char *tid)
{
	static const char name[] = DFG_THREAD_NAME "\n";
	char path[64], comm[32];
	struct text_builder t = TEXT_OF(path);
	long len = 0;
	int fd;

	text_adds(&t, "/proc/self/task/");
	text_adds(&t, tid);
	text_adds(&t, "/comm");
	fd = sys_open(path, O_RDONLY);
	if (fd >= 0) {
		len = sys_read(fd, comm, sizeof(comm));
		sys_close(fd);
	}
	return len == (long)sizeof(name) - 1 && __builtin_memcmp(comm, name, (size_t)len) == 0;
}

struct dirent64 { /* getdents64(2) */
	uint64_t inode;
	int64_t next;
	uint16_t len;
	uint8_t type;
	char name[];
};

/* True if another thread of this process has the agent's name. */
static bool other_is_resident(int tid)
{
	_Alignas(struct dirent64) char buf[4096];
	int fd = sys_open("/proc/self/task", O_RDONLY | O_DIRECTORY);
	bool found = false;
	long n;

	while (fd >= 0 && !found && (n = sys_call3(__NR_getdents64, fd, buf, sizeof(buf))) > 0) {
		for (long at = 0; at < n && !found;) {
			const struct dirent64 *e = (const void *)(buf + at);
			struct text_scanner name = scan_of(e->name);
			uint64_t number;

			found = scan_number(&name, 1u << 30, &number) && (int)number != tid &&
				thread_is_agent(e->name);
			at += e->len;
		}
	}
	if (fd >= 0)
		sys_close(fd);
	return found;
}

/* Makes this thread the resident agent, unless another copy is. */
static void become_resident(int tid)
{
	agent.guest = other_is_resident(tid);
	if (agent.guest)
		return;
	events_install_signal(&agent.events, agent.options.signal, agent.blocked);
	events_watch(&agent.events, agent.options.ctl);
	publish(agent.options.dir, agent.pid, tid, agent.events.signal);
}

static void agent_main(void *arg)
{
	struct text_builder name;
	char file[32];
	unsigned set;
	int tid = (int)sys_call0(__NR_gettid);

	(void)arg;
	sys_call2(__NR_prctl, PR_SET_NAME, DFG_THREAD_NAME);
	name = TEXT_OF(file);
	text_adds(&name, "request.");
	text_addu(&name, (uint64_t)agent.pid);
	become_resident(tid);
	do {
		serve_all();
		do
			set = events_wait(&agent.events, file, dump_cache_expire());
		while (set == 0);
		/* The directory may be mounted later, in a container that is older than dfg. */
		if (!agent.guest)
			events_watch(&agent.events, agent.options.ctl);
	} while (!(set & EVENT_LOST));
	for (;;)
		sys_call1(__NR_exit, 0);
}

/* The caller has the lock. */
static bool agent_is_resident(void)
{
	return agent.tid > 0 && agent.pid == (int)sys_call0(__NR_getpid) &&
	       sys_thread_exists(agent.tid);
}

/* The caller has the lock. A negative errno on failure. */
static int agent_start(const void *vm, const struct load_options *options)
{
	int ret;

	agent.vm = vm;
	agent.pid = (int)sys_call0(__NR_getpid);
	agent.options = *options;
	agent.queued = 0;
	agent.last_seq = 0;
	sys_call4(__NR_rt_sigprocmask, SYS_SIG_BLOCK, NULL, &agent.blocked, sizeof(agent.blocked));
	ret = events_init(&agent.events);
	if (ret < 0)
		return ret;
	ret = sys_thread_start(agent_main, NULL);
	if (ret < 0)
		events_fini(&agent.events);
	else
		agent.tid = ret;
	return ret;
}

static int agent_load(const void *vm, const char *text)
{
	struct load_options options;
	int ret = DFG_AGENT_OK;

	if (!options_parse(text, &options))
		return DFG_AGENT_BAD_OPTIONS;
	/* At once: only code compiled from now on is affected. */
	if (options.debug_info)
		jvm_memory_set_flag(vm, "DebugNonSafepoints");
	if (!agent_lock())
		return DFG_AGENT_BUSY;
	if (!agent_is_resident() && agent_start(vm, &options) < 0)
		ret = DFG_AGENT_NO_THREAD;
	else if (options.has_request && !queue_push(&options.request))
		ret = DFG_AGENT_BUSY;
	agent_unlock();
	if (ret == DFG_AGENT_OK)
		events_wake(&agent.events);
	return ret;
}

EXPORT int Agent_OnAttach(void *vm, char *options, void *reserved);
EXPORT int Agent_OnLoad(void *vm, char *options, void *reserved);

EXPORT int Agent_OnAttach(void *vm, char *options, void *reserved)
{
	(void)reserved;
	return agent_load(vm, options);
}

EXPORT int Agent_OnLoad(void *vm, char *options, void *reserved)
{
	(void)reserved;
	/* The JVM does not start if this fails. */
	agent_load(vm, options);
	return 0;
}
