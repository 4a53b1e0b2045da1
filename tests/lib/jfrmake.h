/* SPDX-License-Identifier: Apache-2.0 */
/* Makes recordings of JDK Flight Recorder, with types whose fields are in an order of their own. */
#ifndef DFG_LIB_JFRMAKE_H
#define DFG_LIB_JFRMAKE_H

#include "common/str.h"
#include "dfg/compiler.h"

enum {
	JM_LONG = 1,
	JM_INT,
	JM_BOOLEAN,
	JM_TEXT,
	JM_DOUBLE,
	JM_CLASS = 10,
	JM_SYMBOL,
	JM_THREAD,
	JM_FRAME_TYPE,
	JM_FRAME,
	JM_METHOD,
	JM_TRACE,
	JM_SAMPLE = 200, /* two bytes as a number */
	JM_LOCK,
	JM_ALLOC,
	JM_TLAB,
	JM_WALL,
	JM_NEST,  /* has itself as a field */
	JM_EMPTY, /* has no field */
};

struct jm_type {
	int id;
	const char *name;
	const char *fields; /* "name:ID", "name:ID*" a constant, "name:ID[]" an array, by blanks */
};

static const struct jm_type jm_types[] = {
	{JM_LONG, "long", ""},
	{JM_INT, "int", ""},
	{JM_BOOLEAN, "boolean", ""},
	{JM_TEXT, "java.lang.String", ""},
	{JM_DOUBLE, "double", ""},
	{JM_CLASS, "java.lang.Class", "modifiers:2 name:11*"},
	{JM_SYMBOL, "jdk.types.Symbol", "string:4"},
	{JM_THREAD, "java.lang.Thread", "virtual:3 javaName:4 osThreadId:1 osName:4"},
	{JM_FRAME_TYPE, "jdk.types.FrameType", "description:4"},
	{JM_FRAME, "jdk.types.StackFrame", "type:13* lineNumber:2 method:15*"},
	{JM_METHOD, "jdk.types.Method", "descriptor:11* name:11* type:10*"},
	{JM_TRACE, "jdk.types.StackTrace", "frames:14[] truncated:3"},
	{JM_SAMPLE, "jdk.ExecutionSample",
	 "load:5 state:4 stackTrace:16* sampledThread:12* startTime:1"},
	{JM_LOCK, "jdk.JavaMonitorEnter",
	 "duration:1 monitorClass:10* startTime:1 stackTrace:16* eventThread:12*"},
	{JM_ALLOC, "jdk.ObjectAllocationSample",
	 "startTime:1 weight:1 objectClass:10* stackTrace:16* eventThread:12*"},
	{JM_TLAB, "jdk.ObjectAllocationInNewTLAB",
	 "startTime:1 tlabSize:1 objectClass:10* stackTrace:16* eventThread:12*"},
	{JM_WALL, "profiler.WallClockSample",
	 "startTime:1 samples:2 stackTrace:16* sampledThread:12*"},
	{JM_NEST, "test.Nest", "inner:205"},
	{JM_EMPTY, "test.Empty", ""},
};

struct jm {
	struct str s;
	bool fixed;	/* numbers of full width */
	size_t chunk;	/* where it begins */
	size_t record;	/* likewise */
	unsigned texts; /* of the metadata, as far as they are counted */
};

__attribute__((unused)) static void jm_fixed(struct jm *m, uint64_t v, unsigned width)
{
	while (width-- > 0)
		str_addc(&m->s, (char)(v >> 8 * width));
}

__attribute__((unused)) static void jm_put_fixed(struct jm *m, size_t at, uint64_t v,
						 unsigned width)
{
	for (unsigned i = 0; i < width; i++)
		m->s.buf[at + i] = (char)(v >> 8 * (width - 1 - i));
}

/* At most nine bytes: the last one has eight bits. */
__attribute__((unused)) static void jm_number(struct jm *m, uint64_t v, unsigned width)
{
	if (m->fixed) {
		jm_fixed(m, v, width);
		return;
	}
	for (unsigned i = 0; i < 8 && v >= 0x80; i++, v >>= 7)
		str_addc(&m->s, (char)(v | 0x80));
	str_addc(&m->s, (char)v);
}

#define jm_int(m, v)  jm_number(m, v, 4)
#define jm_long(m, v) jm_number(m, v, 8)

__attribute__((unused)) static void jm_bytes(struct jm *m, int encoding, const char *text)
{
	str_addc(&m->s, (char)encoding);
	jm_int(m, strlen(text));
	str_adds(&m->s, text);
}

#define jm_text(m, text) jm_bytes(m, 3, text)

__attribute__((unused)) static void jm_begin(struct jm *m, uint64_t type)
{
	m->record = m->s.len;
	jm_fixed(m, 0, 4);
	jm_long(m, type);
}

/* The size has four bytes, as the JDK writes it. */
__attribute__((unused)) static void jm_end(struct jm *m)
{
	size_t size = m->s.len - m->record;

	jm_put_fixed(m, m->record, size, 4);
	for (unsigned i = 0; i < 4 && !m->fixed; i++)
		m->s.buf[m->record + i] = (char)((size >> 7 * i & 0x7f) | (i < 3 ? 0x80 : 0));
}

__attribute__((unused)) static void jm_chunk(struct jm *m)
{
	m->chunk = m->s.len;
	str_add(&m->s, "FLR", 4);
	jm_fixed(m, 2, 2);
	jm_fixed(m, 1, 2);
	for (unsigned i = 0; i < 3; i++)
		jm_fixed(m, 0, 8);
	jm_fixed(m, 1000, 8); /* start, ns */
	jm_fixed(m, 0, 8);
	jm_fixed(m, 50, 8); /* start, ticks */
	jm_fixed(m, 500000000, 8);
	jm_fixed(m, m->fixed ? 0 : 1, 4);
}

__attribute__((unused)) static void jm_chunk_end(struct jm *m)
{
	jm_put_fixed(m, m->chunk + 8, m->s.len - m->chunk, 8);
}

/* The texts of elements and attributes, by number. */
enum {
	JM_ROOT,
	JM_META,
	JM_KIND_CLASS,
	JM_FIELD,
	JM_NAME,
	JM_ID,
	JM_POOL,
	JM_DIMENSION,
	JM_TRUE,
	JM_1
};

__attribute__((unused)) static void jm_element(struct jm *m, unsigned kind, unsigned attributes)
{
	jm_int(m, kind);
	jm_int(m, attributes);
}

__attribute__((unused)) static void jm_attribute(struct jm *m, unsigned key, unsigned value)
{
	jm_int(m, key);
	jm_int(m, value);
}

/* Calls `fn` for each field of a type. */
__attribute__((unused)) static unsigned jm_fields(struct jm *m, const struct jm_type *t,
						  void (*fn)(struct jm *m, const char *name,
							     const char *id, const char *how))
{
	CLEANUP(free) char *list = xstrdup(t->fields);
	unsigned n = 0;

	for (char *save, *f = strtok_r(list, " ", &save); f; f = strtok_r(NULL, " ", &save), n++) {
		char *id = strchr(f, ':'), how[3] = "";
		size_t digits = strspn(id + 1, "0123456789");

		*id++ = '\0';
		snprintf(how, sizeof(how), "%s", id + digits);
		id[digits] = '\0';
		if (fn)
			fn(m, f, id, how);
	}
	return n;
}

__attribute__((unused)) static void jm_field_texts(struct jm *m, const char *name, const char *id,
						   const char *how)
{
	(void)how;
	jm_bytes(m, 5, name);
	jm_text(m, id);
}

__attribute__((unused)) static void jm_field_element(struct jm *m, const char *name, const char *id,
						     const char *how)
{
	(void)name;
	(void)id;
	jm_element(m, JM_FIELD, *how ? 3 : 2);
	jm_attribute(m, JM_KIND_CLASS, m->texts + 1);
	jm_attribute(m, JM_NAME, m->texts);
	if (*how)
		jm_attribute(m, *how == '*' ? JM_POOL : JM_DIMENSION, *how == '*' ? JM_TRUE : JM_1);
	jm_int(m, 0);
	m->texts += 2;
}

__attribute__((unused)) static void jm_metadata(struct jm *m)
{
	static const char *const known[] = {"root", "metadata",	    "class",	 "field", "name",
					    "id",   "constantPool", "dimension", "true",  "1"};
	unsigned count = ARRAY_LEN(known);

	for (size_t i = 0; i < ARRAY_LEN(jm_types); i++)
		count += 2 + 2 * jm_fields(m, &jm_types[i], NULL);
	jm_begin(m, 0);
	for (unsigned i = 0; i < 3; i++)
		jm_long(m, 0);
	jm_int(m, count);
	for (size_t i = 0; i < ARRAY_LEN(known); i++)
		jm_text(m, known[i]);
	for (size_t i = 0; i < ARRAY_LEN(jm_types); i++) {
		CLEANUP(free) char *id = xasprintf("%d", jm_types[i].id);

		jm_text(m, jm_types[i].name);
		jm_text(m, id);
		jm_fields(m, &jm_types[i], jm_field_texts);
	}
	jm_element(m, JM_ROOT, 0);
	jm_int(m, 1);
	jm_element(m, JM_META, 0);
	jm_int(m, ARRAY_LEN(jm_types));
	m->texts = ARRAY_LEN(known);
	for (size_t i = 0; i < ARRAY_LEN(jm_types); i++) {
		jm_element(m, JM_KIND_CLASS, 2);
		jm_attribute(m, JM_ID, m->texts + 1);
		jm_attribute(m, JM_NAME, m->texts);
		m->texts += 2;
		jm_int(m, jm_fields(m, &jm_types[i], NULL));
		jm_fields(m, &jm_types[i], jm_field_element);
	}
	jm_end(m);
}

__attribute__((unused)) static void jm_checkpoint(struct jm *m, unsigned pools)
{
	jm_begin(m, 1);
	jm_long(m, 0);
	jm_long(m, 0);
	jm_long(m, (uint64_t)-100);
	str_addc(&m->s, 1);
	jm_int(m, pools);
}

__attribute__((unused)) static void jm_pool(struct jm *m, unsigned type, unsigned count)
{
	jm_long(m, type);
	jm_int(m, count);
}

__attribute__((unused)) static void jm_frame(struct jm *m, unsigned type, unsigned line,
					     unsigned method)
{
	jm_long(m, type);
	jm_int(m, line);
	jm_long(m, method);
}

__attribute__((unused)) static void jm_method(struct jm *m, unsigned key, unsigned descriptor,
					      unsigned name, unsigned class)
{
	jm_long(m, key);
	jm_long(m, descriptor);
	jm_long(m, name);
	jm_long(m, class);
}

/* Symbols, classes and methods: 1 a.B.run, 2 a.B$$Lambda.0x7f.get, 3 read of libc.so.6, 4 the
 * kernel's do_read. */
__attribute__((unused)) static void jm_methods(struct jm *m)
{
	static const char *const symbols[] = {"a/B",
					      "run",
					      "()V",
					      "a/B$$Lambda$14+0x7f/123",
					      "get",
					      "libc.so.6",
					      "read",
					      "()L;",
					      "",
					      "do_read",
					      "(Lk;)L;",
					      "[B",
					      "[[Ljava/lang/String;"};
	static const unsigned classes[] = {1, 4, 6, 9, 12, 13};

	jm_checkpoint(m, 3);
	jm_pool(m, JM_SYMBOL, ARRAY_LEN(symbols));
	for (unsigned i = 0; i < ARRAY_LEN(symbols); i++) {
		jm_long(m, i + 1);
		if (*symbols[i])
			jm_text(m, symbols[i]);
		else
			str_addc(&m->s, 1);
	}
	jm_pool(m, JM_CLASS, ARRAY_LEN(classes));
	for (unsigned i = 0; i < ARRAY_LEN(classes); i++) {
		jm_long(m, i + 1);
		jm_int(m, 0x100);
		jm_long(m, classes[i]);
	}
	jm_pool(m, JM_METHOD, 4);
	jm_method(m, 1, 3, 2, 1);
	jm_method(m, 2, 3, 5, 2);
	jm_method(m, 3, 8, 7, 3);
	jm_method(m, 4, 11, 10, 4);
	jm_end(m);
}

/* Frame types 1 to 5, threads 1 "main" and 2, which has no Java name, and traces: 1 a.B.run, 2 with
 * all kinds of frames, truncated. */
__attribute__((unused)) static void jm_stacks(struct jm *m)
{
	static const char *const types[] = {"Interpreted", "JIT compiled", "Inlined", "Native",
					    "Kernel"};

	jm_checkpoint(m, 3);
	jm_pool(m, JM_FRAME_TYPE, ARRAY_LEN(types));
	for (unsigned i = 0; i < ARRAY_LEN(types); i++) {
		jm_long(m, i + 1);
		jm_text(m, types[i]);
	}
	jm_pool(m, JM_THREAD, 2);
	jm_long(m, 1);
	str_addc(&m->s, 0);
	jm_text(m, "main");
	jm_long(m, 77);
	jm_text(m, "java");
	jm_long(m, 2);
	str_addc(&m->s, 0);
	str_addc(&m->s, 0);
	jm_long(m, 78);
	jm_text(m, "GC;1");
	jm_pool(m, JM_TRACE, 2);
	jm_long(m, 1);
	jm_int(m, 1);
	jm_frame(m, 2, 12, 1);
	str_addc(&m->s, 0);
	jm_long(m, 2);
	jm_int(m, 5);
	jm_frame(m, 5, 0, 4);
	jm_frame(m, 4, 0, 3);
	jm_frame(m, 3, 7, 2);
	jm_frame(m, 2, 12, 1);
	jm_frame(m, 1, 12, 1);
	str_addc(&m->s, 1);
	jm_end(m);
}

__attribute__((unused)) static void jm_sample(struct jm *m, uint64_t ticks, unsigned trace,
					      unsigned thread)
{
	jm_begin(m, JM_SAMPLE);
	jm_fixed(m, 0x3ff0000000000000, 8);
	jm_bytes(m, 5, "RUNNABLE");
	jm_long(m, trace);
	jm_long(m, thread);
	jm_long(m, ticks);
	jm_end(m);
}

/* An event of JM_ALLOC, JM_TLAB or JM_WALL (whose amount is an int, and which has no class). */
__attribute__((unused)) static void jm_event(struct jm *m, unsigned type, uint64_t amount,
					     unsigned class)
{
	jm_begin(m, type);
	jm_long(m, 60);
	jm_number(m, amount, type == JM_WALL ? 4 : 8);
	if (type != JM_WALL)
		jm_long(m, class);
	jm_long(m, 1);
	jm_long(m, 1);
	jm_end(m);
}

__attribute__((unused)) static void jm_lock(struct jm *m, uint64_t ticks)
{
	jm_begin(m, JM_LOCK);
	jm_long(m, ticks);
	jm_long(m, 1);
	jm_long(m, 60);
	jm_long(m, 1);
	jm_long(m, 1);
	jm_end(m);
}

/* A whole chunk with two samples of each of two stacks, a lock, and an allocation. */
__attribute__((unused)) static void jm_example(struct jm *m)
{
	jm_chunk(m);
	jm_sample(m, 70, 2, 2);
	jm_sample(m, 60, 1, 1);
	jm_metadata(m);
	jm_methods(m);
	jm_sample(m, 90, 1, 1);
	jm_lock(m, 100);
	jm_event(m, JM_ALLOC, 4096, 5);
	jm_stacks(m);
	jm_chunk_end(m);
}

#endif
