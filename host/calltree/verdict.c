// SPDX-License-Identifier: Apache-2.0
#include "calltree/verdict.h"

#include "common/str.h"

/* ---- whose code a method is ---- */

/* clang-format off */
static const char *const jdk[] = {
	"java.", "javax.", "jdk.", "sun.", "com.sun.", "sunw.", "netscape.", "org.ietf.jgss.",
	"org.w3c.dom.", "org.xml.sax.", "com.ibm.jvm.", "openj9."
};

/* Libraries, servers, frameworks and languages that are often seen on servers. */
static const char *const libraries[] = {
	"akka.", "antlr.", "ch.qos.logback.", "clojure.", "com.atomikos.", "com.codahale.",
	"com.datastax.", "com.esotericsoftware.", "com.fasterxml.", "com.github.benmanes.",
	"com.google.", "com.hazelcast.", "com.ibm.db2.", "com.lmax.disruptor.", "com.mchange.",
	"com.microsoft.sqlserver.", "com.mongodb.", "com.mysql.", "com.netflix.", "com.rabbitmq.",
	"com.squareup.", "com.thoughtworks.xstream.", "com.typesafe.", "com.zaxxer.",
	"freemarker.", "groovy.", "io.dropwizard.", "io.grpc.", "io.helidon.", "io.jsonwebtoken.",
	"io.lettuce.", "io.micrometer.", "io.micronaut.", "io.netty.", "io.opentelemetry.",
	"io.prometheus.", "io.quarkus.", "io.r2dbc.", "io.reactivex.", "io.smallrye.",
	"io.swagger.", "io.undertow.", "io.vertx.", "jakarta.", "javassist.", "junit.", "kotlin.",
	"kotlinx.", "net.bytebuddy.", "net.sf.", "ognl.", "okhttp3.", "okio.", "one.profiler.",
	"oracle.", "org.antlr.", "org.apache.", "org.aspectj.", "org.bouncycastle.",
	"org.codehaus.", "org.eclipse.", "org.elasticsearch.", "org.flywaydb.", "org.glassfish.",
	"org.h2.", "org.hibernate.", "org.hsqldb.", "org.infinispan.", "org.jboss.",
	"org.jctools.", "org.jetbrains.", "org.joda.", "org.jooq.", "org.jruby.", "org.junit.",
	"org.keycloak.", "org.mariadb.", "org.mockito.", "org.mortbay.", "org.objectweb.",
	"org.openjdk.", "org.postgresql.", "org.python.", "org.quartz.", "org.reactivestreams.",
	"org.slf4j.", "org.springframework.", "org.thymeleaf.", "org.wildfly.", "org.xerial.",
	"org.xnio.", "org.yaml.", "play.", "reactor.", "redis.clients.", "rx.", "scala.",
	"software.amazon."
};

/* Packages of these that have code of the application: the pages that Jasper compiled. */
static const char *const own_code[] = {"org.apache.jsp."};

/* Their classes have a main method and run programs of others. */
static const char *const launchers[] = {
	"com.sun.tools.javac.launcher.", "io.helidon.microprofile.", "io.quarkus.", "jdk.",
	"org.apache.catalina.", "org.apache.felix.", "org.apache.karaf.", "org.apache.maven.",
	"org.apache.spark.", "org.apache.tomcat.", "org.codehaus.", "org.eclipse.",
	"org.glassfish.", "org.jboss.", "org.jruby.", "org.junit.", "org.openjdk.jmh.",
	"org.springframework.", "org.wildfly.", "sun."
};

/* Names of groups of products: a product is one level further down. */
static const char *const groups[] = {
	"com.google.", "com.sun.", "io.github.", "org.apache.", "org.eclipse."
};

/* clang-format on */

static const char *const owner_names[CODE_OWNERS] = {
	[CODE_OWN] = "application",
	[CODE_LIBRARY] = "library",
	[CODE_JDK] = "jdk",
};

const char *code_owner_name(enum code_owner o)
{
	return owner_names[o];
}

/* Returns the bytes of `name` that equal the package, where '/' equals '.'; 0: another package. */
static size_t match(const char *name, const char *package)
{
	size_t n = 0;

	while (package[n] && (name[n] == package[n] || (name[n] == '/' && package[n] == '.')))
		n++;
	return package[n] ? 0 : n;
}

static bool is_in(const char *name, const char *const *list, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (match(name, list[i]))
			return true;
	return false;
}

enum code_owner code_owner_of(const char *method, const char *own)
{
	if ((own && *own && match(method, own)) || is_in(method, own_code, ARRAY_LEN(own_code)))
		return CODE_OWN;
	if (is_in(method, jdk, ARRAY_LEN(jdk)))
		return CODE_JDK;
	return is_in(method, libraries, ARRAY_LEN(libraries)) ? CODE_LIBRARY : CODE_OWN;
}

void code_own_package(struct str *out, const char *method)
{
	unsigned levels = is_in(method, groups, ARRAY_LEN(groups)) ? 3 : 2;
	const char *end = method, *next;

	if (is_in(method, launchers, ARRAY_LEN(launchers)))
		return;
	/* Two parts follow the package: the class and the method. */
	for (; levels && (next = strpbrk(end, "./")) && strpbrk(next + 1, "./"); levels--)
		end = next + 1;
	str_add(out, method, (size_t)(end - method));
}

/* True for "….main": by convention only a program's first method has this name. */
static bool is_main(const struct frame *f)
{
	static const char name[] = ".main";

	return f->java && f->len > sizeof(name) - 1 &&
	       !memcmp(f->name + f->len - (sizeof(name) - 1), name, sizeof(name) - 1);
}

/* Appends the package of the main class, if a stack shows it: its outermost Java frame. */
static void find_own_package(const struct stacks *s, struct str *out)
{
	size_t count = stacks_node_count(s);
	CLEANUP(free) bool *below_java = xcalloc(count, sizeof(*below_java));

	for (uint32_t n = 1; n < count; n++) {
		const struct stack_node *node = stacks_node(s, n);
		const struct frame *f = stacks_frame(s, node->frame);

		below_java[n] = f->java || below_java[node->parent];
		if (is_main(f) && !below_java[node->parent]) {
			code_own_package(out, f->name);
			return;
		}
	}
}

/* ---- the methods that are shown ---- */

#define CANDIDATES     64 /* bits of a mask */
#define PASSED_PERCENT 95
#define LEAST_PERCENT  1
#define NO_CANDIDATE   UINT8_MAX

struct search {
	const struct stacks *stacks;
	const uint64_t *totals; /* by node */
	const struct row *rows[CANDIDATES];
	size_t lens[CANDIDATES]; /* of their names */
	size_t count;
	uint8_t *of_frame;			/* its candidate, or NO_CANDIDATE */
	uint64_t below[CANDIDATES][CANDIDATES]; /* samples of one within another */
};

static void match_frames(struct search *f)
{
	for (uint32_t i = 0; i < stacks_frame_count(f->stacks); i++) {
		const struct frame *frame = stacks_frame(f->stacks, i);

		f->of_frame[i] = NO_CANDIDATE;
		for (uint8_t c = 0; frame->java && c < f->count; c++)
			if (frame->len == f->lens[c] && !strcmp(frame->name, f->rows[c]->name))
				f->of_frame[i] = c;
	}
}

/* Counts the samples of each candidate within each other one. Recursion counts once. */
static void count_below(struct search *f)
{
	size_t count = stacks_node_count(f->stacks);
	CLEANUP(free) uint64_t *on_path = xcalloc(count, sizeof(*on_path)); /* by node */

	memset(f->below, 0, sizeof(f->below));
	for (uint32_t n = 1; n < count; n++) {
		const struct stack_node *node = stacks_node(f->stacks, n);
		uint64_t above = on_path[node->parent];
		uint8_t c = f->of_frame[node->frame];

		on_path[n] = above;
		if (c == NO_CANDIDATE || (above >> c & 1))
			continue;
		on_path[n] |= UINT64_C(1) << c;
		for (uint8_t outer = 0; outer < f->count; outer++)
			if (above >> outer & 1)
				f->below[outer][c] += f->totals[n];
	}
}

static bool passes_on(const struct search *f, size_t c)
{
	for (size_t i = 0; i < f->count; i++)
		if ((double)f->below[c][i] * 100 >= PASSED_PERCENT * (double)f->rows[c]->total)
			return true;
	return false;
}

/* Adds the next candidates: of that owner, by total. */
static void add_candidates(struct search *f, const struct view *v, enum code_owner owner,
			   const char *own)
{
	for (size_t i = 0; i < v->row_count && f->count < CANDIDATES; i++) {
		const struct row *r = &v->rows[i];

		/* Without a class it is a part of the interpreter. */
		if (r->kind == FRAME_JAVA && strpbrk(r->name, "./") &&
		    r->total * 100 >= LEAST_PERCENT * v->samples &&
		    code_owner_of(r->name, own) == owner) {
			f->lens[f->count] = strlen(r->name);
			f->rows[f->count++] = r;
		}
	}
}

static void add_method(struct verdict *v, const struct row *r, enum code_owner owner)
{
	struct verdict_method *m = &v->methods[v->method_count++];
	CLEANUP(str_fini) struct str name = {0};

	frame_add_stable_name(&name, r->name, strlen(r->name));
	snprintf(m->name, sizeof(m->name), "%s", name.buf);
	m->self = r->self;
	m->total = r->total;
	m->owner = owner;
}

static void add_methods(struct search *f, const struct view *v, const char *own,
			struct verdict *ret)
{
	for (enum code_owner o = CODE_OWN; o < CODE_OWNERS; o++) {
		size_t first = f->count;

		if (ret->method_count == VERDICT_METHODS)
			return;
		add_candidates(f, v, o, own);
		if (f->count == first)
			continue;
		match_frames(f);
		count_below(f);
		for (size_t c = first; c < f->count && ret->method_count < VERDICT_METHODS; c++)
			if (!passes_on(f, c))
				add_method(ret, f->rows[c], o);
	}
}

void verdict_make(const struct stacks *s, struct verdict *ret)
{
	const struct lens lens = {.order = ORDER_TOTAL, .hides_agent = true};
	CLEANUP(view_fini) struct view view = {0};
	CLEANUP(str_fini) struct str own = {0};
	CLEANUP(free) uint64_t *totals = stacks_totals(s);
	CLEANUP(free) struct search *f = xcalloc(1, sizeof(*f));

	*ret = (struct verdict){0};
	view_make(s, &lens, &view);
	ret->samples = view.samples;
	memcpy(ret->busy, view.busy, sizeof(ret->busy));
	find_own_package(s, &own);
	f->stacks = s;
	f->totals = totals;
	f->of_frame = xcalloc(stacks_frame_count(s), 1);
	add_methods(f, &view, own.buf, ret);
	free(f->of_frame);
}

/* ---- a verdict from the sandbox ---- */

void verdict_check(struct verdict *v)
{
	if (v->method_count > VERDICT_METHODS)
		v->method_count = VERDICT_METHODS;
	for (size_t i = 0; i < v->method_count; i++) {
		str_clean(v->methods[i].name, sizeof(v->methods[i].name));
		if ((unsigned)v->methods[i].owner >= CODE_OWNERS)
			v->methods[i].owner = CODE_OWN;
	}
}
