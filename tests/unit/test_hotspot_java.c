// SPDX-License-Identifier: Apache-2.0
/* JVMs of this machine: what is read of their memory is what they say of themselves (jcmd). Of the
 * JDKs in /usr/lib/jvm the first and the last one are started, as a program that waits for its
 * input. */
#include <errno.h>
#include <glob.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "common/clock.h"
#include "common/proc.h"
#include "dfg/request.h"
#include "dfg/snapshot.h"
#include "discover/jvm_memory.h"
#include "injector/wire.h"
#include "lib/actor.h"
#include "lib/tap.h"

#define WAIT_MS 120000u

/* Texts; sorted after set_sort. */
struct set {
	char **item;
	size_t n, cap;
};

static void set_clear(struct set *s)
{
	while (s->n > 0)
		free(s->item[--s->n]);
}

static void set_add(struct set *s, char *owned)
{
	s->item = grow(s->item, s->n, &s->cap, sizeof(*s->item));
	s->item[s->n++] = owned;
}

static int by_text(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

static void set_sort(struct set *s)
{
	if (s->n > 0)
		qsort(s->item, s->n, sizeof(*s->item), by_text);
}

static bool set_has(const struct set *s, const char *text)
{
	return s->n > 0 && bsearch(&text, s->item, s->n, sizeof(*s->item), by_text);
}

static bool set_is(const struct set *a, const struct set *b)
{
	bool same = a->n == b->n;

	for (size_t i = 0; same && i < a->n; i++)
		same = strcmp(a->item[i], b->item[i]) == 0;
	return same;
}

/* Counts the texts of a that b lacks, and prints some of them. */
static unsigned set_lacks(const struct set *a, const struct set *b, const char *where)
{
	unsigned lacks = 0;

	for (size_t i = 0; i < a->n; i++)
		if (!set_has(b, a->item[i]) && lacks++ < 10)
			printf("# not %s: %s\n", where, a->item[i]);
	return lacks;
}

/* ---- a JVM ---- */

struct java {
	pid_t pid;
	int in, out;
	void *work;
	struct jvm_memory *memory;
};

static void java_exec(const char *path, const int in[2], const int out[2])
{
	dup2(in[0], 0);
	dup2(out[1], 1);
	execl(path, path, "-Xmx32m", "-XX:+UseSerialGC", "-XX:-UsePerfData",
	      "-XX:+IgnoreUnrecognizedVMOptions", "-XX:+StartAttachListener",
	      "-XX:+UnlockDiagnosticVMOptions", "-XX:+LogTouchedMethods", "-m",
	      "jdk.jdi/com.sun.tools.example.debug.tty.TTY", (char *)NULL);
	_exit(127);
}

/* Waits for the debugger's prompt. */
static bool java_is_ready(const struct java *j)
{
	struct pollfd p = {.fd = j->out, .events = POLLIN};
	char c = 0;

	while (c != '>' && poll(&p, 1, WAIT_MS) == 1 && read(j->out, &c, 1) == 1)
		;
	return c == '>';
}

static bool java_start(struct java *j, const char *home)
{
	CLEANUP(free) char *path = xasprintf("%s/bin/java", home);
	int in[2], out[2];
	struct actor a;

	if (pipe2(in, O_CLOEXEC) < 0 || pipe2(out, O_CLOEXEC) < 0)
		abort();
	if (actor_fork(&a))
		java_exec(path, in, out);
	close(a.ready);
	close(in[0]);
	close(out[1]);
	*j = (struct java){.pid = a.pid, .in = in[1], .out = out[0]};
	return java_is_ready(j);
}

static bool java_open(struct java *j, struct err *err)
{
	CLEANUP(close_fd) int fd = proc_open(j->pid, err);

	j->work = aligned_alloc(4096, HS_WORK_BYTES);
	return fd >= 0 && jvm_memory_open(fd, &j->memory, err) == 0 &&
	       jvm_memory_find_tables(j->memory, err) == 0;
}

static struct sockaddr_un java_socket(const struct java *j)
{
	struct sockaddr_un ret = {.sun_family = AF_UNIX};

	snprintf(ret.sun_path, sizeof(ret.sun_path), "/tmp/.java_pid%d", (int)j->pid);
	return ret;
}

static void java_end(struct java *j)
{
	struct sockaddr_un left = java_socket(j);

	jvm_memory_close(j->memory);
	free(j->work);
	close(j->in);
	close(j->out);
	actor_end(j->pid);
	unlink(left.sun_path);
}

/* Appends a diagnostic command's output. */
static bool java_ask(const struct java *j, const char *command, struct str *ret)
{
	struct sockaddr_un to = java_socket(j);
	const char *args[3] = {command, "", ""};
	CLEANUP(str_fini) struct str request = {0};
	CLEANUP(close_fd) int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	char buf[8192];
	ssize_t n;

	if (!attach_build_v1(&request, "jcmd", args) ||
	    connect(fd, (struct sockaddr *)&to, sizeof(to)) < 0 ||
	    write(fd, request.buf, request.len) != (ssize_t)request.len)
		return false;
	while ((n = read(fd, buf, sizeof(buf))) > 0)
		str_add(ret, buf, (size_t)n);
	return n == 0 && ret->len > 2 && ret->buf[0] == '0';
}

/* ---- what the JVM says ---- */

static void replace(char *text, char from, char to)
{
	for (; (text = strchr(text, from)); text++)
		*text = to;
}

/* "18 0 0 java.lang.System.arraycopy(Ljava…)V [0x7f…, 0x7f… - 0x7f…]" */
static char *code_of_line(char *line)
{
	unsigned long long header, start, end;
	char name[2048];
	int id, level, state;

	if (sscanf(line, "%d %d %d %2047[^(](%*s [%llx, %llx - %llx]", &id, &level, &state, name,
		   &header, &start, &end) != 7)
		return NULL;
	replace(name, '/', '.');
	return xasprintf("%s %d %d %llx", name, id, level, start);
}

/* "\"main\" #1 [7] prio=5 … nid=0x7 …" */
static char *thread_of_line(char *line)
{
	char *nid = strstr(line, " nid="), *end = strstr(line, "\" #");

	/* The JVM's own threads have no number. */
	if (*line != '"' || !nid || !end || end > nid)
		return NULL;
	*end = '\0';
	return xasprintf("%ld %s", strtol(nid + 5, NULL, 0), line + 1);
}

/* "|  |--java.lang.invoke.VarHandleReferences$Array/null (intf)" */
static char *class_of_line(char *line)
{
	char *name = line + strspn(line, "|- "), *end = strrchr(name, '/');

	if (!end)
		return NULL;
	*end = '\0';
	replace(name, '/', '.');
	return xasprintf("%s", name);
}

/* "java/util/EnumMap.<clinit>:()V" */
static char *method_of_line(char *line)
{
	char *end = strchr(line, ':');

	if (!end || *line == '#')
		return NULL;
	*end = '\0';
	replace(line, '/', '.');
	replace(line, '+', '.');
	return xasprintf("%s", line);
}

enum { CODE, THREADS, CLASSES, METHODS, LISTS };

static const struct {
	const char *command;
	char *(*parse)(char *line);
} list[LISTS] = {{"Compiler.codelist", code_of_line},
		 {"Thread.print", thread_of_line},
		 {"VM.class_hierarchy", class_of_line},
		 {"VM.print_touched_methods", method_of_line}};

/* False: it does not know the command. */
static bool java_list(const struct java *j, int which, struct set *ret)
{
	CLEANUP(str_fini) struct str reply = {0};
	char *p, *line;

	set_clear(ret);
	if (!java_ask(j, list[which].command, &reply))
		return false;
	for (p = reply.buf; (line = strsep(&p, "\n"));) {
		char *item = list[which].parse(line);

		if (item)
			set_add(ret, item);
	}
	set_sort(ret);
	return ret->n > 0;
}

/* ---- what is read ---- */

struct found {
	struct set name; /* "id name", of METHOD records */
	struct set code, threads, methods, classes;
	uint32_t lines, scopes; /* of the methods that compiled code has */
};

static void take_method(struct found *f, const char *record)
{
	struct snap_method m;
	const char *name = record + sizeof(m), *dot;

	memcpy(&m, record, sizeof(m));
	set_add(&f->methods, xasprintf("%.*s", (int)m.name_len, name));
	set_add(&f->name,
		xasprintf("%016llx %.*s", (unsigned long long)m.id, (int)m.name_len, name));
	dot = memrchr(name, '.', m.name_len);
	set_add(&f->classes, xasprintf("%.*s", dot ? (int)(dot - name) : 0, name));
}

static void take_code(struct found *f, const char *record)
{
	struct snap_code c;

	memcpy(&c, record, sizeof(c));
	if (c.method == 0)
		return;
	/* The name follows. */
	set_add(&f->code, xasprintf("%016llx %u %u %llx", (unsigned long long)c.method,
				    c.compile_id, c.level, (unsigned long long)c.start));
	for (uint32_t i = 0; i < c.scope_count; i++) {
		struct snap_scope scope;

		memcpy(&scope, record + sizeof(c) + i * sizeof(scope), sizeof(scope));
		f->scopes++;
		f->lines += scope.line > 0;
	}
}

static bool take(void *arg, const char *record, size_t len)
{
	struct found *f = arg;
	struct snap_record r;
	struct snap_thread t;

	memcpy(&r, record, sizeof(r));
	if (r.type == SNAP_METHOD)
		take_method(f, record);
	if (r.type == SNAP_CODE)
		take_code(f, record);
	if (r.type == SNAP_THREAD) {
		memcpy(&t, record, sizeof(t));
		set_add(&f->threads,
			xasprintf("%u %.*s", t.tid, (int)t.name_len, record + sizeof(t)));
	}
	return len == r.size;
}

/* Replaces the ids of code's methods by their names. */
static void names_resolve(struct found *f)
{
	set_sort(&f->name);
	for (size_t i = 0; i < f->code.n; i++) {
		char *old = f->code.item[i];

		for (size_t k = 0; k < f->name.n; k++)
			if (strncmp(f->name.item[k], old, 17) == 0) {
				f->code.item[i] =
					xasprintf("%s %s", f->name.item[k] + 17, old + 17);
				free(old);
				break;
			}
	}
}

static void found_read(const struct java *j, struct found *f, struct hs_result *result)
{
	struct hs_sink sink = {.write = take, .arg = f};

	set_clear(&f->name);
	set_clear(&f->code);
	set_clear(&f->threads);
	set_clear(&f->methods);
	set_clear(&f->classes);
	f->lines = f->scopes = 0;
	hs_dump_snapshot(jvm_memory_source(j->memory), &sink, j->work, result);
	names_resolve(f);
	set_sort(&f->code);
	set_sort(&f->threads);
	set_sort(&f->methods);
	set_sort(&f->classes);
}

static void found_fini(struct found *f)
{
	struct set *sets[] = {&f->name, &f->code, &f->threads, &f->methods, &f->classes};

	for (size_t i = 0; i < sizeof(sets) / sizeof(*sets); i++) {
		set_clear(sets[i]);
		free(sets[i]->item);
	}
}

/* ---- the comparison ---- */

/* Reads the memory between two equal lists; the JVM may still be compiling. False: it never rests.
 */
static bool read_at_rest(const struct java *j, struct set before[LISTS], bool knows[LISTS],
			 struct found *f, struct hs_result *result)
{
	uint64_t end = clock_ms() + WAIT_MS;
	struct set after = {0};
	bool rests;

	do {
		rests = true;
		for (int i = 0; i < LISTS; i++)
			knows[i] = java_list(j, i, &before[i]);
		found_read(j, f, result);
		for (int i = 0; i < LISTS; i++)
			rests &= java_list(j, i, &after) == knows[i] && set_is(&before[i], &after);
	} while (!rests && clock_ms() < end);
	set_clear(&after);
	free(after.item);
	return rests;
}

static void compare(const struct java *j, const char *path)
{
	struct set said[LISTS] = {0};
	struct found f = {0};
	struct hs_result result;
	bool knows[LISTS];

	if (ok(read_at_rest(j, said, knows, &f, &result), "%s: the JVM comes to rest", path)) {
		is_int(result.status, DFG_DUMP_OK, "%s: the snapshot is whole", path);
		is_int(result.skipped, 0, "%s: nothing is skipped", path);
		is_int(knows[CODE] ? set_lacks(&said[CODE], &f.code, "read") : 0, 0,
		       "%s: all compiled methods of Compiler.codelist are read", path);
		is_int(knows[CODE] ? set_lacks(&f.code, &said[CODE], "compiled") : 0, 0,
		       "%s: %zu compiled methods are read, and no others", path, f.code.n);
		is_int(set_lacks(&said[THREADS], &f.threads, "read"), 0,
		       "%s: all threads of Thread.print are read", path);
		is_int(set_lacks(&f.threads, &said[THREADS], "there"), 0,
		       "%s: %zu threads are read, and no others", path, f.threads.n);
		is_int(knows[CLASSES] ? set_lacks(&f.classes, &said[CLASSES], "loaded") : 0, 0,
		       "%s: methods are of classes of VM.class_hierarchy", path);
		/* Those that the compilers alone have looked at never ran. */
		ok(set_lacks(&said[METHODS], &f.methods, "read") <= said[METHODS].n / 20,
		   "%s: methods of VM.print_touched_methods are read", path);
		ok(f.methods.n > 500 && f.lines > f.scopes / 10 * 9,
		   "%s: %u of %u inlined methods have their line", path, f.lines, f.scopes);
	}
	for (int i = 0; i < LISTS; i++) {
		set_clear(&said[i]);
		free(said[i].item);
	}
	found_fini(&f);
}

static void test_java(const char *path)
{
	struct java j;
	struct err err = {0};

	if (!java_start(&j, path))
		ok(true, "%s is read # SKIP it has no debugger that could be started", path);
	else if (!java_open(&j, &err))
		ok(true, "%s is read # SKIP %s", path, err.msg);
	else
		compare(&j, path);
	java_end(&j);
}

/* Links to a JDK count once. */
static void javas_find(struct set *ret)
{
	glob_t found;

	if (glob("/usr/lib/jvm/*/lib/server/libjvm.so", 0, NULL, &found) == 0)
		for (size_t i = 0; i < found.gl_pathc; i++) {
			char *path = realpath(found.gl_pathv[i], NULL);

			if (!path)
				continue;
			*strstr(path, "/lib/server/") = '\0';
			set_add(ret, path);
		}
	globfree(&found);
	set_sort(ret);
}

int main(void)
{
	struct set javas = {0};
	const char *last = NULL;

	javas_find(&javas);
	if (javas.n > 0)
		test_java(last = javas.item[0]);
	if (javas.n > 0 && strcmp(last, javas.item[javas.n - 1]) != 0)
		test_java(javas.item[javas.n - 1]);
	if (javas.n == 0)
		ok(true, "JVMs are read # SKIP /usr/lib/jvm has none");
	set_clear(&javas);
	free(javas.item);
	return tap_done();
}
