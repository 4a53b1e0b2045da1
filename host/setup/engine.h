/* SPDX-License-Identifier: Apache-2.0 */
/* Container engines: where each is told of dfg's hook, and how it gets in and out. One row per
 * engine, one file per way. */
#ifndef DFG_SETUP_ENGINE_H
#define DFG_SETUP_ENGINE_H

#include <stdbool.h>
#include <stddef.h>

#include "common/err.h"
#include "setup/change.h"
#include "setup/daemon.h"

/* What dfg-setup is to do. Strings are borrowed. */
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

/* What an engine's configuration says. */
struct engine_setting {
	char *file;    /* that says so, absolute; NULL: none does */
	char *program; /* dfg-hook or dfg-runtime */
	bool for_all;  /* new containers get it unasked */
	bool early;    /* and JVMs DebugNonSafepoints; of Docker, dfg.conf says so */
};

struct engine {
	const char *name;
	const char *program; /* is there when the engine is; NULL: nothing to look for */

	/* Configuration, below the root; each is looked at, the first is written. A directory ends
	 * with a slash. */
	const char *files[2];

	void (*look)(int rootfd, const char *file, struct engine_setting *ret);

	/* Plans the changes of the file (below the root). */
	int (*plan)(const struct setup *s, bool install, const char *file, struct changes *ret,
		    struct err *err);

	/* Carries the changes out and makes them work; NULL: changes_apply does. */
	int (*apply)(const struct setup *s, bool install, const char *file, const struct changes *c,
		     struct err *err);

	/* Its daemon, when it reads its configuration only as it starts; NULL: it looks again. */
	const struct daemon_kind *reads_once;

	const char *no_early; /* why it cannot have --early; NULL: it can */

	const char *hint; /* what the administrator does next, or has to know */
};

extern const struct engine engines[];
extern const size_t engine_count;

const struct engine *engine_find(const char *name);

/* Whether its program is below the root. */
bool engine_is_present(int rootfd, const struct engine *e);

/* All its files. Freed with engine_setting_fini. */
void engine_look(int rootfd, const struct engine *e, struct engine_setting *ret);
void engine_setting_fini(struct engine_setting *s);

/* Takes note of a program that is configured; one for all containers outdoes one for some. */
void engine_setting_take(struct engine_setting *s, const char *file, const char *program,
			 bool for_all);

/* ---- the ways (a file each) ---- */

/* A specification with hooks: a bundle's, or one that new containers begin with. */
void look_spec(int rootfd, const char *file, struct engine_setting *ret);
int plan_bundle(const struct setup *s, bool install, const char *file, struct changes *ret,
		struct err *err);

/* Docker's daemon.json. */
void look_docker(int rootfd, const char *file, struct engine_setting *ret);
int plan_docker(const struct setup *s, bool install, const char *file, struct changes *ret,
		struct err *err);
int apply_docker(const struct setup *s, bool install, const char *file, const struct changes *c,
		 struct err *err);

/* containerd's config.toml. */
void look_containerd(int rootfd, const char *file, struct engine_setting *ret);
int plan_containerd(const struct setup *s, bool install, const char *file, struct changes *ret,
		    struct err *err);

/* Directories of files of which one is ours: oci-hooks(5), and the Container Device Interface. */
void look_hooks(int rootfd, const char *dir, struct engine_setting *ret);
int plan_hooks(const struct setup *s, bool install, const char *dir, struct changes *ret,
	       struct err *err);
void look_cdi(int rootfd, const char *dir, struct engine_setting *ret);
int plan_cdi(const struct setup *s, bool install, const char *dir, struct changes *ret,
	     struct err *err);

#endif
