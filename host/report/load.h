/* SPDX-License-Identifier: Apache-2.0 */
/* An input is a session directory, or a file of folded text, pprof or JFR, recognised by its
 * content. One process opens inputs with the caller's rights; another reads them in the sandbox
 * (sandbox.h).
 */
#ifndef DFG_REPORT_LOAD_H
#define DFG_REPORT_LOAD_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "calltree/samples.h"
#include "common/err.h"
#include "common/str.h"
#include "session/recording.h"

struct input {
	char *path;		       /* for messages; sanitised */
	const struct session *session; /* NULL: a file */
	struct session own;	       /* that session, if it is not the caller's */
	char *file;		       /* path to open; NULL: a session */
	bool is_text;		       /* neither pprof nor JFR, as far as its beginning tells */
	enum event_kind event;	       /* that is drawn of it */
	uint64_t size;		       /* bytes of the recording or file */
};

struct inputs {
	struct input *list;
	size_t count, cap;
	/* To be set before the first is added: the kind of events that is drawn. Text has EVENT_CPU
	 * only. EVENT_WALL becomes EVENT_CLOCK with the first input, unless that is JFR. */
	enum event_kind event;
	const struct filter *filter; /* what of them counts (filter.h); borrowed, NULL: all */
};

/* The kind of an event of sessions. */
enum event_kind event_kind_of(enum session_event event);

/* Parses the name of a kind of events: "alloc". */
MUST_CHECK int event_parse(const char *name, enum event_kind *ret, struct err *err);

/* Appends how many events recordings of JFR have of kinds that are not drawn: "230 alloc, 28 lock";
 * nothing if there are none. */
void events_add_others(const uint64_t events[EVENT_KINDS], enum event_kind drawn, struct str *ret);

/* Returns them all as a list of objects. */
json_t *events_json(const uint64_t events[EVENT_KINDS]);

/* Adds a session directory, a directory with one named "session", or a file. */
MUST_CHECK int inputs_add(struct inputs *in, const char *path, struct err *err);

/* Adds a session that the caller owns. */
void inputs_add_session(struct inputs *in, const struct session *s);
void inputs_fini(struct inputs *in);

static inline void cleanup_inputs_fini(struct inputs *in)
{
	inputs_fini(in);
}

/* "web: 30.0 s at 99 Hz", "web.jfr: allocated bytes", and a line with id, time and JVMs; owned by
 * the caller. */
char *input_title(const struct input *in);
char *input_subtitle(const struct input *in);

/* Returns how many samples a processor that was busy all the time would have in input number i; 0:
 * not known, or the filter chooses a part of its time. */
double input_busy(const struct inputs *in, size_t i);

/* Returns the container's name of a session, the path of a file. */
const char *input_name(const struct input *in);

/* Returns NULL for a file. */
const struct session *input_session(const struct input *in);

/* The files of one input. Of anything else than a session, perf_fd is the file. */
struct open_input {
	struct recording recording;
	struct session_map *maps; /* those of the recording */
	struct session_elf *elfs;
	int **fds; /* all of them, -1: missing; the order is the same in every process */
	size_t fd_count;
};

/* Prepares *ret, with all fds -1. It must not move, since fds point into it. */
void input_prepare(const struct input *in, struct open_input *ret);
MUST_CHECK int input_open(const struct input *in, struct open_input *o, struct err *err);
void input_close(struct open_input *o);

static inline void cleanup_input_close(struct open_input *o)
{
	input_close(o);
}

/* Adds the input to the profile. *skipped grows by the lines of text that could not be read. */
MUST_CHECK int input_read(const struct input *in, struct open_input *o, struct profile *profile,
			  uint64_t *skipped, struct err *err);

/* Fails if the profile, after adding the input, has more samples than can be counted exactly. */
MUST_CHECK int input_check_count(const struct input *in, const struct profile *all,
				 struct err *err);

#endif
