// SPDX-License-Identifier: Apache-2.0
/* The file and the signal that make a JVM listen ("injector/socket.c"), and what may lie at the
 * file's name. */
#include "injector/process.h"

#include "lib/attachtalk.h"

#define SILENT "it does not open its socket (-XX:+DisableAttachMechanism, hung, or very busy)"

/* ---- the signal ---- */

static void test_triggered(void)
{
	struct attachjvm j = {.reply = "1\n"};
	struct talk t = talk_to(start(&j), 20000);

	is_int(t.result, ATTACH_OK, "a JVM that does not listen yet is made to");
	is_str(t.reply, "1\n", "it replies");
	is_int(t.sent, 1, "by one signal");
	is_int(j.log->file_mode & 07777, 0600, "the file that asks for it is its user's only");
	ok(!t.left_a_file, "the file is removed");
	t = talk_to(&j, 20000);
	is_int(t.result, ATTACH_OK, "it is talked to again");
	is_int(t.sent, 1, "without another signal");
	attachjvm_end(&j);
}

static void test_never_listens(void)
{
	struct attachjvm j = {.cwd = "/nowhere", .tmp = "/nowhere"};
	CLEANUP(free) char *file = NULL;
	struct jvm_process p;
	struct talk t;

	attachjvm_start(&j);
	file = xasprintf("%s/.attach_pid%d", tmp, (int)j.pid);
	p = process_of(&j);
	t = say(&j, &p, "", 0, 150);
	check(&t, ATTACH_DISABLED, ETIMEDOUT, SILENT, "a JVM that does not listen");
	is_int(t.sent, 1, "gets one signal");
	ok(access(file, F_OK) < 0, "the file that asked for its socket is removed");
	p.attach_disabled = true;
	t = say(&j, &p, "", 0, 1000);
	check(&t, ATTACH_DISABLED, 0, ATTACH_DISABLED_TEXT, "one whose options say so");
	is_int(t.sent, 1, "gets no further one");
	process_close(&p);
	p = process_of(&j);
	kill(j.pid, SIGSTOP);
	while (process_check(&p, &t.err) != ATTACH_STOPPED)
		sleep_ms(1);
	t = say(&j, &p, "", 0, 1000);
	check(&t, ATTACH_STOPPED, 0, "it is stopped; nothing was sent to it", "a stopped one");
	kill(j.pid, SIGCONT);
	process_close(&p);
	attachjvm_end(&j);
	j = (struct attachjvm){.is_deaf = true};
	attachjvm_start(&j);
	p = process_of(&j);
	t = say(&j, &p, "", 0, 1000);
	is_int(t.result, ATTACH_NOT_READY, "a process that a signal would end gets none");
	is_int(waitpid(j.pid, NULL, WNOHANG), 0, "it lives");
	process_close(&p);
	attachjvm_end(&j);
}

static void test_disabled_but_listening(void)
{
	struct attachjvm j = {.listens = true};
	struct jvm_process p = process_of(start(&j));
	struct talk t;

	p.attach_disabled = true;
	t = say(&j, &p, LOAD, sizeof(LOAD) - 1, 20000);
	is_int(t.result, ATTACH_OK, "a JVM that listens is asked, whatever its options say");
	process_close(&p);
	attachjvm_end(&j);
}

/* ---- the file that asks for the socket ---- */

static void test_no_tmp(void)
{
	struct attachjvm j = {0};
	struct jvm_process p = process_of(start(&j));
	CLEANUP(free) char *gone = path_of("gone");
	struct talk t;

	mkdir(gone, 0700);
	close(p.tmpfd);
	p.tmpfd = open(gone, O_PATH | O_DIRECTORY | O_CLOEXEC);
	rmdir(gone);
	t = say(&j, &p, "", 0, 1000);
	check(&t, ATTACH_NO_TMP, ENOENT, ATTACH_NO_TMP_TEXT, "a /tmp without room for a file");
	is_int(t.sent, 0, "no signal is sent");
	process_close(&p);
	attachjvm_end(&j);
}

static void test_name_taken(void)
{
	struct attachjvm j = {0};
	CLEANUP(free) char *in_tmp = attachjvm_name(start(&j), "attach");
	CLEANUP(free) char *in_cwd = xasprintf("%s/.attach_pid%d", cwd, (int)j.pid);
	CLEANUP(free)
	char *message = xasprintf("/tmp/.attach_pid%d is in the way, and cannot create a file in "
				  "its working directory",
				  (int)j.pid);
	struct jvm_process p = process_of(&j);
	struct talk t;

	mkdir(in_tmp, 0700);
	mkdir(in_cwd, 0700);
	t = say(&j, &p, "", 0, 1000);
	check(&t, ATTACH_REFUSED, EEXIST, message, "names that are taken");
	rmdir(in_cwd);
	close(p.cwdfd);
	p.cwdfd = -1;
	t = say(&j, &p, "", 0, 1000);
	check(&t, ATTACH_REFUSED, EEXIST, message, "no working directory");
	is_int(t.sent, 0, "without the file no signal is sent");
	process_close(&p);
	t = talk_to(&j, 20000);
	is_int(t.result, ATTACH_OK, "a name that is taken in /tmp is free in the directory");
	ok(t.left_a_file, "what was in /tmp stays");
	ok(access(in_cwd, F_OK) < 0, "the file in the directory is removed");
	rmdir(in_tmp);
	attachjvm_end(&j);
}

static void test_link_in_the_way(void)
{
	struct attachjvm j = {0};
	CLEANUP(free) char *in_tmp = attachjvm_name(start(&j), "attach");
	CLEANUP(free) char *victim = path_of("victim");
	struct talk t;

	put_file(victim);
	(void)!symlink(victim, in_tmp);
	t = talk_to(&j, 20000);
	is_int(t.result, ATTACH_OK, "a link at the file's name is not taken for a client's file");
	ok(t.left_a_file && access(victim, F_OK) == 0, "it stays, and so does what it points to");
	attachjvm_end(&j);
	unlink(victim);
}

/* The JVM is made to listen by another client, while this one waits. */
static void listen_later(struct attachjvm *j)
{
	(void)j;
	sleep_ms(30);
}

static void test_other_client(void)
{
	struct attachjvm j = {.on_quit = listen_later};
	CLEANUP(free) char *in_tmp = attachjvm_name(start(&j), "attach");
	struct talk t;

	put_file(in_tmp);
	t = talk_to(&j, 60);
	is_int(t.result, ATTACH_DISABLED, "the file of another client is waited for");
	is_int(t.sent, 0, "that client sends the signal");
	ok(t.left_a_file, "at the deadline the file is left to it");
	kill(j.pid, SIGQUIT);
	while (!j.log->quits)
		sleep_ms(1);
	t = talk_to(&j, 20000);
	is_int(t.result, ATTACH_OK, "a JVM that another client has made listen is talked to");
	is_int(t.sent, 1, "it gets no second signal");
	ok(t.left_a_file, "the file is left to that client");
	attachjvm_end(&j);
}

/* ---- those that take a second, all at once ---- */

struct slow {
	void (*run)(struct talk *);
	struct talk *result;
	pid_t pid;
};

/* A client that was killed has left its file. */
static void dead_client(struct talk *ret)
{
	struct attachjvm j = {0};
	CLEANUP(free) char *in_tmp = attachjvm_name(start(&j), "attach");

	put_file(in_tmp);
	*ret = talk_to(&j, 20000);
	attachjvm_end(&j);
}

/* The first signal came too early. */
static void lost_signal(struct talk *ret)
{
	struct attachjvm j = {.cwd = "/nowhere", .tmp = "/nowhere"};
	struct jvm_process p;

	attachjvm_start(&j);
	p = process_of(&j);
	*ret = say(&j, &p, "", 0, 1300);
	process_close(&p);
	attachjvm_end(&j);
}

/* The same, of a process that started when the machine did. */
static void old_process(struct talk *ret)
{
	struct attachjvm j = {.cwd = "/nowhere", .tmp = "/nowhere"};
	CLEANUP(free) char *dir = path_of("proc");
	CLEANUP(str_fini) struct str text = {0};
	const char *stat_text = "1 (j) S 1 1 1 0 1 1 1 1 1 1 1 1 1 1 1 1 1 0 0 1 ";
	struct jvm_process p;
	struct err err;
	int fd = fs_make_dirs(dir, 0700, &err);

	attachjvm_start(&j);
	p = process_of(&j);
	if (fs_read_file(p.procfd, "status", 65536, &text, &err) < 0 ||
	    fs_replace_file(fd, "status", 0600, text.buf, text.len, &err) < 0 ||
	    fs_replace_file(fd, "stat", 0600, stat_text, strlen(stat_text), &err) < 0)
		abort();
	close(p.procfd);
	p.procfd = fd;
	*ret = say(&j, &p, "", 0, 1300);
	process_close(&p);
	attachjvm_end(&j);
}

static void start_slow(struct slow *s, void (*run)(struct talk *))
{
	s->run = run;
	s->result = mmap(NULL, sizeof(*s->result), PROT_READ | PROT_WRITE,
			 MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	s->pid = fork();
	if (s->pid == 0) {
		run(s->result);
		fflush(stdout);
		_exit(0);
	}
}

static struct talk *wait_for_slow(struct slow *s)
{
	waitpid(s->pid, NULL, 0);
	return s->result;
}

int main(void)
{
	struct slow dead, lost, old;
	struct talk *t;

	talk_begin();
	start_slow(&dead, dead_client);
	start_slow(&lost, lost_signal);
	start_slow(&old, old_process);
	test_triggered();
	test_never_listens();
	test_disabled_but_listening();
	test_no_tmp();
	test_name_taken();
	test_link_in_the_way();
	test_other_client();
	t = wait_for_slow(&dead);
	is_int(t->result, ATTACH_OK, "the file of a client that was killed is used in the end");
	is_int(t->sent, 1, "with one signal");
	ok(!t->left_a_file, "it is removed");
	t = wait_for_slow(&lost);
	is_int(t->result, ATTACH_DISABLED, "a JVM that just started and does not listen");
	is_int(t->sent, 2, "gets a second signal: it may have lost the first");
	t = wait_for_slow(&old);
	is_int(t->result, ATTACH_DISABLED, "a JVM that started long ago and does not listen");
	is_int(t->sent, 1, "gets one signal: it would print its threads");
	talk_end();
	return tap_done();
}
