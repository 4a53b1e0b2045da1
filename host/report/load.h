/* SPDX-License-Identifier: Apache-2.0 */
/* What pictures are made of: a session directory, or a file of folded text or of pprof, which are
 * told by their content. One process opens an input, with the caller's rights; another reads it,
 * with none (reading.h). */
#ifndef DFG_REPORT_LOAD_H
#define DFG_REPORT_LOAD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "calltree/samples.h"
#include "common/err.h"
#include "session/session.h"

struct input {
	char *path;		       /* for messages; clean text */
	const struct session *session; /* NULL: a file */
	struct session own;	       /* that session, unless it is the caller's */
	char *file;		       /* to open, where it is one */
	uint64_t size;		       /* bytes of the recording or file */
};

struct inputs {
	struct input *list;
	size_t count, cap;
};

/* A session directory, the directory it is in under its usual name, or a file. */
MUST_CHECK int inputs_add(struct inputs *in, const char *path, struct err *err);

/* A session of the caller's, who keeps it. */
void inputs_add_session(struct inputs *in, const struct session *s);
void inputs_fini(struct inputs *in);

static inline void cleanup_inputs_fini(struct inputs *in)
{
	inputs_fini(in);
}

/* "web: 30.0 s at 99 Hz", and what else is known of it; owned by the caller. */
char *input_title(const struct input *in);
char *input_subtitle(const struct input *in);

/* Container's name of a session, path of a file. */
const char *input_name(const struct input *in);

/* NULL: a file. */
const struct session *input_session(const struct input *in);

/* Descriptors of one input, -1: missing. Of a file, it; of a session, these, its maps from
 * INPUT_MAPS on, and then each ELF file with its separate symbols. */
enum { INPUT_PERF, INPUT_KALLSYMS, INPUT_MAPS };

struct input_files {
	int *list;
	size_t count;
};

size_t input_file_count(const struct input *in);
MUST_CHECK int input_open(const struct input *in, struct input_files *ret, struct err *err);
void input_close(struct input_files *files);

static inline void cleanup_input_close(struct input_files *files)
{
	input_close(files);
}

/* Adds the input to the profile. *skipped grows by the lines of text that could not be read. */
MUST_CHECK int input_read(const struct input *in, const struct input_files *files,
			  struct profile *profile, uint64_t *skipped, struct err *err);

#endif
