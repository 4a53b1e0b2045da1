/* SPDX-License-Identifier: Apache-2.0 */
/* Container engines: the configuration file that has dfg's hook, and the functions that add and
 * remove it. One row per engine. */
#ifndef DFG_SETUP_ENGINE_H
#define DFG_SETUP_ENGINE_H

#include <stdbool.h>
#include <stddef.h>

#include "common/err.h"
#include "common/str.h"

struct changes;
struct daemon_kind;

/* The job of dfg-setup. Strings are borrowed. */
struct setup {
	int rootfd;	     /* "/", or a test's: all paths of engines are below */
	const char *hook;    /* dfg-hook of this installation */
	const char *runtime; /* dfg-runtime */
	const char *root;    /* dfg's directory; NULL: the usual one */
	const char *file;    /* to change, absolute; NULL: the engine's usual one */
	const char *bundle;  /* directory of a bundle, absolute; NULL: none was given */
	const char *program; /* the engine's own; NULL: the one of the system */
	bool early;	     /* JVMs get DebugNonSafepoints from their start on (oci_spec.h) */
	const char *conf;    /* dfg.conf, absolute */
	bool opt_in;	     /* containers get the hook only when they ask for it */
	bool force;
	bool keep_name; /* Docker's remove: containers need the runtime's name */
};

/* The setting found in an engine's configuration. */
struct engine_setting {
	char *file;    /* absolute; NULL: not configured */
	char *program; /* dfg-hook or dfg-runtime */
	bool for_all;  /* new containers get it without opting in */
	bool early;    /* JVMs get DebugNonSafepoints; for Docker set in dfg.conf */
};

struct engine {
	const char *name;
	const char *program; /* installed with the engine; NULL: unknown */

	/* Configuration, below the root; all are read, the first is written. A directory ends with
	 * a slash. */
	const char *files[2];

	void (*read)(int rootfd, const char *file, struct engine_setting *ret);

	/* Plans the changes of the file (below the root). */
	int (*plan)(const struct setup *s, bool install, const char *file, struct changes *ret,
		    struct err *err);

	/* Applies the changes and makes them take effect; NULL: changes_apply is enough. */
	int (*apply)(const struct setup *s, bool install, const char *file, const struct changes *c,
		     struct err *err);

	/* Its daemon, if it reads its configuration only at its start; else NULL. */
	const struct daemon_kind *reads_once;

	const char *no_early; /* reason against --early, or NULL */

	const char *hint; /* after an installation; of a daemon that reads_once, after any change */
};

extern const struct engine engines[];
extern const size_t engine_count;

const struct engine *engine_find(const char *name);

/* True if its program is below the root. */
bool engine_is_present(int rootfd, const struct engine *e);

/* Reads all its files. Freed with engine_setting_fini. */
void engine_read_setting(int rootfd, const struct engine *e, struct engine_setting *ret);
void engine_setting_fini(struct engine_setting *s);

/* Adds a configured program; one for all containers replaces one for some. */
void engine_setting_add(struct engine_setting *s, const char *file, const char *program,
			bool for_all);

/* ---- the functions of the engines ---- */

/* A specification with hooks: a bundle's, or one that new containers begin with. */
void read_bundle(int rootfd, const char *file, struct engine_setting *ret);
int plan_bundle(const struct setup *s, bool install, const char *file, struct changes *ret,
		struct err *err);

/* Docker's daemon.json. */
void read_docker(int rootfd, const char *file, struct engine_setting *ret);
int plan_docker(const struct setup *s, bool install, const char *file, struct changes *ret,
		struct err *err);
int apply_docker(const struct setup *s, bool install, const char *file, const struct changes *c,
		 struct err *err);

/* containerd's config.toml. */
void read_containerd(int rootfd, const char *file, struct engine_setting *ret);
int plan_containerd(const struct setup *s, bool install, const char *file, struct changes *ret,
		    struct err *err);

/* Directories in which one file is ours: oci-hooks(5), and the Container Device Interface. */
void read_hooks(int rootfd, const char *dir, struct engine_setting *ret);
int plan_hooks(const struct setup *s, bool install, const char *dir, struct changes *ret,
	       struct err *err);
void read_cdi(int rootfd, const char *dir, struct engine_setting *ret);
int plan_cdi(const struct setup *s, bool install, const char *dir, struct changes *ret,
	     struct err *err);

#endif
