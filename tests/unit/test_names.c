// SPDX-License-Identifier: Apache-2.0
/* Finds the containers that a name matches. */
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

/* Checks what the annotations of a bundle claim, by the keys of an engine. */
static void claims(enum engine_keys keys, const char *json, const char *want, const char *name)
{
	CLEANUP(free) char *text = xasprintf("{\"annotations\":%s}", json);
	struct engine_facts f = {0};
	const struct engine_claims *c = &f.claims[keys];
	CLEANUP(free) char *got = NULL;

	(void)engine_facts_parse(ENGINE_CONFIG, "id", text, strlen(text), &f);
	got = xasprintf("%s %s %s%s", c->namespace, c->pod, c->name, c->is_pause ? " pause" : "");
	is_str(got, want, "%s", name);
}

#define CRI "io.kubernetes.cri."

static void test_claims(void)
{
	CLEANUP(free) char *longest = xasprintf("%0255d", 7);
	CLEANUP(free) char *too_long = xasprintf("%0256d", 7);
	const char *cri =
		"{\"" CRI "container-name\":\"app\",\"" CRI "sandbox-name\":\"web-1\",\"" CRI
		"sandbox-namespace\":\"shop\",\"" CRI "container-type\":\"container\"}";
	const char *kubelet =
		"{\"io.kubernetes.container.name\":\"app\",\"io.kubernetes.pod.name\":\"web-1\","
		"\"io.kubernetes.pod.namespace\":\"shop\",\"io.kubernetes.cri-o.ContainerType\":"
		"\"container\"}";

	claims(KEYS_CRI, cri, "shop web-1 app", "containerd's CRI");
	claims(KEYS_CRI,
	       "{\"" CRI "sandbox-name\":\"web-1\",\"" CRI "container-type\":\"sandbox\"}",
	       " web-1  pause", "its sandbox");
	claims(KEYS_KUBELET, cri, "  ", "its keys are no others'");
	claims(KEYS_NERDCTL, cri, "  ", "nor nerdctl's");
	claims(KEYS_KUBELET, kubelet, "shop web-1 app", "the kubelet's labels");
	claims(KEYS_CRI, kubelet, "  ", "which are none of the CRI's");
	claims(KEYS_KUBELET, "{\"io.kubernetes.cri-o.ContainerType\":\"sandbox\"}", "   pause",
	       "CRI-O's sandbox");
	claims(KEYS_KUBELET, "{\"io.kubernetes.docker.type\":\"podsandbox\"}", "   pause",
	       "Docker's");
	claims(KEYS_NERDCTL, "{\"nerdctl/name\":\"web\",\"nerdctl/namespace\":\"default\"}",
	       "default  web", "nerdctl");
	claims(KEYS_NERDCTL, "{\"nerdctl/name\":\"../../etc\"}", "  ", "what is no name");
	claims(KEYS_NERDCTL, "{\"nerdctl/name\":[\"web\"]}", "  ", "no text");
	claims(KEYS_KUBELET, "{\"io.kubernetes.docker.type\":\"container\"}", "  ", "no sandbox");
	claims(KEYS_CRI, "{\"" CRI "container-type\":\"podsandbox\"}", "  ",
	       "nor is the word of another engine");
	claims(KEYS_CRI, "[1]", "  ", "no object");
	claims(KEYS_CRI, "nonsense", "  ", "no JSON");
	ok(engine_name_is_valid("a"), "a letter is a name");
	ok(!engine_name_is_valid(""), "nothing is none");
	ok(!engine_name_is_valid(".hidden"), "nor a file that ls hides");
	ok(!engine_name_is_valid("a/b"), "nor a path");
	ok(!engine_name_is_valid("-a"), "nor an option");
	ok(engine_name_is_valid("0_a-b.c"), "digits and signs between are no obstacle");
	ok(engine_name_is_valid(longest), "a name may have 255 bytes");
	ok(!engine_name_is_valid(too_long), "and no more");
}

static void is_forged(const char *annotations, bool want, const char *name)
{
	CLEANUP(free) char *text = xasprintf("{\"annotations\":%s}", annotations);
	struct engine_names n = {.name = "app", .pod = "web-1", .namespace = "shop"};
	struct engine_facts f = {0};

	(void)engine_facts_parse(ENGINE_CONFIG, "id", text, strlen(text), &f);
	engine_names_compare(&n, &f);
	is_int(n.is_forged, want, "%s", name);
}

/* Case 87: a container's user writes the annotations. */
static void test_forged(void)
{
	struct engine_names pause = {.is_pause = true};
	struct engine_facts f = {.claims[KEYS_CRI] = {.is_pause = true, .pod = "web-1"}};

	is_forged("{}", false, "a container without annotations claims nothing");
	is_forged("{\"" CRI "container-name\":\"app\",\"io.kubernetes.pod.name\":\"web-1\"}", false,
		  "claims that are true are not forged");
	is_forged("{\"" CRI "container-name\":\"db\"}", true, "another name is: case 87");
	is_forged("{\"io.kubernetes.pod.name\":\"web-2\"}", true, "so is another pod");
	is_forged("{\"nerdctl/namespace\":\"bank\"}", true, "and another namespace");
	is_forged("{\"io.kubernetes.cri-o.ContainerType\":\"sandbox\"}", true,
		  "and a sandbox that is none");
	engine_names_compare(&pause, &f);
	ok(!pause.is_forged, "a sandbox that is one, as its engine says, is not forged");
}

static void test_files(void)
{
	CLEANUP(free) char *from = xasprintf("/%01100d/containers/x/hostname", 7);
	CLEANUP(free)
	char *text = xasprintf(
		"{\"mounts\":[{\"destination\":\"/etc/hostname\",\"source\":\"%s\"}]}", from);
	const char *state = "{\"pid\":7,\"start_time\":8123456789012,\"boot_id\":\"b\"}";
	const char *list = "[{\"id\":\"a\",\"names\":[\"x\"]},"
			   "{\"id\":\"b\",\"names\":[\"y\",\"z\"]}]";
	struct engine_facts f = {0};

	ok(engine_facts_parse(ENGINE_STATE, "id", state, strlen(state), &f), "a state is parsed");
	ok(f.pid == 7 && f.start == 8123456789012 && !strcmp(f.boot_id, "b"), "it has a process");
	ok(!engine_facts_parse(ENGINE_STATE, "id", "{", 1, &f), "half a state is refused");
	ok(f.pid == 7, "what was known stays");
	ok(engine_facts_parse(ENGINE_CONTAINERS, "b", list, strlen(list), &f), "a list is parsed");
	is_str(f.name, "y", "it has the name of the container's id");
	ok(engine_facts_parse(ENGINE_CONFIG, "id", text, strlen(text), &f), "a long path is read");
	is_str(f.docker_dir, "", "it is not cut to the path of something else");
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
	test_claims();
	test_forged();
	test_files();
	test_find();
	test_file_name();
	return tap_done();
}
