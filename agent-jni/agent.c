// SPDX-License-Identifier: Apache-2.0
/* What the JVM calls, and the one thread that does the work.
 *
 * No JVMTI environment is taken (GetEnv(JVMTI) slows virtual threads down for good, JDK 21 and
 * later) and no function of the JVM is called. The thread that loads the agent is a Java thread: it
 * leaves its order in a queue, wakes the agent's thread, and goes. */
#include <linux/prctl.h>

#include "agent-jni/dump.h"
#include "agent-jni/events.h"
#include "agent-jni/jvm_memory.h"
#include "agent-jni/serve.h"
#include "agent-jni/sys.h"
#include "agent-jni/thread.h"

#define EXPORT	      __attribute__((visibility("default")))
#define ORDERS	      8
#define LOCK_PATIENCE 100000

static struct {
	uint32_t lock;
	/* Set by the loading thread before the thread starts. */
	const void *vm;
	int pid, tid;
	uint64_t blocked; /* the loading thread's signal mask */
	struct options options;
	struct wake wake;
	/* Of the agent's thread. */
	bool guest; /* another copy of the agent is resident: serve loads, and nothing else */
	uint32_t last_seq;
	/* Under the lock. */
	unsigned order_count;
	struct order order[ORDERS];
} agent;

/* Not for ever: in a forked child the holder may not exist. */
static bool agent_lock(void)
{
	for (int i = 0; i < LOCK_PATIENCE; i++) {
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

static bool order_push(const struct order *order)
{
	if (agent.order_count == ORDERS)
		return false;
	agent.order[agent.order_count++] = *order;
	return true;
}

static bool order_pop(struct order *ret)
{
	bool some = false;

	if (!agent_lock())
		return false;
	if (agent.order_count > 0) {
		some = true;
		*ret = agent.order[0];
		agent.order_count--;
		__builtin_memmove(agent.order, agent.order + 1,
				  agent.order_count * sizeof(agent.order[0]));
	}
	agent_unlock();
	return some;
}

static void answer(const struct order *order, uint64_t since)
{
	if (order->seq != 0 && order->seq <= agent.last_seq)
		return;
	if (serve_order(order, agent.vm, since) && order->seq != 0)
		agent.last_seq = order->seq;
}

/* The request file, or what the signal said where there is no directory for one. */
static void answer_request(uint64_t since)
{
	uint32_t value = wake_signal_value();
	struct order order;
	int found = serve_read_request(agent.options.ctl, agent.pid, &order);

	if (found < 0)
		found = order_of_pid(value, &order);
	if (found <= 0)
		return;
	__builtin_memcpy(order.dir, agent.options.dir, sizeof(order.dir));
	answer(&order, since);
}

static void work(void)
{
	uint64_t since = sys_now_us();
	struct order order;

	while (order_pop(&order)) {
		answer(&order, since);
		since = sys_now_us();
	}
	if (!agent.guest)
		answer_request(since);
}

static void settle(int tid)
{
	agent.guest = serve_other_resident(tid);
	if (agent.guest)
		return;
	wake_take_signal(&agent.wake, agent.options.signal, agent.blocked);
	wake_watch(&agent.wake, agent.options.ctl);
	serve_publish(agent.options.dir, agent.pid, tid, agent.wake.signal);
}

static void agent_main(void *arg)
{
	struct text name;
	char file[32];
	unsigned reasons;
	int tid = (int)sys_call0(__NR_gettid);

	(void)arg;
	sys_call2(__NR_prctl, PR_SET_NAME, DFG_THREAD_NAME);
	name = TEXT_OF(file);
	text_adds(&name, "request.");
	text_addu(&name, (uint64_t)agent.pid);
	settle(tid);
	do {
		work();
		do
			reasons = wake_wait(&agent.wake, file, kept_expire());
		while (reasons == 0);
		/* Mounted since, in a container that is older than the installation. */
		if (!agent.guest)
			wake_watch(&agent.wake, agent.options.ctl);
	} while (!(reasons & WAKE_LOST));
	for (;;)
		sys_call1(__NR_exit, 0);
}

/* Under the lock. */
static bool agent_is_resident(void)
{
	return agent.tid > 0 && agent.pid == (int)sys_call0(__NR_getpid) && thread_alive(agent.tid);
}

/* Under the lock. A negative errno on failure. */
static int agent_start(const void *vm, const struct options *options)
{
	int ret;

	agent.vm = vm;
	agent.pid = (int)sys_call0(__NR_getpid);
	agent.options = *options;
	agent.order_count = 0;
	agent.last_seq = 0;
	sys_call4(__NR_rt_sigprocmask, SYS_SIG_BLOCK, NULL, &agent.blocked, sizeof(agent.blocked));
	ret = wake_init(&agent.wake);
	if (ret < 0)
		return ret;
	ret = thread_start(agent_main, NULL);
	if (ret < 0)
		wake_fini(&agent.wake);
	else
		agent.tid = ret;
	return ret;
}

static int agent_load(const void *vm, const char *text)
{
	struct options options;
	int ret = DFG_AGENT_OK;

	if (!options_parse(text, &options))
		return DFG_AGENT_BAD_OPTIONS;
	/* First of all: only what is compiled from now on has it. */
	if (options.debug_info)
		self_switch_on(vm, "DebugNonSafepoints");
	if (!agent_lock())
		return DFG_AGENT_BUSY;
	if (!agent_is_resident() && agent_start(vm, &options) < 0)
		ret = DFG_AGENT_NO_THREAD;
	else if (options.has_order && !order_push(&options.order))
		ret = DFG_AGENT_BUSY;
	agent_unlock();
	if (ret == DFG_AGENT_OK)
		wake_up(&agent.wake);
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
	/* A JVM would not start if this said no. */
	agent_load(vm, options);
	return 0;
}
