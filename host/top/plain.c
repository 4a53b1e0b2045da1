// SPDX-License-Identifier: Apache-2.0
#include "top/plain.h"

#include <jansson.h>

#include "common/fs.h"
#include "format/format.h"
#include "top/rows.h"

static void end_line(struct str *out)
{
	while (out->len && out->buf[out->len - 1] == ' ')
		out->len--;
	str_addc(out, '\n');
}

int plain_text(int fd, const char *name, const struct moment *m, unsigned frequency,
	       struct err *err)
{
	static const struct lens all = {.order = ORDER_SELF};
	CLEANUP(str_fini) struct str out = {0};
	CLEANUP(view_fini) struct view v = {0};

	view_make(m->stacks, &all, &v);
	rows_title(&out, name, m, frequency);
	end_line(&out);
	draw_quality_of(&out, &m->quality, event_names[m->event].unit);
	end_line(&out);
	rows_busy(&out, &v);
	end_line(&out);
	rows_method_head(&out, all.order);
	end_line(&out);
	for (size_t i = 0; i < v.row_count && i < PLAIN_METHODS; i++) {
		rows_method(&out, &v.rows[i], v.samples);
		end_line(&out);
	}
	rows_thread_head(&out, m->event);
	end_line(&out);
	for (size_t i = 0; i < v.thread_count && i < PLAIN_THREADS; i++) {
		rows_thread(&out, &v.threads[i], v.samples);
		end_line(&out);
	}
	end_line(&out);
	return fs_write_all(fd, out.buf, out.len, err);
}

/* ---- JSON ---- */

static json_t *json_busy(const uint64_t busy[BUSY_KINDS])
{
	json_t *o = json_object();

	for (enum busy b = 0; b < BUSY_KINDS; b++)
		json_object_set_new(o, busy_name(b), json_integer((json_int_t)busy[b]));
	return o;
}

static json_t *json_row(const struct row *r)
{
	json_t *how = json_object();

	for (enum how h = 0; h < HOW_KINDS; h++)
		if (r->how[h])
			json_object_set_new(how, how_name(h), json_integer((json_int_t)r->how[h]));
	return json_pack("{s:s, s:I, s:I, s:o}", "name", r->name, "self", (json_int_t)r->self,
			 "total", (json_int_t)r->total, "how", how);
}

/* Of the wall clock a thread has its causes, too. */
static json_t *json_thread(const struct thread_row *t, enum event_kind event)
{
	json_t *o = json_pack("{s:s, s:I, s:o}", "name", t->name, "total", (json_int_t)t->total,
			      "busy", json_busy(t->busy));
	json_t *causes = event == EVENT_CLOCK ? json_object() : NULL;

	for (unsigned c = 0; causes && c <= WALL_CAUSES; c++)
		json_object_set_new(causes, c < WALL_CAUSES ? wall_names[c] : WALL_IDLE,
				    json_integer((json_int_t)t->causes[c]));
	if (causes)
		json_object_set_new(o, "causes", causes);
	return o;
}

static json_t *json_window(const char *name, const struct moment *m, unsigned frequency)
{
	static const struct lens all = {.order = ORDER_SELF};
	CLEANUP(view_fini) struct view v = {0};
	json_t *methods = json_array(), *threads = json_array();
	double seconds = (double)m->us / 1e6;
	double used =
		frequency && seconds > 0 ? (double)m->quality.samples / seconds / frequency : 0;

	view_make(m->stacks, &all, &v);
	for (size_t i = 0; i < v.row_count && i < JSON_METHODS; i++)
		json_array_append_new(methods, json_row(&v.rows[i]));
	for (size_t i = 0; i < v.thread_count; i++)
		json_array_append_new(threads, json_thread(&v.threads[i], m->event));
	return json_pack("{s:s, s:s, s:f, s:f, s:I, s:I, s:I, s:I, s:f, s:o, s:o, s:o}", "name",
			 name, "unit", event_names[m->event].unit, "seconds", seconds, "gap",
			 (double)m->gap_us / 1e6, "samples", (json_int_t)m->quality.samples, "lost",
			 (json_int_t)m->quality.lost, "java_samples",
			 (json_int_t)m->quality.java_samples, "java_complete",
			 (json_int_t)m->quality.java_complete, "processors", used, "busy",
			 json_busy(v.busy), "methods", methods, "threads", threads);
}

int plain_json(int fd, const char *name, const struct moment *m, unsigned frequency,
	       struct err *err)
{
	json_t *o = json_window(name, m, frequency);
	CLEANUP(free) char *text = json_dumps(o, JSON_COMPACT | JSON_REAL_PRECISION(6));
	CLEANUP(str_fini) struct str line = {0};

	json_decref(o);
	str_addf(&line, "%s\n", text ? text : "{}");
	return fs_write_all(fd, line.buf, line.len, err);
}
