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

/* Cases 17 and 18. */
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

/* Case 19. */
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

/* Case 17. */
static void test_deep(void)
{
	CLEANUP(str_fini) struct str s = {0};

	for (int i = 0; i < 100000; i++)
		str_addc(&s, '[');
	check("100000 levels", s.buf, OCI_STATE_INVALID);
}

static void test_reasons(void)
{
	static const struct {
		const char *text, *id, *msg;
		enum oci_state_result result;
	} rows[] = {
		{"[]", "", "the state is not a JSON object", OCI_STATE_INVALID},
		{"{\"id\":\"a/b\"}", "", "the state has no valid id", OCI_STATE_INVALID_ID},
		{"{\"id\":\"web\"}", "web", "the state has no pid of a container",
		 OCI_STATE_INVALID},
		{"{\"id\":\"web\",\"pid\":4194304}", "web", "the state has no bundle",
		 OCI_STATE_INVALID},
		{"{\"id\":\"web\",\"pid\":2,\"bundle\":\"/b\\u007f\"}", "web",
		 "the state has no bundle", OCI_STATE_INVALID},
		{"{\"id\":\"web\",\"status\":\"stopped\",\"bundle\":\"b\"}", "web",
		 "the state has no bundle", OCI_STATE_INVALID},
		{"{\"id\":\"web\",\"pid\":2,\"bundle\":\"/b\"}", "web", "", OCI_STATE_OK},
		{"{\"id\":\"web\",\"pid\":4194304,\"bundle\":\"/\"}", "web", "", OCI_STATE_OK},
	};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		CLEANUP(oci_state_fini) struct oci_state s;
		struct err err = {0};

		is_int(oci_state_parse(rows[i].text, strlen(rows[i].text), true, &s, &err),
		       rows[i].result, "the state %s is %s", rows[i].text,
		       rows[i].msg[0] ? "refused" : "read");
		is_str(err.msg, rows[i].msg, "the reason is told");
		is_str(s.id, rows[i].id, "a valid id is known all the same");
		ok(rows[i].msg[0] ? !s.pid && !s.bundle && !s.annotations && !s.stopped
				  : s.pid > 1 && s.bundle && !s.stopped && !s.annotations,
		   "a refused state has nothing else");
	}
}

static void test_no_bundle(void)
{
	CLEANUP(oci_state_fini) struct oci_state s;

	is_int(parse("{\"id\":\"a\",\"pid\":7}", false, &s), OCI_STATE_OK,
	       "a container that runs is joined without a bundle");
	ok(s.pid == 7 && !s.bundle, "its process is known");
	is_int(s.start_time, 0, "its start is not");
	oci_state_fini(&s);
	is_int(parse("{\"id\":\"a\",\"pid\":7,\"start_time\":8123456789012}", false, &s),
	       OCI_STATE_OK, "a state may tell the start of its process");
	is_int(s.start_time, 8123456789012, "it is read");
	oci_state_fini(&s);
	is_int(parse("{\"id\":\"a\",\"pid\":7,\"bundle\":\"b\"}", false, &s), OCI_STATE_INVALID,
	       "a relative bundle is refused then, too");
	is_int(parse("{\"id\":\"a\",\"status\":\"stopped\",\"pid\":7}", true, &s), OCI_STATE_OK,
	       "a process of a container that has stopped");
	is_int(s.pid, 0, "is nobody's any more");
	oci_state_fini(&s);
	is_int(parse("{\"id\":\"a\",\"pid\":7,\"bundle\":\"/b\",\"annotations\":[1]}", true, &s),
	       OCI_STATE_OK, "annotations of another kind are no harm");
	ok(!s.annotations, "they are none");
}

static void test_paths(void)
{
	for (size_t len = 4095; len <= 4096; len++) {
		CLEANUP(free) char *path = xasprintf("/%0*d", (int)len - 1, 0);

		is_int(oci_path_valid(path), len == 4095, "a path of %zu bytes is %s", len,
		       len == 4095 ? "good" : "refused");
	}
	ok(oci_path_valid("/") && oci_path_valid("/a b\x80~"), "a path may have any other byte");
	ok(!oci_path_valid("") && !oci_path_valid("a") && !oci_path_valid("/\x1f") &&
		   !oci_path_valid("/\x7f"),
	   "empty, relative, or with control bytes it is refused");
}

int main(void)
{
	test_reasons();
	test_no_bundle();
	test_paths();
	test_good();
	test_stopped();
	test_bad();
	test_ids();
	test_deep();
	return tap_done();
}
