// SPDX-License-Identifier: Apache-2.0
/* dfg-push, in libexec: sends a profile for dfg-trigger, which starts it without privileges. stdin
 * has lines to add to the request's header, HEADER_BYTES of them, and then the profile. Prints why
 * it failed. */
#include <curl/curl.h>
#include <stdio.h>
#include <unistd.h>

#include "common/fs.h"
#include "common/str.h"
#include "report/push.h"

#define CONNECT_SEC 10L
#define ALL_SEC	    60L
#define INPUT_BYTES ((size_t)257 << 20)
#define REPLY_SHOWN 200

/* Keeps the beginning of the reply. */
static size_t keep_reply(char *text, size_t size, size_t n, void *arg)
{
	struct str *reply = arg;
	size_t room = reply->len < REPLY_SHOWN ? REPLY_SHOWN - reply->len : 0;

	str_add(reply, text, size * n < room ? size * n : room);
	return size * n;
}

static struct curl_slist *headers_of(char *text)
{
	struct curl_slist *list = curl_slist_append(NULL, "Content-Type: application/octet-stream");
	char *save = NULL;

	for (char *line = strtok_r(text, "\r\n", &save); line; line = strtok_r(NULL, "\r\n", &save))
		if (strchr(line, ':'))
			list = curl_slist_append(list, line);
	return list;
}

static void prepare(CURL *c, const char *address, const char *profile, size_t bytes,
		    struct str *reply)
{
	curl_easy_setopt(c, CURLOPT_URL, address);
	curl_easy_setopt(c, CURLOPT_PROTOCOLS_STR, "http,https");
	curl_easy_setopt(c, CURLOPT_FOLLOWLOCATION, 0L);
	curl_easy_setopt(c, CURLOPT_NETRC, (long)CURL_NETRC_IGNORED);
	curl_easy_setopt(c, CURLOPT_CONNECTTIMEOUT, CONNECT_SEC);
	curl_easy_setopt(c, CURLOPT_TIMEOUT, ALL_SEC);
	curl_easy_setopt(c, CURLOPT_NOSIGNAL, 1L);
	curl_easy_setopt(c, CURLOPT_USERAGENT, "dfg/" DFG_VERSION);
	curl_easy_setopt(c, CURLOPT_POST, 1L);
	curl_easy_setopt(c, CURLOPT_POSTFIELDS, profile);
	curl_easy_setopt(c, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)bytes);
	curl_easy_setopt(c, CURLOPT_WRITEFUNCTION, keep_reply);
	curl_easy_setopt(c, CURLOPT_WRITEDATA, reply);
}

/* A message has no end of line: dfg-trigger shows it in its own. */
static int fail(const char *why)
{
	fputs(why, stdout);
	return EXIT_FAILURE;
}

static int judge(long status, const struct str *reply)
{
	if (status >= 200 && status < 300)
		return 0;
	printf("the server answers %ld", status);
	if (status >= 300 && status < 400)
		printf(", a redirection, which is not followed; push to its target");
	else if (reply->len)
		printf(": %.*s", (int)reply->len, reply->buf);
	if (status == 401 || status == 403)
		printf("; credentials go into the file that " PUSH_HEADERS " names");
	return EXIT_FAILURE;
}

int main(int argc, char **argv)
{
	CLEANUP(str_fini) struct str input = {0};
	CLEANUP(str_fini) struct str reply = {0};
	CLEANUP(free) char *headers = NULL;
	uint64_t header_bytes;
	long status = 0;
	struct curl_slist *lines;
	struct err err;
	CURLcode rc;
	CURL *c;

	if (argc != 3 || !parse_u64(argv[2], &header_bytes))
		return fail("usage: dfg-push ADDRESS HEADER_BYTES <HEADERS_AND_PROFILE");
	if (fs_read_all(STDIN_FILENO, INPUT_BYTES, &input, &err) < 0 || header_bytes > input.len)
		return fail("the profile cannot be read");
	c = curl_easy_init();
	if (!c)
		return fail("libcurl cannot be initialised");
	headers = xstrndup(input.buf ? input.buf : "", header_bytes);
	lines = headers_of(headers);
	curl_easy_setopt(c, CURLOPT_HTTPHEADER, lines);
	prepare(c, argv[1], input.buf ? input.buf + header_bytes : "", input.len - header_bytes,
		&reply);
	rc = curl_easy_perform(c);
	curl_easy_getinfo(c, CURLINFO_RESPONSE_CODE, &status);
	curl_easy_cleanup(c);
	curl_slist_free_all(lines);
	curl_global_cleanup();
	return rc == CURLE_OK ? judge(status, &reply) : fail(curl_easy_strerror(rc));
}
