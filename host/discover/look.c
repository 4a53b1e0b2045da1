// SPDX-License-Identifier: Apache-2.0
#include "discover/look.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>

#include "common/child.h"
#include "common/clock.h"
#include "common/jail.h"

#define MEMORY_MAX  (1ull << 30) /* maps have up to 256 MiB */
#define SECONDS_MAX 5		 /* of a processor */

/* Of a process, in memory shared with the child; pages that are not written take none. */
struct look_place {
	enum { PLACE_LEFT, PLACE_NOW, PLACE_DONE } state;
	uint32_t len;
	char text[LOOK_ANSWER];
};

struct look_job {
	const struct look *look;
	const int *procfds;
	size_t n;
	struct look_place *places;
};

/* ---- in the child ---- */

static void open_files(const struct look_job *j, int fds[static LOOK_MAX])
{
	for (size_t i = 0; i < j->n; i++) {
		struct look_place *p = &j->places[i];

		fds[i] = -1;
		if (p->state == PLACE_DONE)
			continue;
		p->state = PLACE_NOW;
		fds[i] = openat(j->procfds[i], j->look->file, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
		p->state = fds[i] >= 0 ? PLACE_LEFT : PLACE_DONE;
	}
}

static int read_files(void *arg, void *reply, struct err *err)
{
	const struct look_job *j = arg;
	int fds[LOOK_MAX];
	const struct jail jail = {.role = JAIL_DISCOVER,
				  .memory = MEMORY_MAX,
				  .cpu_seconds = SECONDS_MAX,
				  .keep = fds,
				  .keep_count = j->n};

	(void)reply;
	open_files(j, fds);
	if (jail_enter(&jail, err) < 0)
		return -1;
	for (size_t i = 0; i < j->n; i++) {
		struct look_place *p = &j->places[i];

		if (fds[i] < 0)
			continue;
		p->state = PLACE_NOW;
		p->len = (uint32_t)j->look->read(fds[i], p->text);
		p->state = PLACE_DONE;
	}
	return 0;
}

/* ---- in the parent ---- */

/* Passes over the process at which a child hung or crashed. False: at none. */
static bool pass_over(const struct look_job *j, struct look_answer *ret, const struct err *why)
{
	bool found = false;

	for (size_t i = 0; i < j->n; i++) {
		if (j->places[i].state != PLACE_NOW || ret[i].state == LOOK_FAILED)
			continue;
		j->places[i].state = PLACE_DONE;
		ret[i].state = LOOK_FAILED;
		ret[i].why = *why;
		found = true;
	}
	return found;
}

/* Copies each answer before anything looks at it: a child that was ended while it hung is able to
 * write to shared memory once more, by a read(2) that goes on in the kernel. */
static void take_answers(const struct look_job *j, struct look_answer *ret)
{
	for (size_t i = 0; i < j->n; i++) {
		uint32_t len = __atomic_load_n(&j->places[i].len, __ATOMIC_RELAXED);

		if (j->places[i].state != PLACE_DONE || ret[i].state == LOOK_FAILED)
			continue;
		ret[i].state = LOOK_DONE;
		str_add(&ret[i].text, j->places[i].text, len < LOOK_ANSWER ? len : LOOK_ANSWER);
	}
}

static int look_at_all(struct look_job *j, uint64_t deadline, struct look_answer *ret,
		       struct err *err)
{
	int left;

	while ((left = deadline_ms_left(deadline)) > 0) {
		int ms = left < j->look->ms ? left : j->look->ms;

		if (child_call(read_files, j, NULL, 0, ms, err) == 0)
			return 0;
		if (deadline_ms_left(deadline) && !pass_over(j, ret, err))
			return -1;
	}
	return 0;
}

int look_at(const struct look *l, const int *procfds, size_t n, uint64_t deadline,
	    struct look_answer *ret, struct err *err)
{
	size_t size = LOOK_MAX * sizeof(struct look_place);
	struct look_job j = {l, procfds, n, NULL};
	struct err why = {0};
	bool any = false;
	int rc;

	memset(ret, 0, n * sizeof(*ret));
	j.places = mmap(NULL, size, PROT_READ | PROT_WRITE,
			MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (j.places == MAP_FAILED)
		return err_set(err, errno, "memory for the answers of a jailed child");
	for (size_t i = 0; i < n; i++) {
		any |= procfds[i] >= 0;
		j.places[i].state = procfds[i] >= 0 ? PLACE_LEFT : PLACE_DONE;
	}
	rc = any ? look_at_all(&j, deadline, ret, &why) : 0;
	if (rc < 0 && err)
		*err = why;
	take_answers(&j, ret);
	munmap(j.places, size);
	return rc;
}

void look_fini(struct look_answer *all, size_t n)
{
	for (size_t i = 0; i < n; i++)
		str_fini(&all[i].text);
}
