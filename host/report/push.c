// SPDX-License-Identifier: Apache-2.0
#include "report/push.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/child.h"
#include "common/clock.h"
#include "common/confine.h"
#include "common/fs.h"
#include "common/install.h"

#define WORKER_MS     70000
#define PROFILE_BYTES ((size_t)256 << 20)
#define HEADERS_BYTES ((size_t)16 << 10)
#define MESSAGE_BYTES 4096

struct push_job {
	struct str address;
	size_t header_bytes;
	int program, input; /* dfg-push, and what it reads */
};

/* ---- the address ------------------------------------------------------------------------- */

int push_check(const char *url, struct err *err)
{
	const char *host = strstr(url, "://");

	if (!has_prefix(url, "http://") && !has_prefix(url, "https://"))
		return err_set(err, 0, "--push %s: must begin with http:// or https://", url);
	if (host[3] == '\0' || host[3] == '/')
		return err_set(err, 0, "--push %s: names no host", url);
	if (strchr(url, '@'))
		return err_set(err, 0,
			       "--push: everybody can read the command line; credentials go into "
			       "the file that " PUSH_HEADERS " names");
	if (strpbrk(url, "?# \t\r\n"))
		return err_set(err, 0, "--push %s: must have no query, fragment or blank", url);
	return 0;
}

/* Appends the value of a label; characters that would end it become '_'. */
static void add_value(struct str *out, const char *text)
{
	for (; *text; text++)
		str_addc(out, strchr("{},=\"\\ ", *text) ? '_' : *text);
}

static void add_label(struct str *out, const char *name, const char *value)
{
	if (!*value)
		return;
	str_addf(out, "%s%s=", out->buf[out->len - 1] == '{' ? "" : ",", name);
	add_value(out, value);
}

/* Appends text with all but the unreserved characters of RFC 3986, section 2.3, encoded. */
static void add_encoded(struct str *out, const char *text)
{
	for (; *text; text++) {
		unsigned char c = (unsigned char)*text;

		if ((unsigned)((c | 32) - 'a') < 26 || (unsigned)(c - '0') < 10 ||
		    strchr("-._~", c))
			str_addc(out, *text);
		else
			str_addf(out, "%%%02X", c);
	}
}

void push_address(const char *url, const struct session *s, struct str *ret)
{
	CLEANUP(str_fini) struct str name = {0};
	size_t len = strlen(url);
	int64_t from = clock_of(s->started);

	add_value(&name, *s->container_name ? s->container_name : "dfg");
	str_addc(&name, '{');
	add_label(&name, "container", s->container_name);
	add_label(&name, "container_id", s->container_id);
	add_label(&name, "pod", s->pod);
	add_label(&name, "namespace", s->namespace);
	add_label(&name, "host", s->host);
	str_addc(&name, '}');
	while (len && url[len - 1] == '/')
		len--;
	str_add(ret, url, len);
	if (!has_suffix(ret->buf, "/ingest"))
		str_adds(ret, "/ingest");
	str_adds(ret, "?format=pprof&spyName=dfg&name=");
	add_encoded(ret, name.buf);
	str_addf(ret, "&from=%lld&until=%lld&sampleRate=%u", (long long)from,
		 (long long)from + llround(s->duration), s->frequency);
}

/* ---- the worker -------------------------------------------------------------------------- */

static int read_secret(const char *path, struct str *ret, struct err *err)
{
	CLEANUP(close_fd) int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	struct stat st;

	if (fd < 0 || fstat(fd, &st) < 0)
		return err_set(err, errno, "open %s", path);
	if ((st.st_mode & (S_IRWXG | S_IRWXO)))
		return err_set(err, 0, "%s: others may read it; chmod 600 it", path);
	return fs_read_all(fd, HEADERS_BYTES, ret, err) < 0 ? err_wrap(err, "read %s", path) : 0;
}

/* The caller's proxies and certificates. */
static void choose_env(char **ret, size_t cap)
{
	size_t n = 0;

	for (char **e = environ; *e && n + 1 < cap; e++)
		if (strcasestr(*e, "_proxy=") || has_prefix(*e, "SSL_CERT_"))
			ret[n++] = *e;
}

/* Replies are parsed without privileges, in a program of its own: with libcurl and its thirty
 * libraries dfg-trigger would take 6 ms more to start, a tenth of a short --replay. */
static int send_profile(void *arg, void *reply, struct err *err)
{
	const struct push_job *j = arg;
	CLEANUP(str_fini) struct str said = {0};
	CLEANUP(str_fini) struct str message = {0};
	CLEANUP(free) char *program = xasprintf("/proc/self/fd/%d", j->program);
	CLEANUP(free) char *header_bytes = xasprintf("%zu", j->header_bytes);
	char *env[16] = {NULL};
	int status;

	(void)reply;
	if (geteuid() == 0 && confine_user(err) < 0)
		return -1;
	if (confine_caps(NULL, 0, err) < 0 || confine_no_new_privs(err) < 0)
		return -1;
	choose_env(env, ARRAY_LEN(env));
	status = child_capture((char *[]){program, j->address.buf, header_bytes, NULL}, env,
			       j->input, WORKER_MS, MESSAGE_BYTES, &said, err);
	if (status <= 0)
		return status;
	if (status == 127)
		return err_set(err, 0,
			       "dfg-push cannot be started; on Debian: apt-get install libcurl4");
	str_add_clean(&message, said.buf, said.len);
	return err_set(err, 0, "%s", message.len ? message.buf : "dfg-push has failed");
}

/* ---- the caller -------------------------------------------------------------------------- */

static int open_program(struct err *err)
{
	CLEANUP(free) char *path = install_path("dfg-push");
	/* The worker may be unable to enter its directory. */
	int fd = open(path, O_PATH | O_CLOEXEC);

	return fd < 0 ? err_set(err, errno, "the program %s", path) : fd;
}

static int fill(struct push_job *j, int dirfd, const char *name, struct err *err)
{
	const char *headers = getenv(PUSH_HEADERS);
	CLEANUP(str_fini) struct str text = {0};

	if (headers && *headers && read_secret(headers, &text, err) < 0)
		return -1;
	j->header_bytes = text.len;
	if (fs_read_file(dirfd, name, PROFILE_BYTES, &text, err) < 0)
		return -1;
	j->input = memfd_create("push", MFD_CLOEXEC);
	if (j->input < 0)
		return err_set(err, errno, "memory for the profile");
	if (fs_write_all(j->input, text.buf, text.len, err) < 0)
		return -1;
	return lseek(j->input, 0, SEEK_SET) < 0 ? err_set(err, errno, "seek") : 0;
}

int push(const char *url, const struct session *s, int dirfd, const char *name, struct err *err)
{
	struct push_job j = {.input = -1, .program = open_program(err)};
	char nothing;
	int rc = j.program < 0 ? -1 : fill(&j, dirfd, name, err);

	if (rc == 0) {
		push_address(url, s, &j.address);
		rc = child_call(send_profile, &j, &nothing, sizeof(nothing), WORKER_MS, err);
	}
	cleanup_close_fd(&j.program);
	cleanup_close_fd(&j.input);
	str_fini(&j.address);
	return rc < 0 ? err_wrap(err, "push to %s", url) : 0;
}
