// SPDX-License-Identifier: Apache-2.0
/* The child that parses the files of engines: it has no file, and answers with a struct. */
#include <errno.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/socket.h>

#include "common/clock.h"
#include "common/jail.h"
#include "common/str.h"
#include "discover/engine_facts.h"

#define MEMORY	    (512u << 20)
#define CPU_SECONDS 10	 /* for all files of a listing */
#define ANSWER_MS   2000 /* for one */
#define STARTS_MAX  4	 /* then the remaining files tell nothing */

/* Shared with the child. */
struct engine_desk {
	enum engine_file file;
	size_t len;
	char id[256];
	char text[ENGINE_FILE_MAX];
};

struct answer {
	int is_json;
	struct engine_facts facts;
};

static int serve(void *arg)
{
	const struct engine_reader *r = arg;
	const struct jail jail = {.role = JAIL_DISCOVER,
				  .memory = MEMORY,
				  .cpu_seconds = CPU_SECONDS,
				  .keep = &r->sock,
				  .keep_count = 1};
	char byte;

	if (jail_enter(&jail, NULL) < 0)
		return 1;
	while (read(r->sock, &byte, 1) == 1) {
		struct answer a = {0};

		a.is_json = engine_facts_parse(r->desk->file, r->desk->id, r->desk->text,
					       r->desk->len, &a.facts);
		if (write(r->sock, &a, sizeof(a)) != (ssize_t)sizeof(a))
			return 1;
	}
	return 0;
}

static bool start(struct engine_reader *r)
{
	struct engine_reader child = *r;
	int sock[2];

	if (r->sock >= 0)
		return true;
	if (r->starts++ >= STARTS_MAX ||
	    socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, sock) < 0)
		return false;
	child.sock = sock[1];
	if (child_fork(serve, &child, &r->child, NULL) == 0)
		r->sock = sock[0];
	else
		close(sock[0]);
	close(sock[1]);
	return r->sock >= 0;
}

static void stop(struct engine_reader *r)
{
	if (r->sock < 0)
		return;
	close(r->sock);
	r->sock = -1;
	child_stop(&r->child);
}

static bool put(struct engine_desk *d, enum engine_file file, const char *id, int fd)
{
	ssize_t n = 1;

	d->file = file;
	d->len = 0;
	snprintf(d->id, sizeof(d->id), "%s", id);
	while (d->len < sizeof(d->text) &&
	       (n = read(fd, d->text + d->len, sizeof(d->text) - d->len)) > 0)
		d->len += (size_t)n;
	return n == 0;
}

static bool wait_for_answer(const struct engine_reader *r)
{
	uint64_t deadline = deadline_after(ANSWER_MS);
	struct pollfd p = {.fd = r->sock, .events = POLLIN};
	int n;

	do
		n = poll(&p, 1, deadline_ms_left(deadline));
	while (n < 0 && errno == EINTR);
	return n > 0;
}

/* Makes sure that what the child says is text, and that names are plain words. */
static void check_name(char name[static 256])
{
	name[255] = '\0';
	if (!engine_name_is_valid(name))
		name[0] = '\0';
}

static void check(struct engine_facts *f)
{
	f->boot_id[sizeof(f->boot_id) - 1] = '\0';
	f->docker_dir[sizeof(f->docker_dir) - 1] = '\0';
	check_name(f->name);
	for (size_t i = 0; i < KEYS_COUNT; i++) {
		struct engine_claims *c = &f->claims[i];

		check_name(c->name);
		check_name(c->pod);
		check_name(c->namespace);
		bool_clean(&c->is_pause);
	}
}

bool engine_reader_parse(struct engine_reader *r, enum engine_file file, const char *id, int fd,
			 struct engine_facts *ret)
{
	struct answer a;

	if (!r->desk) {
		void *p = mmap(NULL, sizeof(*r->desk), PROT_READ | PROT_WRITE,
			       MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

		if (p == MAP_FAILED)
			return false;
		r->desk = p;
	}
	if (!put(r->desk, file, id, fd) || !start(r))
		return false;
	if (send(r->sock, "", 1, MSG_NOSIGNAL) != 1 || !wait_for_answer(r) ||
	    recv(r->sock, &a, sizeof(a), 0) != (ssize_t)sizeof(a)) {
		stop(r);
		return false;
	}
	check(&a.facts);
	*ret = a.facts;
	return a.is_json;
}

void engine_reader_stop(struct engine_reader *r)
{
	stop(r);
	if (r->desk)
		munmap(r->desk, sizeof(*r->desk));
	*r = (struct engine_reader)ENGINE_READER_EMPTY;
}
