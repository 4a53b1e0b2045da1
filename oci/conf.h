/* SPDX-License-Identifier: Apache-2.0 */
/* dfg.conf: what the administrator decided for all containers of this host.
 *
 * Lines "key = value", "#" comments. An unknown key or a value out of range is an error: a typing
 * mistake must not widen anything silently. Part of hook/, shown by dfg-setup. */
#ifndef DFG_OCI_CONF_H
#define DFG_OCI_CONF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/err.h"

#define HOOK_CONF_MAX  (64u << 10)
#define HOOK_RULES_MAX 32

enum hook_inject {
	HOOK_INJECT_ALL,       /* but those with the annotation dfg.io/inject "false" */
	HOOK_INJECT_ANNOTATED, /* only those with dfg.io/inject "true" */
	HOOK_INJECT_NONE,
};

/* "only = KEY=PATTERN" and "never = KEY=PATTERN": containers whose annotation KEY is like this. In
 * the pattern "*" stands for any text. */
struct hook_rule {
	bool never;
	char key[96];
	char pattern[160];
};

struct hook_conf {
	enum hook_inject inject;
	bool strict;
	bool early;	    /* dfg-runtime switches DebugNonSafepoints on (oci_spec.h) */
	unsigned budget_ms; /* 10 .. 4000: the OCI time-out behind it is 5 s */
	uint64_t out_bytes; /* 1 MiB .. 64 GiB */
	unsigned out_inodes;
	struct hook_rule rules[HOOK_RULES_MAX];
	unsigned rule_count;
	char root[256];	   /* "": DFG_ROOT_DEFAULT */
	char runtime[256]; /* "": the first one that is there */
};

void hook_conf_defaults(struct hook_conf *ret);

/* Pure. On failure `strict` and `runtime` are as far as they were read, all else is the
 * defaults. */
MUST_CHECK int hook_conf_parse(const char *text, size_t len, struct hook_conf *ret,
			       struct err *err);

/* Reads the file `path`, or when NULL: dfg.conf beside this program, else DFG_CONF_FILE, which may
 * be absent. It must belong to root and be writable by root only. */
MUST_CHECK int hook_conf_load(const char *path, struct hook_conf *ret, struct err *err);

/* A file of the folder this program is in, when that folder is root's: for trees that are not
 * installed. Returns whether ret has the path of an existing file. */
bool hook_conf_sibling(const char *name, char *ret, size_t size);

#endif
