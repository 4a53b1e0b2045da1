// SPDX-License-Identifier: Apache-2.0
#include "report/push.h"

#include <curl/curl.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/child.h"
#include "common/clock.h"
#include "common/confine.h"
#include "common/fs.h"

#define LIBCURL	      "libcurl.so.4"
#define NOBODY	      65534
#define CONNECT_SEC   10L
#define ALL_SEC	      60L
#define PROFILE_BYTES ((size_t)256 << 20)
#define HEADERS_BYTES ((size_t)16 << 10)
#define REPLY_SHOWN   200

struct push_job {
	const char *url; /* as given, for messages */
	struct str address, profile, headers;
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

static int read_path(const char *path, size_t limit, bool secret, struct str *ret, struct err *err)
{
	CLEANUP(close_fd) int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	struct stat st;

	if (fd < 0 || fstat(fd, &st) < 0)
		return err_set(err, errno, "open %s", path);
	if (secret && (st.st_mode & (S_IRWXG | S_IRWXO)))
		return err_set(err, 0, "%s: others may read it; chmod 600 it", path);
	return fs_read_all(fd, limit, ret, err) < 0 ? err_wrap(err, "read %s", path) : 0;
}

/* Loaded in the child that pushes. Linked, libcurl and its thirty libraries take 6 ms of processor
 * time at each start of dfg-trigger, a tenth of a short --replay. */
struct curl {
	__typeof__(curl_easy_init) *init;
	__typeof__(curl_easy_setopt) *setopt;
	__typeof__(curl_easy_perform) *perform;
	__typeof__(curl_easy_getinfo) *getinfo;
	__typeof__(curl_easy_strerror) *strerror;
	__typeof__(curl_slist_append) *append;
};

static int load_curl(struct curl *ret, struct err *err)
{
	void *lib = dlopen(LIBCURL, RTLD_NOW);
	const struct {
		const char *name;
		void *to;
	} functions[] = {
		{"curl_easy_init", &ret->init},		{"curl_easy_setopt", &ret->setopt},
		{"curl_easy_perform", &ret->perform},	{"curl_easy_getinfo", &ret->getinfo},
		{"curl_easy_strerror", &ret->strerror}, {"curl_slist_append", &ret->append},
	};

	for (size_t i = 0; i < ARRAY_LEN(functions); i++) {
		void *function = lib ? dlsym(lib, functions[i].name) : NULL;

		if (!function)
			return err_set(err, 0, "%s; on Debian: apt-get install libcurl4",
				       dlerror());
		memcpy(functions[i].to, &function, sizeof(function));
	}
	return 0;
}

/* Keeps the beginning of the reply. */
static size_t keep_reply(char *text, size_t size, size_t n, void *arg)
{
	struct str *reply = arg;
	size_t room = reply->len < REPLY_SHOWN ? REPLY_SHOWN - reply->len : 0;

	str_add(reply, text, size * n < room ? size * n : room);
	return size * n;
}

static struct curl_slist *headers_of(const struct curl *curl, const struct str *text)
{
	struct curl_slist *list = curl->append(NULL, "Content-Type: application/octet-stream");
	CLEANUP(free) char *copy = xstrndup(text->buf ? text->buf : "", text->len);
	char *save = NULL;

	for (char *line = strtok_r(copy, "\r\n", &save); line; line = strtok_r(NULL, "\r\n", &save))
		if (strchr(line, ':'))
			list = curl->append(list, line);
	return list;
}

static void prepare(const struct curl *curl, CURL *c, const struct push_job *j,
		    struct curl_slist *headers, struct str *reply)
{
	curl->setopt(c, CURLOPT_URL, j->address.buf);
	curl->setopt(c, CURLOPT_PROTOCOLS_STR, "http,https");
	curl->setopt(c, CURLOPT_FOLLOWLOCATION, 0L);
	curl->setopt(c, CURLOPT_NETRC, (long)CURL_NETRC_IGNORED);
	curl->setopt(c, CURLOPT_CONNECTTIMEOUT, CONNECT_SEC);
	curl->setopt(c, CURLOPT_TIMEOUT, ALL_SEC);
	curl->setopt(c, CURLOPT_NOSIGNAL, 1L);
	curl->setopt(c, CURLOPT_USERAGENT, "dfg/" DFG_VERSION);
	curl->setopt(c, CURLOPT_HTTPHEADER, headers);
	curl->setopt(c, CURLOPT_POST, 1L);
	curl->setopt(c, CURLOPT_POSTFIELDS, j->profile.buf ? j->profile.buf : "");
	curl->setopt(c, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)j->profile.len);
	curl->setopt(c, CURLOPT_WRITEFUNCTION, keep_reply);
	curl->setopt(c, CURLOPT_WRITEDATA, reply);
}

static int judge(long status, const struct str *reply, struct err *err)
{
	CLEANUP(str_fini) struct str clean = {0};

	if (status >= 200 && status < 300)
		return 0;
	if (status >= 300 && status < 400)
		return err_set(
			err, 0,
			"the server answers %ld, a redirection, which is not followed; push to "
			"its target",
			status);
	str_adds(&clean, "");
	str_add_clean(&clean, reply->buf, reply->len);
	return err_set(err, 0, "the server answers %ld%s%s%s", status, clean.len ? ": " : "",
		       clean.buf,
		       status == 401 || status == 403
			       ? "; credentials go into the file that " PUSH_HEADERS " names"
			       : "");
}

static int transfer(const struct push_job *j, struct err *err)
{
	CLEANUP(str_fini) struct str reply = {0};
	struct curl curl;
	long status = 0;
	CURLcode rc;
	CURL *c;

	if (load_curl(&curl, err) < 0)
		return -1;
	c = curl.init();
	if (!c)
		return err_set(err, 0, "libcurl cannot be initialised");
	prepare(&curl, c, j, headers_of(&curl, &j->headers), &reply);
	rc = curl.perform(c);
	curl.getinfo(c, CURLINFO_RESPONSE_CODE, &status);
	return rc == CURLE_OK ? judge(status, &reply, err)
			      : err_set(err, 0, "%s", curl.strerror(rc));
}

/* Replies are parsed without privileges. The child exits afterwards: nothing of libcurl is freed.
 */
static int send_profile(void *arg, void *reply, struct err *err)
{
	(void)reply;
	if (geteuid() == 0 && confine_ids(NOBODY, NOBODY, err) < 0)
		return -1;
	if (confine_caps(NULL, 0, err) < 0 || confine_no_new_privs(err) < 0)
		return -1;
	return transfer(arg, err);
}

/* ---- the caller -------------------------------------------------------------------------- */

static int fill(struct push_job *j, const struct session *s, const char *path, struct err *err)
{
	const char *headers = getenv(PUSH_HEADERS);

	push_address(j->url, s, &j->address);
	if (read_path(path, PROFILE_BYTES, false, &j->profile, err) < 0)
		return -1;
	return headers && *headers ? read_path(headers, HEADERS_BYTES, true, &j->headers, err) : 0;
}

int push(const char *url, const struct session *s, const char *path, struct err *err)
{
	struct push_job j = {.url = url};
	char nothing;
	int rc = fill(&j, s, path, err);

	if (rc == 0)
		rc = child_call(send_profile, &j, &nothing, sizeof(nothing),
				(int)(ALL_SEC + CONNECT_SEC) * 1000, err);
	str_fini(&j.address);
	str_fini(&j.profile);
	str_fini(&j.headers);
	return rc < 0 ? err_wrap(err, "push to %s", url) : 0;
}
