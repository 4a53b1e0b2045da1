// SPDX-License-Identifier: Apache-2.0
/* Lines on stderr: a file, and a terminal. */
#include "common/log.h"

#include <fcntl.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>

#include "lib/printed.h"
#include "lib/tap.h"

static struct catcher catcher;

static void begin(void)
{
	catcher = catch_begin(stderr, STDERR_FILENO);
}

static void check_written(const char *want, const char *name)
{
	CLEANUP(free) char *got = caught(&catcher);

	is_str(got, want, "%s", name);
}

static void write_all(void)
{
	begin();
	log_error("a %d", 1);
	log_warn("b %s", "x");
	log_info("c");
	log_progress("d");
}

static void test_lines(void)
{
	write_all();
	check_written("dfg: a 1\ndfg: warning: b x\ndfg: c\n",
		      "a line has the program's name, and no progress is written to a file");
	log_init("dfg-test");
	log_quiet(true);
	write_all();
	check_written("dfg-test: a 1\ndfg-test: warning: b x\n",
		      "errors and warnings alone are written when it is quiet");
	log_quiet(false);
	write_all();
	check_written("dfg-test: a 1\ndfg-test: warning: b x\ndfg-test: c\n",
		      "all is written again when it is not");
}

static void check_long(int digits, size_t want, const char *name)
{
	CLEANUP(free) char *got = NULL;

	begin();
	log_error("%0*d", digits, 7);
	got = caught(&catcher);
	is_int((int64_t)strlen(got), (int64_t)want, "%s", name);
	ok(strchr(got, '\n') == got + strlen(got) - 1, "it ends with the only newline");
	ok(has_prefix(got, "dfg-test: 0"), "it begins with the program's name");
}

static void test_long(void)
{
	check_long(1000, 10 + 1000 + 1, "a line of a thousand characters is whole");
	check_long(1023, 10 + 1023 + 1, "the longest has a buffer of 1024 bytes");
	check_long(1024, 10 + 1023 + 1, "one that is longer is cut");
	check_long(5000, 10 + 1023 + 1, "however long it is");
}

static void test_clean(void)
{
	begin();
	log_warn("read %s", "a\033]0;title\a\n\u202eb");
	check_written("dfg-test: warning: read a?]0;title???b\n",
		      "what a message quotes does not control the terminal");
}

/* ---- a terminal ---- */

static int terminal;

/* Checks all that the terminal has got since, up to the byte that is written here. */
static void check_shown(const char *want, const char *name)
{
	char got[512] = "";
	size_t len = 0;
	ssize_t n;

	(void)!write(STDERR_FILENO, "#", 1);
	while (len + 1 < sizeof(got) && !memchr(got, '#', len) &&
	       (n = read(terminal, got + len, sizeof(got) - 1 - len)) > 0)
		len += (size_t)n;
	got[len ? len - 1 : 0] = '\0';
	is_str(got, want, "%s", name);
}

static void test_terminal(void)
{
	int saved = dup(STDERR_FILENO), line;
	struct termios raw;

	terminal = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);
	if (terminal < 0 || grantpt(terminal) < 0 || unlockpt(terminal) < 0 ||
	    (line = open(ptsname(terminal), O_RDWR | O_NOCTTY | O_CLOEXEC)) < 0) {
		ok(true, "a terminal # SKIP none can be made here");
		return;
	}
	tcgetattr(line, &raw);
	cfmakeraw(&raw);
	tcsetattr(line, TCSANOW, &raw);
	dup2(line, STDERR_FILENO);
	log_progress("%s", "");
	check_shown("", "an empty progress clears nothing where there is none");
	log_progress("at %d %%", 5);
	check_shown("\r\033[Kat 5 %", "progress is a line without an end");
	log_progress("at %d %%", 6);
	check_shown("\r\033[Kat 6 %", "it is replaced by the next");
	log_info("done");
	check_shown("\r\033[Kdfg-test: done\n", "and by a line");
	log_info("more");
	check_shown("dfg-test: more\n", "which is not replaced itself");
	log_progress("x");
	log_progress("%s", "");
	check_shown("\r\033[Kx\r\033[K", "an empty progress clears the last");
	log_info("more");
	check_shown("dfg-test: more\n", "then there is none");
	log_quiet(true);
	log_progress("x");
	check_shown("", "there is none when it is quiet");
	log_quiet(false);
	dup2(saved, STDERR_FILENO);
	close(saved);
	close(line);
	close(terminal);
}

/* ---- out of memory ---- */

static void check_oom(int set, int want, const char *name)
{
	int status = 0;
	pid_t pid;

	begin();
	pid = fork();
	if (pid == 0) {
		if (set >= 0)
			log_set_oom_status(set);
		die_oom();
	}
	waitpid(pid, &status, 0);
	check_written("dfg: out of memory\n", "without memory a line is written");
	is_int(WIFEXITED(status) ? WEXITSTATUS(status) : -1, want, "%s", name);
}

int main(void)
{
	test_lines();
	test_long();
	test_clean();
	test_terminal();
	check_oom(-1, 1, "the program ends with status 1");
	check_oom(0, 0, "or with the one that was set");
	check_oom(7, 7, "whichever it is");
	return tap_done();
}
