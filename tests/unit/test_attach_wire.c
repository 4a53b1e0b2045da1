// SPDX-License-Identifier: Apache-2.0
/* The bytes of the attach protocol: requests as HotSpot's own clients send them; replies named
 * after a JDK are what Debian's 8u504, 11.0.33, 17.0.21, 21.0.12 and 25.0.3 really sent. */
#include "injector/wire.h"
#include "lib/tap.h"

struct reply {
	const char *name;
	const char *bytes;
	enum attach_result result;
	int code;	  /* ATTACH_OK */
	const char *says; /* otherwise: part of the message */
};

static const struct reply replies[] = {
	{"8: loaded", "0\n0\n", ATTACH_OK, 0, NULL},
	{"8: returns 7", "0\n7\n", ATTACH_OK, 7, NULL},
	{"a negative code", "0\n-3\n", ATTACH_OK, -3, NULL},
	{"8: no such file", "-1\n", ATTACH_REFUSED, 0, "gives no reason"},
	{"8: unknown command", "-1\nOperation getversion not recognized!", ATTACH_REFUSED, 0,
	 "the JVM refused: Operation getversion not recognized!"},
	{"11: loaded", "0\nreturn code: 0\n", ATTACH_OK, 0, NULL},
	{"11: returns 7", "0\nreturn code: 7\n", ATTACH_OK, 7, NULL},
	{"17: returns -1", "0\nreturn code: -1\n", ATTACH_OK, -1, NULL},
	{"17: no such file",
	 "-1\n/x.so was not loaded.\n/x.so: cannot open shared object file: No such file or "
	 "directory\n",
	 ATTACH_REFUSED, 0,
	 "the JVM refused: /x.so was not loaded.; /x.so: cannot open shared object file: No such "
	 "file or directory"},
	{"17: no entry point", "-1\nAgent_OnAttach is not available in /lib/libm.so.6\n",
	 ATTACH_REFUSED, 0, "Agent_OnAttach is not available in /lib/libm.so.6"},
	{"17: dynamic loading forbidden",
	 "-1\nDynamic agent loading is not enabled. Use -XX:+EnableDynamicAgentLoading to launch "
	 "target VM.",
	 ATTACH_REFUSED, 0, "Dynamic agent loading is not enabled"},
	{"25: dynamic loading forbidden, status 0",
	 "0\nDynamic agent loading is not enabled. Use -XX:+EnableDynamicAgentLoading to launch "
	 "target VM.\n",
	 ATTACH_REFUSED, 0, "Dynamic agent loading is not enabled"},
	{"21: no such file, status 0",
	 "0\n/x.so was not loaded.\n/x.so: cannot open shared object file: No such file or "
	 "directory\n",
	 ATTACH_REFUSED, 0, "/x.so was not loaded."},
	{"21: no entry point", "0\nAgent_OnAttach is not available in /lib/libm.so.6\n",
	 ATTACH_REFUSED, 0, "Agent_OnAttach is not available"},
	{"25: loaded", "0\nreturn code: 0\n", ATTACH_OK, 0, NULL},
	{"no line end", "0\nreturn code: 5", ATTACH_OK, 5, NULL},
	{"25: version not known", "101\nunknown version", ATTACH_FAILED, 0, "does not speak"},
	{"17: version not known", "101\n", ATTACH_FAILED, 0, "does not speak this version"},
	{"nothing", "", ATTACH_FAILED, 0, "not one of the attach protocol (0 bytes)"},
	{"no line", "0", ATTACH_FAILED, 0, "not one of the attach protocol"},
	{"only a status", "0\n", ATTACH_FAILED, 0, "does not say"},
	{"a web server", "HTTP/1.1 400 Bad Request\r\n", ATTACH_FAILED, 0, "not one of"},
	{"status too large", "99999999999\nx", ATTACH_FAILED, 0, "not one of"},
	{"status above int", "2147483648\nx", ATTACH_FAILED, 0, "not one of"},
	{"a status of eleven digits", "00000000000\n0\n", ATTACH_FAILED, 0, "not one of"},
	{"lone sign", "-\nx", ATTACH_FAILED, 0, "not one of"},
	{"empty status", "\n0\n", ATTACH_FAILED, 0, "not one of"},
	{"code too large", "0\nreturn code: 4294967296\n", ATTACH_REFUSED, 0, "4294967296"},
	{"code missing", "0\nreturn code: \n", ATTACH_REFUSED, 0, "return code:"},
	{"terminal codes", "-1\n\033]0;pwned\007\033[2J\xe2\x80\xae\xff\x80\n", ATTACH_REFUSED, 0,
	 "the JVM refused: ?]0;pwned??[2J???"},
	{"blank lines and CRs", "-1\n\n\none\r\n\ntwo\n", ATTACH_REFUSED, 0,
	 "the JVM refused: one; two"},
};

static void test_replies(void)
{
	for (size_t i = 0; i < ARRAY_LEN(replies); i++) {
		const struct reply *r = &replies[i];
		struct err err = {0};
		int code = -77;

		is_int(attach_parse_reply(r->bytes, strlen(r->bytes), &code, &err), r->result, "%s",
		       r->name);
		if (r->result == ATTACH_OK) {
			is_int(code, r->code, "%s: code", r->name);
			continue;
		}
		is_int(code, -77, "%s: code untouched", r->name);
		if (!ok(strstr(err.msg, r->says) != NULL, "%s: says why", r->name))
			printf("#  got: %s\n", err.msg);
	}
}

static void test_hostile_reply(void)
{
	CLEANUP(str_fini) struct str s = {0};
	struct err err = {0};
	int code = 0, bad = 0;

	str_adds(&s, "-1\n");
	while (s.len < WIRE_REPLY_MAX)
		str_adds(&s, "\033[31m\nAAAA");
	is_int(attach_parse_reply(s.buf, s.len, &code, &err), ATTACH_REFUSED, "64 KiB of text");
	for (const char *p = err.msg; *p; p++)
		bad += (unsigned char)*p < 0x20 || (unsigned char)*p == 0x7f;
	is_int(bad, 0, "no control character comes through");
	str_clear(&s);
	str_add(&s, "-1\nab\0cd\n", 9);
	is_int(attach_parse_reply(s.buf, s.len, &code, &err), ATTACH_REFUSED, "a NUL inside");
	is_str(err.msg, "the JVM refused: ab?cd", "is shown as one");
}

static void test_v1(void)
{
	static const char want[] = "1\0load\0/dev/dfg/libdfg-agent.so\0true\0seq=7\0";
	const char *args[3] = {"/dev/dfg/libdfg-agent.so", "true", "seq=7"};
	const char *none[3] = {"", "", ""};
	CLEANUP(str_fini) struct str s = {0};
	char longest[WIRE_ARG_MAX + 2];

	ok(attach_build_v1(&s, "load", args), "version 1");
	ok(s.len == sizeof(want) - 1 && !memcmp(s.buf, want, s.len), "its bytes");
	str_clear(&s);
	ok(attach_build_v1(&s, "properties", none), "empty arguments");
	is_int(s.len, 2 + 11 + 3, "are three all the same");
	str_clear(&s);
	memset(longest, 'x', sizeof(longest));
	longest[WIRE_ARG_MAX] = '\0';
	args[2] = longest;
	ok(attach_build_v1(&s, "load", args), "1024 bytes are taken");
	str_clear(&s);
	longest[WIRE_ARG_MAX] = 'x';
	longest[WIRE_ARG_MAX + 1] = '\0';
	ok(!attach_build_v1(&s, "load", args), "1025 bytes are not");
	is_int(s.len, 0, "and nothing was written");
}

static void test_v2(void)
{
	static const char want[] = "2\00018\0load\0/a.so\0true\0x\0";
	const char *args[3] = {"/a.so", "true", "x"};
	CLEANUP(str_fini) struct str s = {0};
	CLEANUP(free) char *big = xmalloc(WIRE_V2_MAX + 2);

	ok(attach_build_v2(&s, "load", args), "version 2");
	ok(s.len == sizeof(want) - 1 && !memcmp(s.buf, want, s.len), "its bytes");
	str_clear(&s);
	memset(big, 'x', WIRE_V2_MAX + 1);
	big[WIRE_V2_MAX - 20] = '\0';
	args[2] = big;
	ok(attach_build_v2(&s, "load", args), "almost 256 KiB are taken");
	str_clear(&s);
	big[WIRE_V2_MAX - 20] = 'x';
	big[WIRE_V2_MAX] = '\0';
	ok(!attach_build_v2(&s, "load", args), "a body of more is not");
	is_int(s.len, 0, "and nothing was written");
}

static bool offers(const char *reply)
{
	return attach_offers_v2(reply, strlen(reply));
}

static void test_getversion(void)
{
	ok(offers("0\n2"), "JDK 24");
	ok(offers("0\n2 streaming"), "JDK 25");
	ok(offers("0\n3 streaming"), "a later one");
	ok(offers("0\n10"), "a much later one");
	ok(!offers("0\n1"), "version 1 only");
	ok(!offers("-1\nOperation getversion not recognized!"), "JDK 21 and before");
	ok(!offers("1\n2"), "an error");
	ok(!offers("x\n2"), "no status");
	ok(!offers("02"), "no line");
	ok(!offers("0\n"), "no text");
	ok(!offers("0\n streaming"), "no number");
	ok(!offers(""), "nothing");
}

int main(void)
{
	test_replies();
	test_hostile_reply();
	test_v1();
	test_v2();
	test_getversion();
	return tap_done();
}
