// SPDX-License-Identifier: Apache-2.0
#include "calltree/view.h"

#include "calltree/samples.h"
#include "common/str.h"

/* ---- the lens ---- */

static bool begins(const char *name, const char *start)
{
	while (*start && (*name == *start || (*name == ' ' && *start == '_')))
		name++, start++;
	return !*start;
}

/* Blanks may be '_', a container's name and '/' may come first, and a name may be cut to the
 * kernel's 15 bytes. */
static bool thread_begins(const char *name, const char *start)
{
	const char *slash = strchr(name, '/');

	return begins(name, start) || (slash && begins(slash + 1, start));
}

#define AGENT_THREAD "dfg-agent"

bool lens_has_thread(const struct lens *lens, const char *name)
{
	if (lens->hides_agent && thread_begins(name, AGENT_THREAD))
		return false;
	return !lens->thread || !strcmp(name, lens->thread);
}

/* Appends the text as a pattern: '/' and '#' outside of brackets find '.', too. */
static void add_pattern(struct str *out, const char *text)
{
	bool in_class = false;

	for (; *text; text++) {
		in_class = *text == '[' || (in_class && *text != ']');
		if (!in_class && *text == '/')
			str_adds(out, "[./]");
		else if (!in_class && *text == '#')
			str_adds(out, "[.#]");
		else
			str_addc(out, *text);
	}
}

/* The same with all other signs of regular expressions meant literally. */
static void add_literal(struct str *out, const char *text)
{
	for (; *text; text++)
		if (strchr("/#", *text))
			str_adds(out, *text == '/' ? "[./]" : "[.#]");
		else
			str_addf(out, strchr(".*+?^${}()|[]\\", *text) ? "\\%c" : "%c", *text);
}

void name_filter_make(struct name_filter *ret, const char *text)
{
	CLEANUP(str_fini) struct str pattern = {0};
	int flags = REG_EXTENDED | REG_NOSUB | REG_ICASE;

	*ret = (struct name_filter){.on = text && *text};
	if (!ret->on)
		return;
	for (const char *p = text; *p; p++)
		flags &= *p >= 'A' && *p <= 'Z' ? ~REG_ICASE : -1;
	add_pattern(&pattern, text);
	if (regcomp(&ret->regex, pattern.buf, flags) == 0)
		return;
	str_clear(&pattern);
	add_literal(&pattern, text);
	ret->on = regcomp(&ret->regex, pattern.buf, flags) == 0;
}

bool name_filter_passes(const struct name_filter *f, const char *name)
{
	return !f->on || regexec(&f->regex, name, 0, NULL, 0) == 0;
}

void name_filter_fini(struct name_filter *f)
{
	if (f->on)
		regfree(&f->regex);
	f->on = false;
}

struct stacks *lens_stacks(const struct stacks *s, const struct lens *lens)
{
	size_t count = stacks_node_count(s);
	CLEANUP(free) uint32_t *copies = xcalloc(count, sizeof(*copies));
	CLEANUP(free) bool *thread = xcalloc(count, sizeof(*thread));
	CLEANUP(free) bool *passes = xcalloc(count, sizeof(*passes));
	CLEANUP(free) bool *copied = xcalloc(count, sizeof(*copied));
	CLEANUP(name_filter_fini) struct name_filter filter;
	struct stacks *ret = stacks_new();

	name_filter_make(&filter, lens->filter);
	/* A node always comes after its parent. */
	for (uint32_t n = 1; n < count; n++) {
		const struct stack_node *node = stacks_node(s, n);
		const char *name = stacks_frame(s, node->frame)->name;

		thread[n] = node->parent ? thread[node->parent] : lens_has_thread(lens, name);
		passes[n] =
			thread[n] && (passes[node->parent] || name_filter_passes(&filter, name));
		copied[n] = passes[n] && node->self;
	}
	for (size_t n = count; n-- > 1;)
		if (copied[n])
			copied[stacks_node(s, (uint32_t)n)->parent] = true;
	for (uint32_t n = 1; n < count; n++) {
		const struct stack_node *node = stacks_node(s, n);
		const struct frame *f = stacks_frame(s, node->frame);

		if (copied[n])
			copies[n] = stacks_child(ret, copies[node->parent],
						 stacks_intern(ret, f->name, f->len, f->kind),
						 passes[n] ? node->self : 0);
	}
	return ret;
}

/* ---- purposes of threads ---- */

/* HotSpot's names for its own threads (src/hotspot/share/gc, compiler/compileBroker.cpp,
 * runtime/vmThread.cpp; JDK 8 to 26). */
static const struct {
	const char *start; /* of the name, with '_' for blanks */
	enum busy busy;
} jvm_threads[] = {
	{"C1_CompilerThre", BUSY_COMPILER},
	{"C2_CompilerThre", BUSY_COMPILER},
	{"Sweeper_thread", BUSY_COMPILER},
	{"JVMCI", BUSY_COMPILER},
	{"GC_Thread", BUSY_GC},
	{"Gang_worker", BUSY_GC},
	{"G1_", BUSY_GC},
	{"ParGC_Thread", BUSY_GC},
	{"Concurrent_Mark", BUSY_GC},
	{"CMS_", BUSY_GC},
	{"ZWorker", BUSY_GC},
	{"ZDriver", BUSY_GC},
	{"ZDirector", BUSY_GC},
	{"ZStat", BUSY_GC},
	{"ZUnmapper", BUSY_GC},
	{"ZUncommitter", BUSY_GC},
	{"XWorker", BUSY_GC},
	{"XDriver", BUSY_GC},
	{"RuntimeWorker", BUSY_GC},
	{"Shenandoah", BUSY_GC},
	{"VM_Thread", BUSY_JVM},
	{"VM_Periodic_Tas", BUSY_JVM},
	{"Service_Thread", BUSY_JVM},
	{"Monitor_Deflati", BUSY_JVM},
	{"Signal_Dispatch", BUSY_JVM},
	{AGENT_THREAD, BUSY_JVM},
};

static const char *const busy_names[BUSY_KINDS] = {
	[BUSY_APPLICATION] = "application",
	[BUSY_COMPILER] = "compiler",
	[BUSY_GC] = "gc",
	[BUSY_JVM] = "jvm",
	[BUSY_KERNEL] = "kernel",
};

const char *busy_name(enum busy b)
{
	return busy_names[b];
}

enum busy busy_thread(const char *name)
{
	for (size_t i = 0; i < ARRAY_LEN(jvm_threads); i++)
		if (thread_begins(name, jvm_threads[i].start))
			return jvm_threads[i].busy;
	return BUSY_APPLICATION;
}

/* True for an operation of the VM thread that collects garbage (JDK 8 to 26:
 * VM_GenCollectForAllocation, VM_G1CollectFull, …): the serial collector has no thread of its own.
 */
static bool is_collection(const struct frame *f)
{
	return f->kind != FRAME_ROOT && has_prefix(f->name, "VM_") && strstr(f->name, "Collect");
}

/* ---- how frames run ---- */

static const char *const how_names[HOW_KINDS] = {
	[HOW_C2] = "C2",
	[HOW_C1] = "C1",
	[HOW_COMPILED] = "java",
	[HOW_INLINED] = "inline",
	[HOW_INTERPRETED] = "interp",
	[HOW_NATIVE] = "native",
	[HOW_JVM] = "jvm",
	[HOW_STUB] = "stub",
	[HOW_KERNEL] = "kernel",
	[HOW_UNKNOWN] = "?",
};

const char *how_name(enum how h)
{
	return how_names[h];
}

static enum how how_of(const struct frame *f)
{
	static const enum how hows[FRAME_KINDS] = {
		[FRAME_NATIVE] = HOW_NATIVE,   [FRAME_JVM] = HOW_JVM,
		[FRAME_KERNEL] = HOW_KERNEL,   [FRAME_JAVA] = HOW_COMPILED,
		[FRAME_INLINED] = HOW_INLINED, [FRAME_INTERPRETED] = HOW_INTERPRETED,
		[FRAME_STUB] = HOW_STUB,       [FRAME_UNKNOWN] = HOW_UNKNOWN,
		[FRAME_ROOT] = HOW_UNKNOWN,
	};

	if (f->kind != FRAME_JAVA || f->level == 0)
		return hows[f->kind];
	return f->level == 4 ? HOW_C2 : HOW_C1;
}

enum how row_how(const struct row *r)
{
	enum how most = HOW_UNKNOWN;

	for (enum how h = 0; h < HOW_KINDS; h++)
		if (r->how[h] > r->how[most])
			most = h;
	return most;
}

/* ---- rows by frame ---- */

struct tally {
	const struct stacks *stacks;
	const struct lens *lens;
	struct view *view;
	uint32_t *rows;	   /* by frame: its row + 1 */
	uint32_t *threads; /* by frame: its thread row + 1 */
	size_t row_cap, thread_cap;
	uint64_t *totals;  /* by node */
	uint32_t *on_path; /* by row: its frames on the current path */
};

/* Makes the rows; returns by frame its row + 1. Frames of one row have the same name and
 * method_kind. */
static uint32_t *rows_of_frames(struct tally *t)
{
	size_t count = stacks_frame_count(t->stacks);
	uint32_t *rows = xcalloc(count, sizeof(*rows)); /* + 1 */
	CLEANUP(free) uint32_t *by_plain = NULL;
	struct frames *plain = frames_new();

	by_plain = xcalloc(count, sizeof(*by_plain));
	for (uint32_t f = 0; f < count; f++) {
		const struct frame *frame = stacks_frame(t->stacks, f);
		enum frame_kind kind = method_kind(frame->kind);
		uint32_t *row = &by_plain[frames_intern(plain, frame->name, frame->len, kind)];

		if (kind == FRAME_ROOT)
			continue;
		if (!*row) {
			t->view->rows = grow(t->view->rows, t->view->row_count, &t->row_cap,
					     sizeof(*t->view->rows));
			t->view->rows[t->view->row_count++] =
				(struct row){.name = frame->name, .kind = kind};
			*row = (uint32_t)t->view->row_count;
		}
		rows[f] = *row;
	}
	frames_free(plain);
	return rows;
}

static struct thread_row *thread_row(struct tally *t, uint32_t frame)
{
	uint32_t *known = &t->threads[frame];
	struct view *v = t->view;

	if (!*known) {
		v->threads = grow(v->threads, v->thread_count, &t->thread_cap, sizeof(*v->threads));
		v->threads[v->thread_count++] =
			(struct thread_row){.name = stacks_frame(t->stacks, frame)->name};
		*known = (uint32_t)v->thread_count;
	}
	return &v->threads[*known - 1];
}

/* ---- one thread's stacks, depth first ---- */

struct thread_walk {
	struct thread_row *thread;
	enum busy busy;	      /* of the thread */
	bool seen;	      /* passes the lens */
	uint32_t collections; /* on the path */
	/* Frames on the path above which another thread's stack is (struct event_name, held), and
	 * the row of the class below the first: what is there is that one's own. */
	uint32_t held, subject;
};

static bool is_held(const struct frame *f)
{
	for (size_t i = 0; f->kind == FRAME_STUB && i < EVENT_KINDS; i++)
		if (event_names[i].held && !strcmp(f->name, event_names[i].held))
			return true;
	return false;
}

static enum busy busy_of(const struct thread_walk *w, const struct frame *f)
{
	if (f->kind == FRAME_KERNEL)
		return BUSY_KERNEL;
	return w->busy == BUSY_JVM && w->collections ? BUSY_GC : w->busy;
}

static void enter(struct tally *t, struct thread_walk *w, uint32_t node)
{
	const struct stack_node *n = stacks_node(t->stacks, node);
	const struct frame *f = stacks_frame(t->stacks, n->frame);
	uint32_t row = t->rows[n->frame];
	enum busy busy;

	w->collections += is_collection(f);
	if (is_held(f) && !w->held++)
		w->subject = t->rows[stacks_node(t->stacks, n->parent)->frame];
	busy = busy_of(w, f);
	w->thread->busy[busy] += n->self;
	if (!w->seen)
		return;
	t->view->samples += n->self;
	t->view->busy[busy] += n->self;
	if (w->held ? w->subject : row)
		t->view->rows[(w->held ? w->subject : row) - 1].self += n->self;
	if (!row)
		return;
	if (t->on_path[row - 1]++ == 0) {
		t->view->rows[row - 1].total += t->totals[node];
		t->view->rows[row - 1].how[how_of(f)] += t->totals[node];
	}
}

static void leave(struct tally *t, struct thread_walk *w, uint32_t node)
{
	const struct frame *f = stacks_frame(t->stacks, stacks_node(t->stacks, node)->frame);
	uint32_t row = t->rows[stacks_node(t->stacks, node)->frame];

	w->collections -= is_collection(f);
	w->held -= is_held(f);
	if (w->seen && row)
		t->on_path[row - 1]--;
}

/* True for the node below which a thread waits for something to do. */
static bool is_idle(const struct tally *t, uint32_t node, uint32_t top)
{
	const struct stack_node *n = stacks_node(t->stacks, node);
	const struct frame *f = stacks_frame(t->stacks, n->frame);

	return n->parent && stacks_node(t->stacks, n->parent)->parent == top &&
	       f->kind == FRAME_STUB && !strcmp(f->name, WALL_IDLE);
}

/* Adds up the thread's time by cause, if it is of the wall clock. */
static void add_causes(struct tally *t, struct thread_row *thread, uint32_t top)
{
	for (uint32_t n = stacks_node(t->stacks, top)->first; n;
	     n = stacks_node(t->stacks, n)->next) {
		const struct frame *f = stacks_frame(t->stacks, stacks_node(t->stacks, n)->frame);
		uint64_t idle = 0;

		for (uint32_t c = stacks_node(t->stacks, n)->first; c;
		     c = stacks_node(t->stacks, c)->next)
			idle += is_idle(t, c, top) ? t->totals[c] : 0;
		for (unsigned cause = 0; f->kind == FRAME_STUB && cause < WALL_CAUSES; cause++)
			if (!strcmp(f->name, wall_names[cause]))
				thread->causes[cause] += t->totals[n] - idle;
		thread->causes[WALL_CAUSES] += idle;
		thread->total -= idle;
	}
}

static void walk_thread(struct tally *t, uint32_t top)
{
	uint32_t frame = stacks_node(t->stacks, top)->frame;
	const char *name = stacks_frame(t->stacks, frame)->name;
	struct thread_walk w = {.thread = thread_row(t, frame),
				.busy = busy_thread(name),
				.seen = lens_has_thread(t->lens, name)};
	uint32_t node = top;

	w.thread->total += t->totals[top];
	add_causes(t, w.thread, top);
	for (;;) {
		enter(t, &w, node);
		if (stacks_node(t->stacks, node)->first && !is_idle(t, node, top)) {
			node = stacks_node(t->stacks, node)->first;
			continue;
		}
		leave(t, &w, node);
		while (node != top && !stacks_node(t->stacks, node)->next) {
			node = stacks_node(t->stacks, node)->parent;
			leave(t, &w, node);
		}
		if (node == top)
			return;
		node = stacks_node(t->stacks, node)->next;
	}
}

/* ---- order ---- */

static int compare_counts(uint64_t a, uint64_t b)
{
	return (a < b) - (a > b);
}

static int compare_rows(const void *a, const void *b, void *arg)
{
	const struct row *x = a, *y = b;
	bool by_self = *(const enum lens_order *)arg == ORDER_SELF;
	int order = by_self ? compare_counts(x->self, y->self) : compare_counts(x->total, y->total);

	if (order == 0)
		order = by_self ? compare_counts(x->total, y->total)
				: compare_counts(x->self, y->self);
	if (order == 0)
		order = strcmp(x->name, y->name);
	return order ? order : (int)x->kind - (int)y->kind;
}

static int compare_threads(const void *a, const void *b)
{
	const struct thread_row *x = a, *y = b;
	int order = compare_counts(x->total, y->total);

	return order ? order : strcmp(x->name, y->name);
}

static void remove_unmatched(struct view *v, const struct lens *lens)
{
	CLEANUP(name_filter_fini) struct name_filter filter;
	size_t kept = 0;

	name_filter_make(&filter, lens->filter);
	for (size_t i = 0; i < v->row_count; i++)
		if (v->rows[i].total && name_filter_passes(&filter, v->rows[i].name))
			v->rows[kept++] = v->rows[i];
	v->row_count = kept;
}

void view_make(const struct stacks *s, const struct lens *lens, struct view *ret)
{
	struct tally t = {.stacks = s, .lens = lens, .view = ret};
	enum lens_order order = lens->order;

	*ret = (struct view){0};
	t.totals = stacks_totals(s);
	t.threads = xcalloc(stacks_frame_count(s), sizeof(*t.threads));
	t.rows = rows_of_frames(&t);
	t.on_path = xcalloc(ret->row_count, sizeof(*t.on_path));
	for (uint32_t n = stacks_node(s, 0)->first; n; n = stacks_node(s, n)->next)
		walk_thread(&t, n);
	free(t.totals);
	free(t.threads);
	free(t.rows);
	free(t.on_path);
	remove_unmatched(ret, lens);
	if (ret->row_count)
		qsort_r(ret->rows, ret->row_count, sizeof(*ret->rows), compare_rows, &order);
	if (ret->thread_count)
		qsort(ret->threads, ret->thread_count, sizeof(*ret->threads), compare_threads);
}

void view_fini(struct view *v)
{
	free(v->rows);
	free(v->threads);
	*v = (struct view){0};
}
