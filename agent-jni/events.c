// SPDX-License-Identifier: Apache-2.0
#include "agent-jni/events.h"

#include <linux/inotify.h>

#include "agent-jni/sys.h"

/* 32 to 34 are the libcs', 35 is OpenJ9's, 62 the JDK's own (it interrupts blocked I/O). */
#define SIGNAL_FIRST 36
#define SIGNAL_LAST  61

/* What the handler can reach: it runs on any thread of the JVM. */
static struct {
	int event;
	uint32_t value;
} handler_state = {.event = -1};

int wake_init(struct wake *wake)
{
	*wake = (struct wake){.inotify = -1};
	wake->event = (int)sys_call2(__NR_eventfd2, 0, O_CLOEXEC | O_NONBLOCK);
	return wake->event;
}

void wake_fini(struct wake *wake)
{
	if (wake->event >= 0)
		sys_close(wake->event);
	wake->event = -1;
}

static void event_add(int fd)
{
	uint64_t one = 1;

	sys_write(fd, &one, sizeof(one));
}

void wake_up(const struct wake *wake)
{
	event_add(wake->event);
}

void wake_watch(struct wake *wake, const char *dir)
{
	long fd;

	if (wake->inotify >= 0)
		return;
	fd = sys_call1(__NR_inotify_init1, O_CLOEXEC | O_NONBLOCK);
	if (fd < 0)
		return;
	if (sys_call3(__NR_inotify_add_watch, fd, dir, IN_MOVED_TO | IN_CLOSE_WRITE | IN_ONLYDIR) <
	    0) {
		sys_close((int)fd);
		return;
	}
	wake->inotify = (int)fd;
}

/* Async-signal-safe, no errno, no thread-local variable, no lock. */
static void on_signal(int number, struct sys_siginfo *info, void *context)
{
	(void)number;
	(void)context;
	if (info->code == SYS_SIG_QUEUE)
		sys_exchange(&handler_state.value, (uint32_t)info->value.number);
	event_add(handler_state.event);
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

void wake_take_signal(struct wake *wake, int wanted, uint64_t blocked)
{
	int n = 0;

	handler_state.event = wake->event;
	if (wanted && signal_is_free(wanted, blocked))
		n = wanted;
	for (int i = SIGNAL_FIRST; n == 0 && i <= SIGNAL_LAST; i++)
		if (signal_is_free(i, blocked))
			n = i;
	wake->signal = n && signal_handle(n) ? n : 0;
}

uint32_t wake_signal_value(void)
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

/* Takes all events there are. Whether one is of the file `name`, or may have been. */
static bool inotify_drain(struct wake *wake, const char *name)
{
	_Alignas(struct inotify_event) char buf[4096];
	bool ours = false, gone = false;

	for (;;) {
		long n = sys_read(wake->inotify, buf, sizeof(buf));

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
		sys_close(wake->inotify);
		wake->inotify = -1;
	}
	return ours;
}

unsigned wake_wait(struct wake *wake, const char *name, int ms)
{
	struct {
		int64_t sec, nsec;
	} limit = {ms / 1000, ms % 1000 * 1000000ll};
	struct sys_pollfd fds[2] = {
		{.fd = wake->event, .events = SYS_POLLIN},
		{.fd = wake->inotify, .events = SYS_POLLIN},
	};
	unsigned reasons = 0;
	uint64_t count;

	/* A negative descriptor is one that poll leaves out. */
	if (sys_call6(__NR_ppoll, SYS_ARG(fds), 2, ms < 0 ? 0 : SYS_ARG(&limit), 0, 0, 0) < 0 ||
	    (fds[0].revents & ~SYS_POLLIN)) {
		handler_state.event = -1;
		return WAKE_LOST;
	}
	if (fds[1].revents & ~SYS_POLLIN)
		wake->inotify = -1;
	if (fds[0].revents && sys_read(wake->event, &count, sizeof(count)) == sizeof(count))
		reasons |= WAKE_EVENT;
	if (wake->inotify >= 0 && fds[1].revents && inotify_drain(wake, name))
		reasons |= WAKE_FILE;
	return reasons;
}
