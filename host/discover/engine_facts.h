/* SPDX-License-Identifier: Apache-2.0 */
/* Facts about a container from JSON files of its engine and of the hook. These have labels,
 * annotations and environment variables that the container's user wrote: root opens them, and a
 * confined child parses them, one for all the files of a listing. */
#ifndef DFG_DISCOVER_ENGINE_FACTS_H
#define DFG_DISCOVER_ENGINE_FACTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "common/child.h"

#define ENGINE_FILE_MAX (16u << 20)

enum engine_file {
	ENGINE_STATE,	   /* the hook's state.json */
	ENGINE_CONFIG,	   /* the config.json of a bundle */
	ENGINE_DOCKER,	   /* Docker's config.v2.json */
	ENGINE_CONTAINERS, /* containers.json of containers/storage, which podman uses */
};

/* Keys of annotations and labels that name a container. Their values are an engine's own only where
 * this engine runs the container; elsewhere its user can have written them. */
enum engine_keys {
	KEYS_CRI,     /* containerd's: io.kubernetes.cri.* */
	KEYS_KUBELET, /* the kubelet's labels, and what CRI-O and Docker add for its pods */
	KEYS_NERDCTL,
	KEYS_COUNT,
};

/* "" for what is not there. Each is a plain word (engine_name_is_valid). */
struct engine_claims {
	char name[256];
	char pod[256];
	char namespace[256];
	bool is_pause; /* holds a pod's namespaces, and runs nothing */
};

struct engine_facts {
	pid_t pid; /* state.json; 0: not there */
	uint64_t start;
	char boot_id[37];
	char name[256];	       /* config.v2.json, containers.json */
	char docker_dir[1024]; /* config.json: Docker's directory of the container; "": none */
	struct engine_claims claims[KEYS_COUNT]; /* all but containers.json */
};

/* Parses a file's text. False if it is no JSON. Pure; the text may be anything. */
bool engine_facts_parse(enum engine_file file, const char *id, const char *text, size_t len,
			struct engine_facts *ret);

/* True for a plain word: letters, digits, '.', '_', '-', up to 255 bytes. */
bool engine_name_is_valid(const char *text);

/* The child; started by the first file. */
struct engine_reader {
	struct child child;
	int sock; /* -1: it does not run */
	struct engine_desk *desk;
	unsigned starts;
};
#define ENGINE_READER_EMPTY                                                                        \
	{                                                                                          \
		.child = {.pid = -1, .pidfd = -1}, .sock = -1                                      \
	}

/* Parses the open file. False for a file that is no JSON, too large, or that ends the child. */
bool engine_reader_parse(struct engine_reader *r, enum engine_file file, const char *id, int fd,
			 struct engine_facts *ret);
void engine_reader_stop(struct engine_reader *r);

static inline void cleanup_engine_reader_stop(struct engine_reader *r)
{
	engine_reader_stop(r);
}

#endif
