/* SPDX-License-Identifier: Apache-2.0 */
/* The verdict and the warnings of bad quality as text, for the summary and the pictures. */
#ifndef DFG_FORMAT_VERDICT_H
#define DFG_FORMAT_VERDICT_H

#include "calltree/subjects.h"
#include "calltree/verdict.h"
#include "common/str.h"
#include "format/format.h"
#include "session/session.h"

/* Appends "0.65 of limit 1.0, throttled in 12 % of periods; application 35 %, gc 62 %, …". */
void verdict_text(struct str *out, const struct verdict *v, const struct session_cpu *cpu);

/* Appends "33.1 %", right-aligned in `width` columns: part of all samples of the verdict. */
void verdict_share(struct str *out, const struct verdict *v, uint64_t part, int width);

/* Appends "", " (library)" or " (jdk)": whose code a method is that is not the application's. */
void verdict_owner(struct str *out, const struct verdict_method *m);

/* Appends "java.util.HashMap, wanted by shop.Cart.add, held by shop.Cart.sum": a class, and the
 * methods of the application. */
void verdict_subject(struct str *out, const struct subjects *s, size_t i);

/* The same of a subject, of an event. */
void verdict_subject_text(struct str *out, const struct subject *s, enum event_kind event);

/* Quality that is so bad that the graph can mislead. */
struct warning {
	const char *kind; /* a word, for scripts (docs/formats.md) */
	char *text;	  /* what it means, and the remedy */
	int what;	  /* bytes of it before the remedy */
};

#define WARNINGS_MAX 6

struct warnings {
	struct warning list[WARNINGS_MAX];
	size_t count;
};

/* `s`: NULL for several recordings, or text. */
void warnings_make(const struct quality *q, const struct session *s, struct warnings *ret);
void warnings_fini(struct warnings *w);

static inline void cleanup_warnings_fini(struct warnings *w)
{
	warnings_fini(w);
}

/* Appends the verdict and the warnings as a JSON object for the page's script: `text`, `methods`
 * ([name, total, self, owner]), `subjects` ([share, text, class, method, holder]), `pauses`
 * ([begin in s, all in ms, until all threads had stopped, bytes of the heap before, after, text]),
 * `compilations` ([by C1, by C2, made not entrant, ms, method]), `warnings`. */
void verdict_page(struct str *out, const struct picture *p);

/* Appends the same as text elements of SVG, `step` apart; remedies are left out. Returns their
 * number. */
unsigned verdict_svg(struct str *out, const struct picture *p, unsigned x, unsigned y,
		     unsigned step);

#endif
