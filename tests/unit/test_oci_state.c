// SPDX-License-Identifier: Apache-2.0
/* The OCI state: what a runtime, or something that is none, may put on the hook's stdin. */
#include "oci/state.h"

#include "common/str.h"
#include "lib/tap.h"

static enum oci_state_result parse(const char *text, bool need_bundle, struct oci_state *s)
{
	struct err err = {0};

	return oci_state_parse(text, strlen(text), need_bundle, s, &err);
}

static void check(const char *name, const char *text, enum oci_state_result want)
{
	CLEANUP(oci_state_fini) struct oci_state s;

	is_int(parse(text, true, &s), want, "%s", name);
}

static void check_pid(const char *pid)
{
	CLEANUP(free)
	char *text = xasprintf("{\"id\":\"a\",\"pid\":%s,\"bundle\":\"/b\"}", pid);

	check(pid, text, OCI_STATE_INVALID);
}

static void check_id(const char *id, enum oci_state_result want)
{
	CLEANUP(free)
	char *text = xasprintf("{\"id\":\"%s\",\"pid\":7,\"bundle\":\"/b\"}", id);

	check(id, text, want);
}

static void test_good(void)
{
	CLEANUP(oci_state_fini) struct oci_state s;
	enum oci_state_result reason =
		parse("{\"ociVersion\":\"1.0.2\",\"id\":\"web-1.a_b\",\"status\":\"creating\","
		      "\"pid\":4711,"
		      "\"bundle\":\"/run/b\",\"annotations\":{\"k\":\"v\",\"n\":1}}",
		      true, &s);

	is_int(reason, OCI_STATE_OK, "a state of runc");
	is_str(s.id, "web-1.a_b", "id");
	is_int(s.pid, 4711, "pid");
	is_str(s.bundle, "/run/b", "bundle");
	ok(!s.stopped, "not stopped");
	is_int(json_object_size(s.annotations), 1, "annotations that are no strings are dropped");
}

static void test_stopped(void)
{
	CLEANUP(oci_state_fini) struct oci_state s;

	is_int(parse("{\"id\":\"a\",\"status\":\"stopped\",\"pid\":0,\"bundle\":\"/b\"}", true, &s),
	       OCI_STATE_OK, "poststop of crun");
	ok(s.stopped && s.pid == 0, "stopped");
	oci_state_fini(&s);
	is_int(parse("{\"id\":\"a\",\"status\":\"stopped\"}", true, &s), OCI_STATE_OK,
	       "poststop without pid and bundle");
	check("createContainer of crun has pid 0, too, and must not clean up",
	      "{\"id\":\"a\",\"status\":\"created\",\"pid\":0,\"bundle\":\"/b\"}",
	      OCI_STATE_INVALID);
}

static void test_bad(void)
{
	static const char *const pids[] = {"0",	  "1",	     "-1",    "1.0",
					   "1e9", "4194305", "\"7\"", "9223372036854775807"};

	for (size_t i = 0; i < ARRAY_LEN(pids); i++)
		check_pid(pids[i]);
	check("no pid", "{\"id\":\"a\",\"bundle\":\"/b\"}", OCI_STATE_INVALID);
	check("empty", "", OCI_STATE_INVALID);
	check("array", "[]", OCI_STATE_INVALID);
	check("cut", "{\"id\":\"a\"", OCI_STATE_INVALID);
	check("key twice", "{\"id\":\"a\",\"id\":\"b\",\"pid\":7,\"bundle\":\"/b\"}",
	      OCI_STATE_INVALID);
	check("relative bundle", "{\"id\":\"a\",\"pid\":7,\"bundle\":\"b\"}", OCI_STATE_INVALID);
	check("no bundle", "{\"id\":\"a\",\"pid\":7}", OCI_STATE_INVALID);
	check("control byte in bundle", "{\"id\":\"a\",\"pid\":7,\"bundle\":\"/b\\n\"}",
	      OCI_STATE_INVALID);
	check("NUL in id", "{\"id\":\"a\\u0000b\",\"pid\":7,\"bundle\":\"/b\"}", OCI_STATE_INVALID);
	check("no id", "{\"pid\":7,\"bundle\":\"/b\"}", OCI_STATE_INVALID_ID);
	check("id is a number", "{\"id\":7,\"pid\":7,\"bundle\":\"/b\"}", OCI_STATE_INVALID_ID);
}

static void test_ids(void)
{
	static const char *const bad[] = {"",	".",	"..",  "a/b", "../a", "-a",
					  ".a", "a\\n", "%n!", "a b", "_a",   "\\u00e4"};
	char longest[OCI_ID_MAX + 2];

	for (size_t i = 0; i < ARRAY_LEN(bad); i++)
		check_id(bad[i], OCI_STATE_INVALID_ID);
	memset(longest, 'a', sizeof(longest));
	longest[OCI_ID_MAX] = '\0';
	ok(oci_id_valid(longest), "255 bytes");
	longest[OCI_ID_MAX] = '\0';
	check_id(longest, OCI_STATE_OK);
	{
		CLEANUP(free) char *longer = xasprintf("%sa", longest);

		check_id(longer, OCI_STATE_INVALID_ID);
	}
}

static void test_deep(void)
{
	CLEANUP(str_fini) struct str s = {0};

	for (int i = 0; i < 100000; i++)
		str_addc(&s, '[');
	check("100000 levels", s.buf, OCI_STATE_INVALID);
}

int main(void)
{
	test_good();
	test_stopped();
	test_bad();
	test_ids();
	test_deep();
	return tap_done();
}
