// SPDX-License-Identifier: Apache-2.0
/* Finds the containers that a name matches. */
#include <jansson.h>

#include "common/str.h"
#include "discover/container.h"
#include "discover/engine_names.h"
#include "lib/tap.h"

#define HEX(c) c c c c c c c c c c c c c c c c /* 64 digits of 4 */
#define A      HEX("aaaa")
#define B      HEX("bbbb")
#define C      HEX("cccc")
#define D      HEX("dddd")
#define E      HEX("eeee")

static const struct {
	const char *id, *namespace, *pod, *name;
	bool is_pause;
} host[] = {
	{A, "", "", "web", false}, /* Docker's */
	{B, "shop", "cart-1", "app", false},
	{C, "shop", "cart-1", "proxy", false},
	{D, "shop", "cart-1", "", true},
	{E, "test", "cart-1", "app", false},
	{HEX("1111"), "shop", "api", "api", false}, /* a pod and its container */
	{HEX("1112"), "shop", "db", "web", false},
	{"worker", "default", "", "worker", false}, /* ctr's */
	{"worker", "build", "", "worker", false},
	{"once", "default", "", "once", false},
	{HEX("2222"), "default", "", "cron", false}, /* nerdctl's */
	{HEX("3333"), "", "", HEX("2222"), false},   /* to be taken for another */
};

static void host_make(struct containers *ret)
{
	*ret = (struct containers){0};
	for (size_t i = 0; i < ARRAY_LEN(host); i++) {
		struct engine_names n = {.is_pause = host[i].is_pause};

		snprintf(n.name, sizeof(n.name), "%s", host[i].name);
		snprintf(n.pod, sizeof(n.pod), "%s", host[i].pod);
		snprintf(n.namespace, sizeof(n.namespace), "%s", host[i].namespace);
		ret->list = grow(ret->list, ret->count, &ret->cap, sizeof(*ret->list));
		ret->list[ret->count] = (struct container){.id = xstrdup(host[i].id)};
		container_set_names(&ret->list[ret->count++], &n);
	}
}

/* want: labels of all that is meant, or with "!" a part of the message. */
static void means(const char *wanted, const char *want, const char *name)
{
	CLEANUP(containers_fini) struct containers all = {0};
	CLEANUP(containers_fini) struct containers found = {0};
	CLEANUP(str_fini) struct str labels = {0};
	enum container_match match;
	struct err err = {0};

	host_make(&all);
	match = containers_select(&all, wanted, false, &found, &err);
	if (*want == '!') {
		ok(match != CONTAINER_FOUND && strstr(err.msg, want + 1), "%s: %s", name, err.msg);
		return;
	}
	for (size_t i = 0; i < found.count; i++)
		str_addf(&labels, "%s%s", i ? " " : "", found.list[i].label);
	is_str(labels.buf ? labels.buf : err.msg, want, "%s", name);
}

/* Case 68. */
static void test_find(void)
{
	means(A, "web", "an id");
	means(HEX("2222"), "cron", "an id goes before a name");
	means("2222222", "cron", "the beginning of an id");
	means("aaa", "web", "a short one");
	means("11", "!matches 2: 1111", "the beginning of two");
	means("shop/cart-1", "shop/cart-1/app shop/cart-1/proxy", "a pod, but its pause container");
	means("shop/cart-1/app", "shop/cart-1/app", "a container in a pod");
	means("shop.cart-1.app", "shop/cart-1/app", "as in by-name/");
	means("cart-1", "!matches 2: pod shop/cart-1, pod test/cart-1;",
	      "a pod's name in two namespaces");
	means("cart-1/proxy", "shop/cart-1/proxy", "a container in a pod, without the namespace");
	means("proxy", "shop/cart-1/proxy", "by itself");
	means("app", "!bbbbbbbbbbbbbbbb (shop/cart-1/app), eeeeeeeeeeeeeeee (test/cart-1/app);",
	      "in two pods");
	means("api", "shop/api/api", "a pod and its only container");
	means("shop/api", "shop/api/api", "with the namespace");
	means("web", "!matches 2: aaaaaaaaaaaaaaaa (web), 1112111211121112 (shop/db/web);",
	      "Docker's and one of a pod");
	means("worker", "!matches 2: default/worker, build/worker;",
	      "in two namespaces of containerd");
	means("build/worker", "worker", "one of them");
	means("once", "once", "without its namespace");
	means("default/cron", "cron", "nerdctl's");
	means("shop/cart-1/pause", "!no running container", "no such container");
	means("shop/", "!no running container", "half a name");
	means("/cart-1", "!no running container", "the other half");
	means("", "!no running container", "nothing");
}

static void annotations(const char *json, const char *want, const char *name)
{
	json_t *o = json_loads(json, JSON_DECODE_ANY, NULL);
	struct engine_names n = {.name = "n"};
	CLEANUP(free) char *got = NULL;

	engine_names_add_annotations(&n, o);
	got = xasprintf("%s %s %s%s", n.namespace, n.pod, n.name, n.is_pause ? " pause" : "");
	is_str(got, want, "%s", name);
	json_decref(o);
}

static void test_annotations(void)
{
	CLEANUP(free) char *longest = xasprintf("%0255d", 7);
	CLEANUP(free) char *too_long = xasprintf("%0256d", 7);

	annotations(
		"{\"io.kubernetes.cri.container-name\":\"app\",\"io.kubernetes.cri.sandbox-name\":"
		"\"web-1\",\"io.kubernetes.cri.sandbox-namespace\":\"shop\","
		"\"io.kubernetes.cri.container-type\":\"container\"}",
		"shop web-1 app", "containerd's CRI");
	annotations("{\"io.kubernetes.cri.sandbox-name\":\"web-1\",\"io.kubernetes.cri.container-"
		    "type\":"
		    "\"sandbox\"}",
		    " web-1 n pause", "its sandbox");
	annotations(
		"{\"io.kubernetes.container.name\":\"app\",\"io.kubernetes.pod.name\":\"web-1\","
		"\"io.kubernetes.pod.namespace\":\"shop\",\"io.kubernetes.cri-o.ContainerType\":"
		"\"container\"}",
		"shop web-1 app", "CRI-O");
	annotations("{\"io.kubernetes.cri-o.ContainerType\":\"sandbox\"}", "  n pause",
		    "its sandbox");
	annotations("{\"io.kubernetes.docker.type\":\"podsandbox\"}", "  n pause", "Docker's");
	annotations("{\"nerdctl/name\":\"web\",\"nerdctl/namespace\":\"default\"}", "default  web",
		    "nerdctl");
	annotations("{\"nerdctl/name\":\"../../etc\",\"io.kubernetes.pod.name\":\"a b\"}", "  n",
		    "what is no name");
	annotations("{\"nerdctl/name\":[\"web\"]}", "  n", "no text");
	annotations("{\"io.kubernetes.container.name\":\"a b\",\"nerdctl/name\":\"web\"}", "  web",
		    "what is no name is passed over");
	annotations("{\"io.kubernetes.container.name\":\"app\",\"nerdctl/name\":\"web\"}", "  app",
		    "the first name counts");
	annotations("{\"io.kubernetes.docker.type\":\"container\"}", "  n", "no sandbox");
	annotations("{\"io.kubernetes.cri.container-type\":\"podsandbox\"}", "  n",
		    "nor is the word of another engine");
	annotations("[1]", "  n", "no object");
	annotations("nonsense", "  n", "no JSON");
	ok(engine_name_is_valid("a"), "a letter is a name");
	ok(!engine_name_is_valid(""), "nothing is none");
	ok(!engine_name_is_valid(".hidden"), "nor a file that ls hides");
	ok(!engine_name_is_valid("a/b"), "nor a path");
	ok(!engine_name_is_valid("-a"), "nor an option");
	ok(engine_name_is_valid("0_a-b.c"), "digits and signs between are no obstacle");
	ok(engine_name_is_valid(longest), "a name may have 255 bytes");
	ok(!engine_name_is_valid(too_long), "and no more");
}

static void test_file_name(void)
{
	struct container c = {.id = xstrdup("1")};
	CLEANUP(free) char *name = NULL;

	container_set_names(
		&c, &(struct engine_names){.name = "app", .pod = "web-1", .namespace = "shop"});
	is_str(c.label, "shop/web-1/app", "label");
	name = container_file_name(&c);
	is_str(name, "shop.web-1.app", "as a file");
	container_fini(&c);
	ok(!c.id && !c.label, "a released container is empty");
	c.id = xstrdup(".hidden");
	container_set_names(&c, &(struct engine_names){0});
	free(name);
	name = container_file_name(&c);
	is_str(name, "_hidden", "a file is not hidden");
	container_fini(&c);
}

int main(void)
{
	test_annotations();
	test_find();
	test_file_name();
	return tap_done();
}
