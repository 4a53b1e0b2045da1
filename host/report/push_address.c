// SPDX-License-Identifier: Apache-2.0
#include <math.h>

#include "common/clock.h"
#include "report/push.h"

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

/* In a set of labels: what would end a value there becomes '_'. */
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

/* RFC 3986, section 2.3: all but the unreserved characters. */
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
