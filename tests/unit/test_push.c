// SPDX-License-Identifier: Apache-2.0
#include "lib/tap.h"
#include "report/push.h"

static void check(const char *url, const char *want, const char *name)
{
	struct err err = {0};
	int rc = push_check(url, &err);

	ok((rc < 0) == (want != NULL) && (!want || strstr(err.msg, want)), "%s: %s", name, err.msg);
}

static void test_check(void)
{
	check("http://localhost:4040", NULL, "a host");
	check("https://profiles.example/tenant/", NULL, "a path");
	check("ftp://x/", "must begin with http", "another protocol");
	check("localhost:4040", "must begin with http", "no protocol");
	check("http://", "names no host", "no host");
	check("https:///ingest", "names no host", "no host but a path");
	check("http://me:secret@x/", "credentials", "a password is no argument");
	check("http://x/?a=b", "no query", "a query");
	check("http://x/a b", "blank", "a blank");
	check("http://x/a\tb", "blank", "a tab");
	check("http://x/a\n", "blank", "a newline");
	check("http://x/a#b", "fragment", "a fragment");
	check("http://x/a@b", "credentials", "what may be a password");
}

static void check_address(const char *url, const char *container, const char *pod, const char *want,
			  const char *name)
{
	struct session s = {.dirfd = -1,
			    .mapsfd = -1,
			    .elffd = -1,
			    .started = xstrdup("2026-11-21T10:00:00Z"),
			    .frequency = 99,
			    .duration = 29.6};
	CLEANUP(str_fini) struct str address = {0};

	session_set_container(&s, "0123", container, pod, *pod ? "shop" : "", "db1");
	push_address(url, &s, &address);
	is_str(address.buf, want, "%s", name);
	session_fini(&s);
}

#define REST                                                                                       \
	"%2Ccontainer_id%3D0123%2Chost%3Ddb1%7D&from=1795255200&until=1795255230"                  \
	"&sampleRate=99"
#define QUERY "/ingest?format=pprof&spyName=dfg&name="

static void test_address(void)
{
	check_address("http://x", "web", "", "http://x" QUERY "web%7Bcontainer%3Dweb" REST,
		      "a host");
	check_address("http://x/a//", "web", "", "http://x/a" QUERY "web%7Bcontainer%3Dweb" REST,
		      "a path");
	check_address("http://x/ingest/", "web", "", "http://x" QUERY "web%7Bcontainer%3Dweb" REST,
		      "the whole path");
	check_address("http://x", "a,b=\"c\" {}&\xc3\xa9", "",
		      "http://x" QUERY "a_b__c____%26%C3%A9%7Bcontainer%3Da_b__c____%26%C3%A9" REST,
		      "a name cannot end its label, nor its parameter");
	check_address("http://x", "app", "web-1",
		      "http://x" QUERY "app%7Bcontainer%3Dapp%2Ccontainer_id%3D0123%2Cpod%3Dweb-1"
		      "%2Cnamespace%3Dshop%2Chost%3Ddb1%7D&from=1795255200&until=1795255230"
		      "&sampleRate=99",
		      "a pod");
}

/* RFC 3986, section 2.3; what ends a label is replaced before. */
static void test_characters(void)
{
	static const char plain[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"
				    "-._~";
	unsigned wrong = 0;

	for (unsigned c = 1; c < 256; c++) {
		struct session s = {.dirfd = -1, .mapsfd = -1, .elffd = -1};
		CLEANUP(str_fini) struct str address = {0};
		char name[] = {'x', (char)c, '\0'}, want[64];

		s.started = xstrdup("");
		session_set_container(&s, "", name, "", "", "");
		push_address("", &s, &address);
		if (strchr("{},=\"\\ ", (int)c))
			snprintf(want, sizeof(want), "&name=x_%%7B");
		else if (strchr(plain, (int)c))
			snprintf(want, sizeof(want), "&name=x%c%%7B", (int)c);
		else
			snprintf(want, sizeof(want), "&name=x%%%02X%%7B", c);
		wrong += !strstr(address.buf, want);
		session_fini(&s);
	}
	is_int(wrong, 0, "each character of a name is itself, encoded, or replaced");
}

int main(void)
{
	test_check();
	test_characters();
	test_address();
	return tap_done();
}
