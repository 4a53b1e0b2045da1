// SPDX-License-Identifier: Apache-2.0
#include "agent-jni/agent.h"

#include <linux/inotify.h>

#include "agent-jni/sys.h"

/* 32 to 34 belong to the libcs, 35 to OpenJ9, 62 to the JDK (it interrupts blocked I/O). */
#define SIGNAL_FIRST 36
#define SIGNAL_LAST  61

/* The state of the signal handler, which runs on any thread of the JVM. */
static struct {
	int event;
	uint32_t value;
} handler_state = {.event = -1};

int events_init(struct events *events)
{
	*events = (struct events){.inotify = -1};
	events->wakeup = (int)sys_call2(__NR_eventfd2, 0, O_CLOEXEC | O_NONBLOCK);
	return events->wakeup;
}

void events_fini(struct events *events)
{
	if (events->wakeup >= 0)
		sys_close(events->wakeup);
	events->wakeup = -1;
}

static void eventfd_signal(int fd)
{
	uint64_t one = 1;

	sys_write(fd, &one, sizeof(one));
}

void events_wake(const struct events *events)
{
	eventfd_signal(events->wakeup);
}

void events_watch(struct events *events, const char *dir)
{
	long fd;

	if (events->inotify >= 0)
		return;
	fd = sys_call1(__NR_inotify_init1, O_CLOEXEC | O_NONBLOCK);
	if (fd < 0)
		return;
	if (sys_call3(__NR_inotify_add_watch, fd, dir, IN_MOVED_TO | IN_CLOSE_WRITE | IN_ONLYDIR) <
	    0) {
		sys_close((int)fd);
		return;
	}
	events->inotify = (int)fd;
}

/* Async-signal-safe, no errno, no thread-local variable, no lock. */
static void on_signal(int number, struct sys_siginfo *info, void *context)
{
	(void)number;
	(void)context;
	if (info->code == SYS_SIG_QUEUE)
		sys_exchange(&handler_state.value, (uint32_t)info->value.number);
	eventfd_signal(handler_state.event);
}

#if defined(__x86_64__)
void agent_restore(void);
__asm__(".pushsection .text\n"
	".hidden agent_restore\n"
	".globl agent_restore\n"
	".type agent_restore, @function\n"
	"agent_restore:\n"
	"	mov $15, %eax\n"
	"	syscall\n"
	"	ud2\n"
	".size agent_restore, .-agent_restore\n"
	".popsection\n");
#endif

static bool signal_is_free(int n, uint64_t blocked)
{
	struct sys_sigaction now;

	return (blocked >> (n - 1) & 1) == 0 &&
	       sys_call4(__NR_rt_sigaction, n, NULL, &now, sizeof(now.mask)) == 0 &&
	       now.handler == NULL;
}

static bool signal_handle(int n)
{
	struct sys_sigaction action = {
		.handler = (void *)on_signal,
		.flags = SYS_SA_SIGINFO | SYS_SA_RESTART | SYS_SA_ONSTACK,
	};

#if defined(__x86_64__)
	action.flags |= SYS_SA_RESTORER;
	action.restorer = agent_restore;
#endif
	return sys_call4(__NR_rt_sigaction, n, &action, NULL, sizeof(action.mask)) == 0;
}

void events_install_signal(struct events *events, int wanted, uint64_t blocked)
{
	int n = 0;

	handler_state.event = events->wakeup;
	if (wanted && signal_is_free(wanted, blocked))
		n = wanted;
	for (int i = SIGNAL_FIRST; n == 0 && i <= SIGNAL_LAST; i++)
		if (signal_is_free(i, blocked))
			n = i;
	events->signal = n && signal_handle(n) ? n : 0;
}

uint32_t events_signal_value(void)
{
	return sys_exchange(&handler_state.value, 0);
}

static bool name_is(const char *a, const char *b)
{
	while (*a && *a == *b) {
		a++;
		b++;
	}
	return *a == *b;
}

/* Reads all pending events. True if one is, or may have been, about the file `name`. */
static bool inotify_drain(struct events *events, const char *name)
{
	_Alignas(struct inotify_event) char buf[4096];
	bool ours = false, gone = false;

	for (;;) {
		long n = sys_read(events->inotify, buf, sizeof(buf));

		if (n <= 0)
			break;
		for (size_t at = 0; at + sizeof(struct inotify_event) <= (size_t)n;) {
			const struct inotify_event *e = (const void *)(buf + at);

			ours |= (e->mask & IN_Q_OVERFLOW) || (e->len > 0 && name_is(e->name, name));
			gone |= (e->mask & IN_IGNORED) != 0;
			at += sizeof(*e) + e->len;
		}
	}
	if (gone) {
		sys_close(events->inotify);
		events->inotify = -1;
	}
	return ours;
}

unsigned events_wait(struct events *events, const char *name, int ms)
{
	struct {
		int64_t sec, nsec;
	} limit = {ms / 1000, ms % 1000 * 1000000ll};
	struct sys_pollfd fds[2] = {
		{.fd = events->wakeup, .events = SYS_POLLIN},
		{.fd = events->inotify, .events = SYS_POLLIN},
	};
	unsigned set = 0;
	uint64_t count;

	/* poll ignores a negative descriptor. */
	if (sys_call6(__NR_ppoll, SYS_ARG(fds), 2, ms < 0 ? 0 : SYS_ARG(&limit), 0, 0, 0) < 0 ||
	    (fds[0].revents & ~SYS_POLLIN)) {
		handler_state.event = -1;
		return EVENT_LOST;
	}
	if (fds[1].revents & ~SYS_POLLIN)
		events->inotify = -1;
	if (fds[0].revents && sys_read(events->wakeup, &count, sizeof(count)) == sizeof(count))
		set |= EVENT_WAKEUP;
	if (events->inotify >= 0 && fds[1].revents && inotify_drain(events, name))
		set |= EVENT_FILE;
	return set;
}
