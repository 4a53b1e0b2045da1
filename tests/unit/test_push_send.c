// SPDX-License-Identifier: Apache-2.0
/* Pushing by the real dfg-push, to a server of one request. */
#include <arpa/inet.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/fs.h"
#include "lib/tap.h"
#include "report/push.h"

#define PROFILE "\x1f\x8bprofile\n\nof binary\0bytes"

static char dir[] = "/tmp/dfg-push.XXXXXX";

static const char *path_of(const char *name)
{
	static char path[64];

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	return path;
}

static void put(const char *name, mode_t mode, const void *bytes, size_t len)
{
	struct err err;
	int fd = open(path_of(name), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, mode);

	if (fd < 0 || fchmod(fd, mode) < 0 || fs_write_all(fd, bytes, len, &err) < 0)
		abort();
	close(fd);
}

/* A socket that listens on the loopback, and its address. */
static int listen_at(char *url, size_t size)
{
	struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
	socklen_t len = sizeof(at);
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (fd < 0 || bind(fd, (struct sockaddr *)&at, len) < 0 || listen(fd, 1) < 0 ||
	    getsockname(fd, (struct sockaddr *)&at, &len) < 0)
		abort();
	snprintf(url, size, "http://127.0.0.1:%u", ntohs(at.sin_port));
	return fd;
}

/* Reads until the profile's last byte has come, keeps the request in a file, and answers. */
static void serve(int listener, const char *answer)
{
	CLEANUP(str_fini) struct str request = {0};
	int fd = accept(listener, NULL, NULL);
	char buf[4096];
	ssize_t n;

	while (!(request.buf && memmem(request.buf, request.len, PROFILE, sizeof(PROFILE) - 1)) &&
	       (n = read(fd, buf, sizeof(buf))) > 0)
		str_add(&request, buf, (size_t)n);
	put("request", 0600, request.buf, request.len);
	(void)!write(fd, answer, strlen(answer));
	close(fd);
	_exit(0);
}

/* Pushes to a server that gives this answer. Returns push's result. */
static int push_to(const char *answer, struct err *err)
{
	struct session s = {.dirfd = -1, .mapsfd = -1, .elffd = -1, .frequency = 99};
	CLEANUP(free) char *profile = xstrdup(path_of("profile"));
	char url[64];
	int listener = listen_at(url, sizeof(url)), rc;
	pid_t server = fork();

	if (server == 0)
		serve(listener, answer);
	close(listener);
	s.started = xstrdup("2026-11-21T10:00:00Z");
	session_set_container(&s, "0123", "web", "", "", "db1");
	err->msg[0] = '\0';
	rc = push(url, &s, AT_FDCWD, profile, err);
	kill(server, SIGKILL); /* it may have got no request */
	waitpid(server, NULL, 0);
	session_fini(&s);
	return rc;
}

static bool requested(const char *text, size_t len)
{
	CLEANUP(str_fini) struct str request = {0};
	struct err err;

	return fs_read_file(AT_FDCWD, path_of("request"), 1 << 20, &request, &err) == 0 &&
	       memmem(request.buf, request.len, text, len) != NULL;
}

static void test_accepted(void)
{
	static const char headers[] = "X-Scope-OrgID: team\n\nno header\r\nX-Last: yes";
	struct err err;

	put("headers", 0600, headers, strlen(headers));
	setenv(PUSH_HEADERS, path_of("headers"), 1);
	is_int(push_to("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n", &err), 0,
	       "a profile is pushed: %s", err.msg);
#define HAS(text, name) ok(requested(text, sizeof(text) - 1), name)
	HAS("POST /ingest?format=pprof&spyName=dfg&name=web%7B", "the request goes to /ingest");
	HAS("\r\nX-Scope-OrgID: team\r\n", "it has the first line of the file of headers");
	HAS("\r\nX-Last: yes\r\n", "it has the last one, which has no newline");
	ok(!requested("no header", 9), "a line without a colon is no header");
	HAS("\r\nUser-Agent: dfg/", "it says who pushes");
	HAS("\r\n\r\n" PROFILE, "its body is the profile, from the first to the last byte");

	put("headers", 0644, headers, strlen(headers));
	ok(push("http://127.0.0.1:1", &(struct session){0}, AT_FDCWD, path_of("profile"), &err) <
			   0 &&
		   strstr(err.msg, "others may read it; chmod 600 it"),
	   "a file of headers that others may read is refused: %s", err.msg);
	unsetenv(PUSH_HEADERS);
}

static void test_refused(void)
{
	struct err err;

#define REFUSED(answer, want)                                                                      \
	do {                                                                                       \
		ok(push_to(answer, &err) < 0 &&                                                    \
			   has_prefix(err.msg, "push to http://127.0.0.1:") &&                     \
			   has_suffix(err.msg, want),                                              \
		   "it is refused: %s", err.msg);                                                  \
	} while (0)
	REFUSED("HTTP/1.1 401 No\r\nContent-Length: 10\r\n\r\nno\x1b[31m\nx!",
		": the server answers 401: no?[31m?x!; credentials go into the file that "
		"DFG_PUSH_HEADERS names");
	REFUSED("HTTP/1.1 403 No\r\nContent-Length: 0\r\n\r\n",
		": the server answers 403; credentials go into the file that DFG_PUSH_HEADERS "
		"names");
	REFUSED("HTTP/1.1 302 Go\r\nLocation: http://127.0.0.1:1/\r\nContent-Length: 2\r\n\r\nno",
		": the server answers 302, a redirection, which is not followed; push to its "
		"target");
	REFUSED("HTTP/1.1 500 No\r\nContent-Length: 4\r\n\r\nfull",
		": the server answers 500: full");
	REFUSED("", ": Server returned nothing (no headers, no data)");
}

int main(void)
{
	static const char *const proxies[] = {"http_proxy", "https_proxy", "all_proxy",
					      "HTTPS_PROXY", "ALL_PROXY"};

	for (size_t i = 0; i < ARRAY_LEN(proxies); i++)
		unsetenv(proxies[i]);
	if (!mkdtemp(dir))
		abort();
	put("profile", 0600, PROFILE, sizeof(PROFILE) - 1);
	test_accepted();
	test_refused();
	fs_remove_tree(AT_FDCWD, dir);
	return tap_done();
}
