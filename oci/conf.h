/* SPDX-License-Identifier: Apache-2.0 */
/* dfg.conf: the administrator's decisions for all containers of this host.
 *
 * Lines "key = value", "#" comments. An unknown key or a value out of range is an error: a typing
 * mistake must not widen anything silently. */
#ifndef DFG_OCI_CONF_H
#define DFG_OCI_CONF_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/err.h"

#define CONF_MAX	   (64u << 10)
#define CONF_RULES_MAX	   32
#define CONF_BUDGET_MS_MAX 60000u
#define CONF_KEEP	   20 /* results, where nobody says another number */

/* The source of JVM snapshots, where dfg-trigger and dfg-top have no --source. */
enum conf_source {
	CONF_SOURCE_AUTO,
	CONF_SOURCE_AGENT,
	CONF_SOURCE_HOST,
};

enum conf_inject {
	CONF_INJECT_ALL,       /* except containers with the annotation dfg.io/inject "false" */
	CONF_INJECT_ANNOTATED, /* only containers with dfg.io/inject "true" */
	CONF_INJECT_NONE,
};

/* "only = KEY=PATTERN" or "never = KEY=PATTERN": matches containers whose annotation KEY matches.
 * In the pattern "*" stands for any text. */
struct conf_rule {
	bool never;
	char key[96];
	char pattern[160];
};

/* Limits for results of recordings: what is beyond one is removed. 0: no limit. */
struct conf_keep {
	unsigned count;	  /* of each container */
	uint64_t seconds; /* age of any */
	uint64_t bytes;	  /* of all together */
};

struct conf {
	enum conf_inject inject;
	enum conf_source source;
	bool strict;
	bool early;	       /* dfg-runtime enables DebugNonSafepoints (spec.h) */
	struct conf_keep keep; /* what dfg-trigger keeps */
	unsigned budget_ms;    /* 10 .. CONF_BUDGET_MS_MAX */
	uint64_t out_bytes;    /* 1 MiB .. 64 GiB */
	unsigned out_inodes;
	struct conf_rule rules[CONF_RULES_MAX];
	unsigned rule_count;
	char root[256];	   /* "": DFG_ROOT_DEFAULT */
	char runtime[256]; /* "": the first runc in the usual directories */
};

void conf_set_defaults(struct conf *ret);

/* Parses a list of limits: a number of results, an age in h, d or w, a size in m, g or t, each
 * once: "20", "30d,2g", "0" (all). What is not in the list has no limit. */
MUST_CHECK bool conf_parse_keep(const char *list, struct conf_keep *ret);

/* Fails with the first line that is wrong. Then `strict` and `runtime` have the values of their
 * lines, all else the defaults. */
MUST_CHECK int conf_parse(const char *text, size_t len, struct conf *ret, struct err *err);

/* Reads the file `path`, or when NULL: dfg.conf beside this program, else DFG_CONF_FILE, which may
 * be absent. It must belong to root and be writable by root only. */
MUST_CHECK int conf_load(const char *path, struct conf *ret, struct err *err);

/* Decides whether a container gets the mounts; false with the reason in err. `annotations` of the
 * container (or NULL) come from whoever made it, so they may only narrow. `requested`: somebody
 * chose the hook for this container, which equals the annotation "true". */
MUST_CHECK bool conf_selects(const struct conf *c, bool requested, const json_t *annotations,
			     struct err *err);

/* Finds a file in this program's directory, if that belongs to root: for trees that are not
 * installed. Returns true if ret has the path of an existing file. */
bool conf_find_sibling(const char *name, char *ret, size_t size);

#endif
