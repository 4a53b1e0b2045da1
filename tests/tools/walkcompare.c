// SPDX-License-Identifier: Apache-2.0
/* walkcompare [-1] [-F HZ] [-s STACK_BYTES] [-v N] PID SECONDS: holds the stacks that the BPF
 * program walks in the kernel against the offline unwinder. The program lets the kernel write every
 * sample with its stack copy, too: each interrupt gives both answers.
 *
 * Prints how many of the stacks that the program claims to be whole are the same, frame by frame,
 * which differ (-v: the first N of them), and why it left samples to the stack copy. The line
 * "total" has the samples, those walked, those that differ, those that went through code that had
 * been replaced (which shows when the next snapshot is taken), the part that was left in percent,
 * frames and the most of them, bytes, and the time of a walk in ns: median and 99 %.
 *
 * -1: nothing is compared; each sample comes one way, as a recorder would have it. Prints how many
 * came which way, and the processor time of reading one.
 *
 * As root. Exit status 0: none differs, 1: some do, 2: it could not be done. */
#include <fcntl.h>
#include <getopt.h>
#include <inttypes.h>
#include <unistd.h>

#include "common/clock.h"
#include "common/fs.h"
#include "common/proc.h"
#include "common/str.h"
#include "discover/jvm_memory.h"
#include "lib/stackrecorder.h"
#include "unwind/unwind.h"

#define CLASSES	 256
#define DELTA_MS 50
#define READ_MS	 20
#define PAIR_NS	 500000u /* half of the time between samples at most */

static const char *const ends[FLAT_ENDS] = {
	[FLAT_ROOT] = "whole",
	[FLAT_FULL] = "more frames than there is room for",
	[FLAT_NO_CODE] = "code that the tables lack",
	[FLAT_UNREAD] = "memory that cannot be read",
	[FLAT_UNSURE] = "an address of code that the tables lack",
	[FLAT_RETURN] = "no call ends at the return address",
	[FLAT_DEOPT] = "a deoptimised frame",
	[FLAT_THROWN] = "an exception on its way",
	[FLAT_STUB] = "a stub without a known frame",
	[FLAT_IN_ADAPTER] = "an adapter",
	[FLAT_ENTERED] = "an interpreted method that is entered",
	[FLAT_SLOTS] = "an interpreted frame",
	[FLAT_UNMAPPED] = "native code without a mapping",
	[FLAT_RULE] = "a native rule",
	[FLAT_POINTER] = "a native frame pointer",
	[FLAT_REGISTERS] = "registers",
};

struct counter {
	char name[200];
	uint64_t count;
};

struct map {
	uint64_t start, end, pgoff;
	char *path;
	struct cfi *cfi;
};

struct walked {
	struct flat_sample s;
	uint64_t *frames;
	bool used;
};

struct copied {
	struct copied_sample s;
	struct unwind_regs regs;
	bool good;
	uint8_t *stack;
};

struct compare {
	struct flat_tables *tables;
	struct flat_process process;
	struct map *maps;
	size_t map_count, map_cap;
	struct walked *walked;
	size_t walked_count, walked_cap;
	struct copied *copied;
	size_t copied_count, copied_cap;
	struct snapfile *history;
	struct counter why[CLASSES], differ[CLASSES];
	uint64_t samples, unpaired, stale, claimed, same, longer, frames;
	uint64_t thawed, marked; /* with frames in the heap, with a mark for them */
	uint64_t bytes;
	uint32_t most;	  /* frames */
	uint64_t read_us; /* processor time of reading samples */
	long verbose;
};

static struct unwind_frame unwound[UNWIND_FRAMES_MAX];

/* ---- the JVM ------------------------------------------------------------------------------ */

static bool write_record(void *arg, const char *record, size_t len)
{
	return fwrite(record, 1, len, arg) == len;
}

struct jvm_reader {
	struct jvm_memory *memory;
	struct hs_sink sink;
	void *work, *state;
	FILE *file;
	uint64_t read; /* bytes of it, by reader_changes */
};

static int reader_open(struct jvm_reader *r, int pid, struct err *err)
{
	CLEANUP(close_fd) int fd = proc_open(pid, err);

	if (fd < 0 || jvm_memory_open(fd, &r->memory, err) < 0 ||
	    jvm_memory_find_tables(r->memory, err) < 0)
		return -1;
	r->file = tmpfile();
	if (!r->file)
		return err_set(err, 0, "no temporary file");
	setvbuf(r->file, NULL, _IOFBF, 1 << 16);
	r->sink = (struct hs_sink){.write = write_record, .arg = r->file};
	r->work = xmalloc(HS_WORK_BYTES);
	r->state = xcalloc(1, HS_STATE_BYTES);
	return 0;
}

/* Takes a snapshot, or a delta after the one before. */
static int reader_next(struct jvm_reader *r, bool last, struct err *err)
{
	struct hs_result result = {0};

	hs_dump_delta(jvm_memory_source(r->memory), &r->sink, r->work, r->state, last, &result);
	fflush(r->file);
	return result.status == 0 ? 0 : err_set(err, 0, "a snapshot ends with %d", result.status);
}

static struct snapfile *reader_history(const struct jvm_reader *r, struct err *err)
{
	struct snapfile *sf = snapfile_new();

	if (snapfile_read(sf, fileno(r->file), err) < 0)
		return NULL;
	snapfile_finish(sf);
	return sf;
}

/* Reads what has been added to it since the last call; NULL: nothing. */
static struct snapfile *reader_changes(struct jvm_reader *r)
{
	struct snapfile *sf = snapfile_new();
	struct err ignored;

	if (snapfile_read_ended(sf, fileno(r->file), &r->read, &ignored) < 0) {
		snapfile_free(sf);
		return NULL;
	}
	snapfile_finish(sf);
	return sf;
}

/* ---- mapped files ------------------------------------------------------------------------- */

static void add_map(struct compare *c, int pid, const struct map *m)
{
	CLEANUP(free)
	char *path = xasprintf("/proc/%d/map_files/%" PRIx64 "-%" PRIx64, pid, m->start, m->end);
	CLEANUP(close_fd) int fd = m->path[0] == '/' ? open(path, O_RDONLY | O_CLOEXEC) : -1;
	struct flat_file file;
	struct err err;

	c->maps = grow(c->maps, c->map_count, &c->map_cap, sizeof(*c->maps));
	c->maps[c->map_count] = *m;
	if (fd >= 0)
		c->maps[c->map_count].cfi = cfi_open(fd, &err);
	if (c->maps[c->map_count].cfi && flat_add_file(c->tables, fd, &file, &err) == 0) {
		flat_add_mapping(c->tables, &c->process, m->start, m->end, m->pgoff, &file);
		flat_file_fini(&file);
	} else {
		flat_add_mapping(c->tables, &c->process, m->start, m->end, m->pgoff, NULL);
	}
	c->map_count++;
}

static void read_maps(struct compare *c, int pid)
{
	CLEANUP(free) char *path = xasprintf("/proc/%d/maps", pid);
	FILE *f = fopen(path, "re");
	char line[4400], perms[8], name[4200];

	while (f && fgets(line, sizeof(line), f)) {
		struct map m = {0};

		name[0] = '\0';
		if (sscanf(line, "%" SCNx64 "-%" SCNx64 " %7s %" SCNx64 " %*s %*s %4199[^\n]",
			   &m.start, &m.end, perms, &m.pgoff, name) < 4 ||
		    perms[2] != 'x')
			continue;
		m.path = xasprintf("%s", name + strspn(name, " "));
		add_map(c, pid, &m);
	}
	if (f)
		fclose(f);
}

static const struct map *map_of(const struct compare *c, uint64_t addr)
{
	for (size_t i = 0; i < c->map_count; i++)
		if (addr >= c->maps[i].start && addr < c->maps[i].end)
			return &c->maps[i];
	return NULL;
}

static bool find_native(void *arg, uint64_t addr, struct cfi **ret_cfi, uint64_t *ret_offset)
{
	const struct map *m = map_of(arg, addr);

	if (!m)
		return false;
	*ret_cfi = m->cfi;
	*ret_offset = addr - m->start + m->pgoff;
	return true;
}

/* ---- samples ------------------------------------------------------------------------------ */

static void take_walked(void *arg, const struct flat_sample *s, const uint64_t *frames)
{
	struct compare *c = arg;
	struct walked w = {.s = *s, .frames = xmalloc(s->count * sizeof(*frames) + 1)};

	memcpy(w.frames, frames, s->count * sizeof(*frames));
	c->walked = grow(c->walked, c->walked_count, &c->walked_cap, sizeof(w));
	c->walked[c->walked_count++] = w;
}

static void take_record(void *arg, const struct perf_event_header *h)
{
	struct compare *c = arg;
	struct copied_sample s;
	struct copied n;

	if (!copied_sample_of(h, &s))
		return;
	n = (struct copied){.s = s, .stack = xmalloc(s.stack_len + 1)};
	memcpy(n.stack, s.stack, s.stack_len);
	n.good = unwind_from_perf(&n.regs, s.regs_abi, s.regs_mask, s.regs);
	c->copied = grow(c->copied, c->copied_count, &c->copied_cap, sizeof(n));
	c->copied[c->copied_count++] = n;
}

static int by_thread(const void *a, const void *b)
{
	const struct walked *x = a, *y = b;

	return x->s.tid != y->s.tid ? (x->s.tid > y->s.tid) - (x->s.tid < y->s.tid)
				    : (x->s.time > y->s.time) - (x->s.time < y->s.time);
}

static bool is_pair(const struct walked *w, const struct copied *s)
{
	return !w->used && w->s.tid == s->s.tid && w->s.pc == unwind_pc(&s->regs) &&
	       w->s.sp == unwind_sp(&s->regs) &&
	       (w->s.time > s->s.time ? w->s.time - s->s.time : s->s.time - w->s.time) < PAIR_NS;
}

/* The walk of the same interrupt: the thread's with the same registers at about the time, before or
 * after it, since kernels differ in when they take the sample's. */
static struct walked *pair_of(const struct compare *c, const struct copied *s)
{
	struct walked key = {.s = {.tid = s->s.tid, .time = s->s.time}};
	size_t lo = 0, n = c->walked_count;

	while (n) {
		size_t half = n / 2;

		if (by_thread(&c->walked[lo + half], &key) <= 0) {
			lo += half + 1;
			n -= half + 1;
		} else {
			n = half;
		}
	}
	for (size_t i = lo ? lo - 1 : 0; i < lo + 1 && i < c->walked_count; i++)
		if (is_pair(&c->walked[i], s)) {
			c->walked[i].used = true;
			return &c->walked[i];
		}
	return NULL;
}

/* ---- comparing ---------------------------------------------------------------------------- */

static void count(struct counter *list, const char *name)
{
	for (size_t i = 0; i < CLASSES; i++) {
		if (list[i].count && strncmp(list[i].name, name, sizeof(list[i].name) - 1) &&
		    i + 1 < CLASSES)
			continue;
		snprintf(list[i].name, sizeof(list[i].name), "%s", name);
		list[i].count++;
		return;
	}
}

static const char *name_of_code(const struct compare *c, uint64_t addr, char *buf, size_t size)
{
	const struct snapfile_code *code[SNAPFILE_AROUND];
	const struct snapfile_stub *stub = snapfile_stub(c->history, addr);
	struct snapfile_method m;

	if (stub)
		snprintf(buf, size, "%.*s", (int)stub->name_len, stub->name);
	else if (!snapfile_find(c->history, addr, snapfile_around(c->history, SNAPFILE_LATEST),
				code))
		snprintf(buf, size, "?");
	else if (snapfile_code_method(code[0], &m))
		snprintf(buf, size, "kind %u %.*s", code[0]->record->kind, (int)m.name_len, m.name);
	else
		snprintf(buf, size, "kind %u %.*s", code[0]->record->kind,
			 (int)code[0]->record->name_len, code[0]->name);
	return buf;
}

/* A frame of the program's in words, with its address where `exact`. */
static void print_walked(const struct compare *c, uint64_t frame, bool exact, char *buf,
			 size_t size)
{
	uint64_t value = frame & (~0ull >> 4);
	char name[160], at[32] = "";
	const struct map *m;

	if (frame >> 60 == FLAT_FRAME_CODE)
		value = c->tables->codes[value >> 32].start + (uint32_t)value;
	if (exact)
		snprintf(at, sizeof(at), "%" PRIx64 " ", value);
	switch (frame >> 60) {
	case FLAT_FRAME_CODE:
		snprintf(buf, size, "%s%s", at, name_of_code(c, value, name, sizeof(name)));
		break;
	case FLAT_FRAME_NATIVE:
		m = map_of(c, value);
		snprintf(buf, size, "%s%s+%" PRIx64, at, m ? m->path : "native",
			 m ? value - m->start + m->pgoff : 0);
		break;
	default:
		snprintf(buf, size, "%s%s", at,
			 frame >> 60 == FLAT_FRAME_FROZEN ? "frozen" : "interpreted");
	}
}

/* True if both are the same code, or one has replaced the other and gives the same frame. */
static bool same_code(const struct compare *c, const struct walked *w, const struct flat_code *code,
		      const struct unwind_frame *f)
{
	const struct snapfile_code *known;

	if (f->code->start != code->start)
		return false;
	if (f->code->record->compile_id == code->compile_id)
		return true;
	known = snapfile_find_known(c->history, f->addr, snapfile_around(c->history, w->s.time),
				    code->start, code->compile_id);
	return known && snapfile_agree(known, f->code, f->addr);
}

static bool same_frame(const struct compare *c, const struct walked *w, uint64_t frame,
		       const struct unwind_frame *f)
{
	uint64_t value = frame & (~0ull >> 4);
	const struct flat_code *code;

	if (frame >> 60 != f->kind)
		return false;
	switch (f->kind) {
	case UNWOUND_CODE:
		code = &c->tables->codes[value >> 32];
		return code->start + (uint32_t)value == f->addr && same_code(c, w, code, f);
	case UNWOUND_INTERPRETED:
		return value == (f->method & (~0ull >> 4));
	case UNWOUND_FROZEN:
		return true;
	default:
		return value == f->addr;
	}
}

static void show(struct compare *c, const struct walked *w, const struct copied *s, size_t n,
		 enum unwind_end end)
{
	static const char *const kinds[] = {"native", "code", "interpreted", "frozen", "stale"};
	size_t from = 0;
	char text[400];

	while (from < n && from < w->s.count && same_frame(c, w, w->frames[from], &unwound[from]))
		from++;
	printf("differs at frame %zu: %u walked, %zu unwound to end %d, pc %" PRIx64 " sp %" PRIx64
	       "\n",
	       from, w->s.count, n, end, w->s.pc, w->s.sp);
	from = from > 3 ? from - 3 : 0;
	for (size_t i = from; i < w->s.count && i < from + 7; i++) {
		print_walked(c, w->frames[i], true, text, sizeof(text));
		printf("   walked %zu %s\n", i, text);
	}
	for (size_t i = from; i < n && i < from + 7; i++)
		printf("  unwound %zu %s %" PRIx64 " %s from %u\n", i, kinds[unwound[i].kind],
		       unwound[i].addr, name_of_code(c, unwound[i].addr, text, sizeof(text)),
		       unwound[i].code ? unwound[i].code->first : 0);
	for (unsigned i = 0; i < UNWIND_REGS; i++)
		printf(" %u=%" PRIx64, i, s->regs.reg[i]);
	printf("\n");
}

/* Counts why, and where. */
static void note_left(struct compare *c, const struct walked *w)
{
	char where[200] = "", text[320];

	if (w->s.count)
		print_walked(c, w->frames[w->s.count - 1], false, where, sizeof(where));
	snprintf(text, sizeof(text), "%s: %s%s", ends[w->s.end], w->s.count > 1 ? "caller " : "",
		 where);
	count(c->why, text);
}

/* The last frame of a copy, of which the copy does not have the method. */
static bool is_guess(const struct unwind_frame *f)
{
	return f->kind == UNWOUND_INTERPRETED && f->method == 0;
}

/* True if the unwinder ends for want of memory above the copy, which also ends where a page of the
 * stack has never been used: a large buffer, which the walk goes past. */
static bool is_cut(enum unwind_end end, const struct stack_copy *stack, size_t n)
{
	const struct unwind_frame *last = n ? &unwound[n - 1] : NULL;

	return end == STACK_TRUNCATED || (end == STACK_LOST && last && last->reach < UINT16_MAX &&
					  last->sp - stack->base + last->reach > stack->len);
}

/* Counts the unwound frames, from the innermost on, that are the walked ones. Where the copy has a
 * mark for frames in the heap, of which it has nothing, the walk has as many more as they are. */
static size_t count_same(const struct compare *c, const struct walked *w, size_t n,
			 size_t *ret_more)
{
	size_t k = 0;

	*ret_more = 0;
	for (; k < n && k + *ret_more < w->s.count; k++) {
		if (same_frame(c, w, w->frames[k + *ret_more], &unwound[k]))
			continue;
		if (unwound[k].kind != UNWOUND_FROZEN || *ret_more || w->s.count < n)
			break;
		*ret_more = w->s.count - n;
	}
	return k;
}

static void compare_one(struct compare *c, struct returns *returns, const struct copied *s)
{
	struct unwind_source src = {.code = c->history,
				    .span = snapfile_around(c->history, s->s.time),
				    .returns = returns,
				    .native = find_native,
				    .arg = c};
	struct stack_copy stack = {.p = s->stack,
				   .len = s->s.stack_len,
				   .base = unwind_sp(&s->regs),
				   .from = unwind_sp(&s->regs)};
	struct walked *w = s->good ? pair_of(c, s) : NULL;
	enum unwind_end end;
	size_t n, k, more;

	c->samples++;
	if (!w) {
		c->unpaired++;
		return;
	}
	if (w->s.end != FLAT_ROOT && w->s.end != FLAT_FULL) {
		note_left(c, w);
		return;
	}
	if (!flat_is_current(c->tables, c->history, &w->s, w->frames)) {
		c->stale++;
		return;
	}
	c->claimed++;
	c->frames += w->s.count;
	c->most = w->s.count > c->most ? w->s.count : c->most;
	c->bytes += sizeof(w->s) + w->s.count * sizeof(uint64_t);
	returns_at(returns, src.span);
	end = unwind(&src, &s->regs, &stack, s->s.limited, unwound, &n);
	k = count_same(c, w, n, &more);
	c->thawed += more > 0;
	for (uint32_t i = 0; i < w->s.count; i++)
		c->marked += w->frames[i] >> 60 == FLAT_FRAME_FROZEN;
	if (is_cut(end, &stack, n) && (k == n || (k + 1 == n && is_guess(&unwound[k]))))
		c->longer++;
	else if (k == n && k + more == w->s.count && end == STACK_ROOT)
		c->same++;
	else {
		char text[100];

		snprintf(text, sizeof(text), "%s",
			 end == STACK_LOST ? "the unwinder is lost" : "other frames");
		count(c->differ, text);
		if (c->verbose-- > 0)
			show(c, w, s, n, end);
	}
}

/* ---- results ------------------------------------------------------------------------------ */

static int by_count(const void *a, const void *b)
{
	const struct counter *x = a, *y = b;

	return x->count < y->count ? 1 : x->count > y->count ? -1 : 0;
}

static void print_counters(struct counter *list, const char *title, size_t most)
{
	qsort(list, CLASSES, sizeof(*list), by_count);
	for (size_t i = 0; i < most && list[i].count; i++)
		printf("%s %6" PRIu64 "  %s\n", title, list[i].count, list[i].name);
}

static int by_ns(const void *a, const void *b)
{
	const struct walked *x = a, *y = b;

	return (x->s.ns > y->s.ns) - (x->s.ns < y->s.ns);
}

static double percent(uint64_t part, uint64_t of)
{
	return of ? 100 * (double)part / (double)of : 0;
}

static uint64_t print(struct compare *c, const struct stack_counts *counts)
{
	uint64_t paired = c->samples - c->unpaired, left = paired - c->stale - c->claimed,
		 differ = c->claimed - c->same - c->longer;
	double claimed = c->claimed ? (double)c->claimed : 1;
	uint32_t median = 0, most = 0;

	qsort(c->walked, c->walked_count, sizeof(*c->walked), by_ns);
	if (c->walked_count) {
		median = c->walked[c->walked_count / 2].s.ns;
		most = c->walked[c->walked_count * 99 / 100].s.ns;
	}
	printf("total %7" PRIu64 " %8" PRIu64 " %7" PRIu64 " %6" PRIu64 " %6.2f %7.1f %6" PRIu32
	       " %6.0f %7" PRIu32 " %7" PRIu32 "\n",
	       paired, c->claimed, differ, c->stale, percent(left, paired),
	       (double)c->frames / claimed, c->most, (double)c->bytes / claimed, median, most);
	printf("the copy ends before the stack %" PRIu64 "; without a partner %" PRIu64
	       "; lost: walked %" PRIu64 ", copied %" PRIu64 "\n",
	       c->longer, c->unpaired, counts->of[FLAT_COUNT_LOST], counts->copies_lost);
	printf("frames in the heap are walked of %" PRIu64 ", marked in %" PRIu64 "\n", c->thawed,
	       c->marked);
	print_counters(c->differ, "differ", CLASSES);
	print_counters(c->why, "left", 20);
	return differ;
}

/* Prints the numbers of samples that came one way or the other. */
static void print_once(struct compare *c, const struct stack_counts *counts)
{
	size_t all = c->walked_count + c->copied_count, walked = c->walked_count;
	uint64_t bytes = 0, walks = 0, half = 0, frames = 0;
	unsigned bit = 0;

	qsort(c->walked, walked, sizeof(*c->walked), by_ns);
	for (unsigned part = 10; walked && part < 100; part += part == 90 ? 9 : 40) {
		const struct flat_sample *s = &c->walked[walked * part / 100].s;

		printf("%u %%: %u ns, %u frames; ", part, s->ns, s->count);
	}

	for (size_t i = 0; i < c->walked_count; i++)
		frames += c->walked[i].s.count;
	bytes = c->walked_count * sizeof(struct flat_sample) + frames * sizeof(uint64_t);
	for (size_t i = 0; i < c->copied_count; i++)
		bytes += c->copied[i].s.stack_len;
	for (unsigned i = 0; i < 32; i++)
		walks += counts->of[FLAT_COUNT_NS + i];
	while (bit < 31 && (half += counts->of[FLAT_COUNT_NS + bit]) * 2 < walks)
		bit++;
	printf("walked %zu, copied %zu (%.2f %%), lost %" PRIu64 " and %" PRIu64 "\n",
	       c->walked_count, c->copied_count, percent(c->copied_count, all),
	       counts->of[FLAT_COUNT_LOST], counts->copies_lost);
	printf("each %.0f bytes, read in %.2f us of processor time; the median walk takes %u to %u "
	       "ns, with sending\n",
	       (double)bytes / (double)(all ? all : 1),
	       (double)c->read_us / (double)(all ? all : 1), 1u << bit, 2u << bit);
}

/* Reads what has been recorded. */
static int read_samples(struct compare *c, struct stack_recorder *r, struct err *err)
{
	struct stack_handler handler = {.walked = take_walked, .record = take_record, .arg = c};
	uint64_t begin = clock_cpu_us();
	int result = stack_recorder_read(r, &handler, err);

	c->read_us += clock_cpu_us() - begin;
	return result;
}

/* Takes a delta, and puts it into the tables. */
static int update(struct compare *c, struct jvm_reader *jvm, struct filled_recorder *f, int pid,
		  struct err *err)
{
	CLEANUP(snapfile_free) struct snapfile *now = NULL;

	if (reader_next(jvm, false, err) < 0)
		return -1;
	now = reader_changes(jvm);
	if (!now)
		return 0;
	return flat_update_process(c->tables, now, false, &c->process, err) < 0
		       ? -1
		       : filled_recorder_update(f, c->tables, (uint32_t)pid, &c->process, err);
}

/* Reads samples until the time is over, and follows the JVM's code meanwhile. */
static int record(struct compare *c, struct jvm_reader *jvm, struct filled_recorder *f, int pid,
		  int seconds, struct err *err)
{
	uint64_t end, delta;

	if (update(c, jvm, f, pid, err) < 0 ||
	    filled_recorder_add(f, (uint32_t)pid, &c->process, err) < 0 ||
	    stack_recorder_enable(f->recorder, true, err) < 0)
		return -1;
	end = clock_ms() + (uint64_t)seconds * 1000;
	delta = clock_ms() + DELTA_MS;
	while (clock_ms() < end) {
		usleep(READ_MS * 1000);
		if (read_samples(c, f->recorder, err) < 0)
			return -1;
		if (clock_ms() >= delta) {
			if (update(c, jvm, f, pid, err) < 0)
				return -1;
			delta = clock_ms() + DELTA_MS;
		}
	}
	if (stack_recorder_enable(f->recorder, false, err) < 0 ||
	    read_samples(c, f->recorder, err) < 0)
		return -1;
	return reader_next(jvm, true, err);
}

static int run(struct compare *c, int pid, int seconds, const struct stack_recorder_config *config,
	       struct err *err)
{
	CLEANUP(returns_free) struct returns *returns = returns_new();
	CLEANUP(snapfile_free) struct snapfile *first = NULL;
	struct jvm_reader jvm = {0};
	struct filled_recorder f = {0};
	struct stack_counts counts;
	uint64_t begin;
	int result;

	if (reader_open(&jvm, pid, err) < 0 || reader_next(&jvm, false, err) < 0)
		return -1;
	first = reader_changes(&jvm);
	c->tables = flat_tables_new();
	begin = clock_us();
	if (!first || flat_add_process(c->tables, first, &c->process, err) < 0)
		return -1;
	printf("tables of code: %.1f ms", (double)(clock_us() - begin) / 1000);
	begin = clock_us();
	read_maps(c, pid);
	printf(", of files: %.1f ms; codes %zu, pages %zu, spots %zu, rows %zu, methods %zu\n",
	       (double)(clock_us() - begin) / 1000, c->tables->count[FLAT_CODES],
	       c->tables->count[FLAT_PAGES], c->tables->count[FLAT_SPOTS],
	       c->tables->count[FLAT_ROWS], c->tables->count[FLAT_METHODS]);
	if (filled_recorder_open(config, c->tables, false, &f, err) < 0)
		return -1;
	result = record(c, &jvm, &f, pid, seconds, err);
	stack_recorder_count(f.recorder, &counts);
	filled_recorder_close(&f);
	if (result < 0)
		return -1;
	if (!config->both) {
		print_once(c, &counts);
		return 0;
	}
	c->history = reader_history(&jvm, err);
	if (!c->history)
		return -1;
	qsort(c->walked, c->walked_count, sizeof(*c->walked), by_thread);
	for (size_t i = 0; i < c->copied_count; i++)
		compare_one(c, returns, &c->copied[i]);
	return print(c, &counts) ? 1 : 0;
}

int main(int argc, char **argv)
{
	struct stack_recorder_config config = {
		.frequency = 499, .stack_bytes = 32768, .both = true};
	struct compare *c = xcalloc(1, sizeof(*c));
	struct err err;
	int option, pid, result;

	while ((option = getopt(argc, argv, "1F:s:v:")) != -1) {
		if (option == '1')
			config.both = false;
		else if (option == 'F')
			config.frequency = strtoull(optarg, NULL, 10);
		else if (option == 's')
			config.stack_bytes = (uint32_t)strtoul(optarg, NULL, 10);
		else if (option == 'v')
			c->verbose = strtol(optarg, NULL, 10);
		else
			return 2;
	}
	if (argc - optind != 2 || !parse_pid(argv[optind], &pid))
		return 2;
	result = run(c, pid, atoi(argv[optind + 1]), &config, &err);
	if (result < 0)
		fprintf(stderr, "walkcompare: %s\n", err.msg);
	return result < 0 ? 2 : result;
}
