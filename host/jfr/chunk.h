/* SPDX-License-Identifier: Apache-2.0 */
/* One chunk of a recording of JDK Flight Recorder, version 2 (JDK 8u262 and later, async-profiler):
 * its types, its constants and its events. The bytes are untrusted.
 *
 * A chunk is a header and a row of records: events, among them metadata (record type 0, which
 * describes the fields of all types) and checkpoints (1, constants by type and number). Numbers are
 * LEB128, or big endian where the header says so. Borrowed from OpenJDK 25,
 * src/jdk.jfr/share/classes/ jdk/jfr/internal/consumer: ChunkHeader, MetadataDescriptor,
 * ChunkParser, and util/MetadataReader.
 */
#ifndef DFG_JFR_CHUNK_H
#define DFG_JFR_CHUNK_H

#include "calltree/samples.h"
#include "common/err.h"
#include "common/str.h"
#include "common/table.h"
#include "dfg/bytes.h"

#define JFR_NONE UINT32_MAX

/* The encoding of a value. */
enum jfr_base {
	JFR_STRUCT, /* its fields one after the other */
	JFR_BYTE,   /* or boolean */
	JFR_SHORT,  /* or char */
	JFR_INT,
	JFR_LONG,
	JFR_FLOAT,
	JFR_DOUBLE,
	JFR_STRING,
};

struct jfr_field {
	const char *name;
	uint64_t type_id;
	uint32_t type; /* index, JFR_NONE: the metadata lacks it */
	bool constant; /* stored as the number of a constant */
	bool array;    /* a count, and so many values */
};

struct jfr_type {
	const char *name;
	uint64_t id;
	enum jfr_base base;
	uint32_t first, count;	 /* its fields */
	bool kept;		 /* its constants are looked up */
	struct keyed *constants; /* by number: where its value is in the chunk */
	size_t constant_count, constant_cap;
	uint32_t *memo; /* by index of a constant, for the user; NULL before jfr_memo */
};

struct jfr_chunk {
	struct bytes all; /* borrowed: header and records */
	bool fixed;	  /* numbers have their full width */
	uint64_t start_ns, start_ticks, ticks_per_second;
	uint64_t cut; /* bytes that could not be read */
	bool whole;   /* jfr_find_constants: none were cut then */
	struct jfr_type *types;
	size_t type_count, type_cap;
	struct jfr_field *fields;
	size_t field_count, field_cap;
	struct keyed *by_id; /* types */
	struct str texts;    /* of the metadata */
};

/* One event, metadata or checkpoint. */
struct jfr_record {
	uint64_t type_id;
	size_t size; /* with its own header */
	struct bytes body;
};

/* Reads the header and the types of the chunk at the beginning of *rest, and moves *rest to the
 * next one. The chunk must be closed, also after a failure. The last chunk of a recording that was
 * not finished has no valid size: it is all that is left. Without metadata it has no types. */
MUST_CHECK int jfr_chunk_open(struct bytes *rest, struct jfr_chunk *ret, struct err *err);
void jfr_chunk_close(struct jfr_chunk *c);

/* Finds the constants of the types that are kept. */
void jfr_find_constants(struct jfr_chunk *c);

/* Returns the records from the first on; jfr_next takes the next of them. False after the last:
 * what is left in *at is damaged or cut off. */
struct bytes jfr_records(const struct jfr_chunk *c);
bool jfr_next(const struct jfr_chunk *c, struct bytes *at, struct jfr_record *ret);

/* Return the index of a type, or JFR_NONE. */
uint32_t jfr_type_by_id(const struct jfr_chunk *c, uint64_t id);
uint32_t jfr_type_by_name(const struct jfr_chunk *c, const char *name);

/* Finds a constant: its value, and its index among the type's constants. */
bool jfr_constant(const struct jfr_chunk *c, uint32_t type, uint64_t number, struct bytes *value,
		  size_t *index);

/* Returns a number for each constant of a type, at first 0, which the chunk owns. */
uint32_t *jfr_memo(struct jfr_chunk *c, uint32_t type);

/* ---- values ------------------------------------------------------------------------------- */

/* Reads a number of so many bytes, 2 to 8, at its full width. */
uint64_t jfr_number(const struct jfr_chunk *c, struct bytes *b, unsigned width);

/* Move past a string, which is appended in UTF-8 as far as the recording is, and past any value. */
void jfr_string(const struct jfr_chunk *c, struct bytes *b, struct str *ret);
void jfr_skip(const struct jfr_chunk *c, struct bytes *b, uint32_t type);

/* Fields of a type that are looked for, by name and type. */
#define JFR_PICKS 5
struct jfr_wish {
	const char *name;
	const char *type; /* of a constant or of an array's elements; NULL: an integer; "": text */
};
struct jfr_picks {
	uint32_t type;
	uint32_t field[JFR_PICKS]; /* JFR_NONE: the type does not have it so */
};
struct jfr_value {
	uint64_t number;    /* of a constant, or an integer; 0: none */
	struct bytes bytes; /* where it begins */
};

void jfr_pick(const struct jfr_chunk *c, uint32_t type, const struct jfr_wish *wishes, size_t n,
	      struct jfr_picks *ret);

/* Reads a value and moves past it; ret[i] is the field of wish i, zero if there is none. False if
 * the bytes do not suffice. */
bool jfr_read_fields(const struct jfr_chunk *c, struct bytes *b, const struct jfr_picks *picks,
		     struct jfr_value ret[JFR_PICKS]);

/* Appends the text of a field of picks: a string, or a constant whose first field is one. Appends
 * nothing for null and what cannot be read. */
void jfr_text(const struct jfr_chunk *c, uint32_t field, const struct jfr_value *v,
	      struct str *ret);

/* ---- names of traces and threads, each made once (stack.c) --------------------------------- */

/* Frames, the innermost first, borrowed until the next trace is named. */
struct jfr_trace {
	const uint32_t *frames;
	uint32_t count;
	bool truncated;
	uint32_t java, unknown; /* of the frames */
};

struct jfr_thread {
	uint32_t frame;	 /* its name */
	uint32_t thread; /* of the profile's samples, if they are kept */
};

/* Names of the chunk's constants in a profile. Zero, but for the first members. */
struct jfr_names {
	struct jfr_chunk *chunk;
	struct profile *profile;
	uint32_t origin, first_thread;
	struct frames *thread_keys; /* of the whole recording, numbered from first_thread */
	/* Private. */
	struct jfr_picks trace, frame, method, class, thread;
	struct frames *methods;
	uint32_t *frames; /* of traces: struct trace_head, then frames */
	size_t count, cap;
	struct jfr_thread *threads;
	size_t thread_count, thread_cap;
	uint32_t nobody; /* number + 1 of the thread without a name */
	struct str text;
};

void jfr_names_start(struct jfr_names *n);
void jfr_names_end(struct jfr_names *n);

/* Return false for a constant that is damaged, or is not there though the chunk may have had it.
 * Number 0, and in a whole chunk one that is not there (the recorder left it in an earlier chunk),
 * is none: an empty trace, and a thread without a name. */
bool jfr_trace_of(struct jfr_names *n, uint64_t number, struct jfr_trace *ret);
bool jfr_thread_of(struct jfr_names *n, uint64_t number, struct jfr_thread *ret);

/* Returns the frame of a class, "java.lang.String" or "byte[]"; JFR_NONE: not known. */
uint32_t jfr_class_of(struct jfr_names *n, uint64_t number);

#endif
