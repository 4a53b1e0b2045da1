// SPDX-License-Identifier: Apache-2.0
/* The exchange with a JVM's socket ("injector/socket.c"): JVMs that answer, that end in the middle,
 * that do neither, and what may lie at the socket's name. */
#include "injector/process.h"

#include <poll.h>

#include "injector/wire.h"
#include "lib/attachtalk.h"

#define ENDED "the JVM ended meanwhile"

/* ---- good ones ---- */

static void test_listening(void)
{
	struct attachjvm j = {.listens = true};
	struct talk t = talk_to(start(&j), 20000);

	is_int(t.result, ATTACH_OK, "a JVM that listens is talked to");
	is_str(t.reply, ATTACHJVM_LOADED, "its reply is what it said");
	is_int(t.sent, 0, "no signal is sent to it");
	ok(j.log->len == sizeof(LOAD) - 1 && !memcmp(j.log->request, LOAD, j.log->len),
	   "it gets the request as it is");
	attachjvm_end(&j);
}

static void in_pieces(struct attachjvm *j, int conn)
{
	for (const char *p = j->reply; *p; p++)
		(void)!write(conn, p, 1);
}

static void long_reply(struct attachjvm *j, int conn)
{
	static char bytes[WIRE_REPLY_MAX + 1];

	memset(bytes, 'A', sizeof(bytes));
	(void)!write(conn, bytes, *j->reply == '+' ? sizeof(bytes) : sizeof(bytes) - 1);
}

static void without_end(struct attachjvm *j, int conn)
{
	(void)j;
	while (write(conn, "A", 1) == 1)
		;
}

static void test_replies(void)
{
	struct talk t = meet((struct attachjvm){.listens = true,
						.reply = "0\nreturn code: 7\n",
						.answer = in_pieces},
			     20000);

	is_int(t.result, ATTACH_OK, "a reply may come in pieces");
	is_str(t.reply, "0\nreturn code: 7\n", "they are put together");
	t = meet((struct attachjvm){.listens = true, .reply = "=", .answer = long_reply}, 20000);
	is_int(t.result, ATTACH_OK, "the longest reply is taken");
	is_int(t.len, WIRE_REPLY_MAX, "all of it");
	t = meet((struct attachjvm){.listens = true, .reply = "+", .answer = long_reply}, 20000);
	check(&t, ATTACH_FAILED, EMSGSIZE, "the reply is too long", "a byte more");
	t = meet((struct attachjvm){.listens = true, .answer = without_end}, 20000);
	check(&t, ATTACH_FAILED, EMSGSIZE, "the reply is too long", "a reply without end");
}

/* Reads nothing: the kernel tells the client when the connection is closed. */
static void answer_first(struct attachjvm *j, int listener)
{
	int conn = accept(listener, NULL, NULL);
	char byte;

	(void)!read(conn, &byte, 1);
	(void)!write(conn, j->reply, strlen(j->reply));
	close(conn);
}

static void close_early(struct attachjvm *j, int listener)
{
	int conn = accept(listener, NULL, NULL);
	struct pollfd p = {.fd = conn, .events = POLLIN};

	(void)j;
	poll(&p, 1, -1);
	close(conn);
}

static void test_long_request(void)
{
	static char big[2 + 7 + (700u << 10)] = "2\000716800";
	struct attachjvm j = {.listens = true};
	struct attachjvm hasty = {.listens = true, .serve = close_early};
	struct jvm_process p = process_of(start(&j));
	struct talk t;

	memset(big + 9, 'x', sizeof(big) - 9);
	big[sizeof(big) - 1] = 'y';
	t = say(&j, &p, big, sizeof(big), 20000);
	is_int(t.result, ATTACH_OK, "a request of more than a socket holds is sent in pieces");
	is_str(t.reply, ATTACHJVM_LOADED, "it is answered");
	ok(j.log->len == sizeof(big) && !memcmp(j.log->request, big, sizeof(big)),
	   "all of it arrives");
	process_close(&p);
	attachjvm_end(&j);
	p = process_of(start(&hasty));
	t = say(&hasty, &p, big, sizeof(big), 20000);
	is_int(t.result, ATTACH_FAILED, "a JVM that closes during a request has failed");
	ok(strstr(t.err.msg, "send the request: ") == t.err.msg, "the message names the step");
	ok(t.err.code == EPIPE || t.err.code == ECONNRESET, "the code is the system's (%d)",
	   t.err.code);
	process_close(&p);
	attachjvm_end(&hasty);
}

static void test_reply_before_request(void)
{
	struct talk t =
		meet((struct attachjvm){.listens = true, .reply = "101\n", .serve = answer_first},
		     20000);

	is_int(t.result, ATTACH_OK, "a JVM may reply before it has read the request");
	is_str(t.reply, "101\n", "that is a reply, too");
}

/* ---- silent ones ---- */

static void stay(struct attachjvm *j, int fd)
{
	(void)j;
	(void)fd;
	pause();
}

static void hang_up(struct attachjvm *j, int conn)
{
	(void)j;
	(void)conn;
}

static void reset(struct attachjvm *j, int listener)
{
	int conn = accept(listener, NULL, NULL);
	char byte;

	(void)j;
	(void)!read(conn, &byte, 1);
	close(conn);
}

static void fill(struct attachjvm *j, int listener)
{
	CLEANUP(free) char *name = attachjvm_name(j, "java");
	struct sockaddr_un addr = {.sun_family = AF_UNIX};
	int n = 0;

	(void)listener;
	snprintf(addr.sun_path, sizeof(addr.sun_path), "%s", name);
	while (n >= 0) {
		n = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0);
		if (connect(n, (struct sockaddr *)&addr, sizeof(addr)) < 0)
			break;
	}
	j->log->conns = 1;
	pause();
}

static void test_silent(void)
{
	struct attachjvm full = {.listens = true, .serve = fill, .backlog = 1};
	CLEANUP(free) char *message = NULL;
	struct talk t = meet((struct attachjvm){.listens = true, .answer = stay}, 120);

	check(&t, ATTACH_FAILED, ETIMEDOUT, "the JVM does not reply", "a JVM without a reply");
	ok(t.ms >= 119 && t.ms < 20000, "it is given up at the deadline (%u ms)", (unsigned)t.ms);
	t = meet((struct attachjvm){.listens = true, .serve = stay}, 50);
	check(&t, ATTACH_FAILED, ETIMEDOUT, "the JVM does not reply", "one that accepts nothing");
	t = meet((struct attachjvm){.listens = true, .answer = hang_up}, 20000);
	check(&t, ATTACH_FAILED, 0, "the JVM closed the connection without a reply",
	      "one that hangs up");
	t = meet((struct attachjvm){.listens = true, .serve = reset}, 20000);
	check(&t, ATTACH_FAILED, ECONNRESET, "receive the reply", "one that reads a part");
	start(&full);
	while (!full.log->conns)
		sleep_ms(1);
	t = talk_to(&full, 60);
	message = xasprintf("/tmp/.java_pid%d accepts no connection", (int)full.pid);
	check(&t, ATTACH_FAILED, ETIMEDOUT, message, "one whose queue is full");
	is_int(t.sent, 0, "a JVM that listens gets no signal, whatever it does");
	attachjvm_end(&full);
}

/* ---- those that end ---- */

static void end_now(struct attachjvm *j)
{
	(void)j;
	_exit(0);
}

static void end_at_request(struct attachjvm *j, int conn)
{
	(void)j;
	(void)conn;
	_exit(0);
}

static void end_at_connection(struct attachjvm *j, int listener)
{
	(void)j;
	accept(listener, NULL, NULL);
	_exit(0);
}

/* Ends, and leaves all that is open to a child that lives as long as the test. */
static void leave_to_child(struct attachjvm *j, int fd)
{
	pid_t test = getppid();
	struct actor a;

	(void)j;
	(void)fd;
	if (actor_fork(&a)) {
		prctl(PR_SET_PDEATHSIG, 0);
		actor_tell(&a);
		while (kill(test, 0) == 0 && access(tmp, F_OK) == 0)
			sleep_ms(2);
		_exit(0);
	}
	actor_wait(&a);
	_exit(0);
}

static void test_ends(void)
{
	static const struct {
		struct attachjvm j;
		const char *when;
	} rows[] = {
		{{.on_quit = end_now}, "when it gets the signal"},
		{{.listens = true, .serve = end_at_connection}, "when a client connects"},
		{{.listens = true, .answer = end_at_request}, "when it has the request"},
		{{.listens = true, .answer = leave_to_child}, "before the connection does"},
	};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		CLEANUP(free) char *who = xasprintf("a JVM that ends %s", rows[i].when);
		struct talk t = meet(rows[i].j, 20000);

		check(&t, ATTACH_GONE, ESRCH, ENDED, who);
		ok(t.ms < 19000, "%s: it is noticed before the deadline", who);
		ok(!t.left_a_file, "%s: no file is left", who);
	}
}

static void test_ended_before(void)
{
	struct attachjvm j = {.listens = true, .serve = leave_to_child};
	struct jvm_process p;
	siginfo_t info;
	struct talk t;

	p = process_of(start(&j));
	waitid(P_PID, (id_t)j.pid, &info, WEXITED | WNOWAIT);
	t = say(&j, &p, LOAD, sizeof(LOAD) - 1, 20000);
	check(&t, ATTACH_GONE, ESRCH, ENDED, "a JVM that ended, whose child listens in its name");
	process_close(&p);
	attachjvm_end(&j);
}

/* ---- what lies at the socket's name ---- */

/* Binds a socket at a JVM's name and closes it: nobody listens. */
static void put_dead_socket(const char *name)
{
	struct sockaddr_un addr = {.sun_family = AF_UNIX};
	int sock = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	snprintf(addr.sun_path, sizeof(addr.sun_path), "%s", name);
	if (bind(sock, (struct sockaddr *)&addr, sizeof(addr)) < 0)
		abort();
	close(sock);
}

static void test_dead_socket(void)
{
	struct attachjvm j = {0};
	CLEANUP(free) char *name = attachjvm_name(start(&j), "java");
	struct talk t;

	put_dead_socket(name);
	t = talk_to(&j, 20000);
	is_int(t.result, ATTACH_OK, "the socket of a dead JVM of the same pid is replaced");
	is_int(t.sent, 1, "after one signal");
	attachjvm_end(&j);
}

static void test_no_socket(void)
{
	struct attachjvm j = {0}, other = {.listens = true};
	CLEANUP(free) char *name = attachjvm_name(start(&j), "java");
	CLEANUP(free) char *others = attachjvm_name(start(&other), "java");
	CLEANUP(free)
	char *no_socket = xasprintf("/tmp/.java_pid%d is not a socket", (int)j.pid);
	CLEANUP(free)
	char *impostor = xasprintf("process %d of user %u listens on /tmp/.java_pid%d, not the JVM",
				   (int)other.pid, (unsigned)geteuid(), (int)j.pid);
	struct talk t;

	put_file(name);
	t = talk_to(&j, 1000);
	check(&t, ATTACH_REFUSED, 0, no_socket, "a file at the socket's name");
	unlink(name);
	(void)!symlink(others, name);
	t = talk_to(&j, 1000);
	check(&t, ATTACH_REFUSED, 0, no_socket, "a link there");
	unlink(name);
	(void)!link(others, name);
	t = talk_to(&j, 1000);
	check(&t, ATTACH_REFUSED, 0, impostor, "another process's socket there");
	is_int(other.log->len, 0, "nothing is sent to that process");
	is_int(t.sent, 0, "no signal is sent to the JVM");
	attachjvm_end(&j);
	attachjvm_end(&other);
}

/* Case 53: the user of the socket is not the one that was checked. */
static void test_other_user(void)
{
	struct attachjvm j = {.listens = true};
	CLEANUP(free) char *name = attachjvm_name(start(&j), "java");
	struct jvm_process p = process_of(&j);
	CLEANUP(free)
	char *owner = xasprintf("/tmp/.java_pid%d belongs to user %u, the JVM to %u", (int)j.pid,
				(unsigned)geteuid(), (unsigned)geteuid() + 7);
	CLEANUP(free)
	char *peer = xasprintf("process %d of user %u listens on /tmp/.java_pid%d, not the JVM",
			       (int)j.pid, (unsigned)geteuid(), (int)j.pid);
	struct talk t;

	p.st.euid = geteuid() + 7;
	t = say(&j, &p, LOAD, sizeof(LOAD) - 1, 1000);
	check(&t, ATTACH_REFUSED, 0, owner, "a socket of another user");
	if (geteuid() == 0 && chown(name, 7, 7) == 0) {
		t = say(&j, &p, LOAD, sizeof(LOAD) - 1, 1000);
		check(&t, ATTACH_REFUSED, 0, peer, "a listener of another user");
	} else {
		ok(true, "a listener of another user # SKIP not root");
	}
	is_int(t.sent, 0, "no signal is sent");
	process_close(&p);
	attachjvm_end(&j);
}

int main(void)
{
	talk_begin();
	test_listening();
	test_replies();
	test_long_request();
	test_reply_before_request();
	test_silent();
	test_ends();
	test_ended_before();
	test_dead_socket();
	test_no_socket();
	test_other_user();
	talk_end();
	return tap_done();
}
