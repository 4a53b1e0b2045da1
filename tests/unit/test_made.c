// SPDX-License-Identifier: Apache-2.0
/* The kernel's ring of code that JVMs have just made, and questions to a JVM's reader about it. */
#include "bpf/made.h"

#include <fcntl.h>
#include <linux/bpf.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/socket.h>

#include "common/str.h"
#include "lib/tap.h"

/* A ring as the kernel has it: two pages of positions, and one of records, which is there twice. */
static struct made_list list = MADE_LIST_NONE;
static uint64_t *position, page;
static uint8_t *records;

static void begin(void)
{
	const int fd = memfd_create("ring", MFD_CLOEXEC);
	uint8_t *p;

	page = (uint64_t)sysconf(_SC_PAGESIZE);
	if (fd < 0 || ftruncate(fd, (off_t)(4 * page)) < 0)
		abort();
	p = mmap(NULL, 4 * page, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	position = (uint64_t *)(void *)(p + page);
	records = p + 2 * page;
	made_list_map(&list, fd);
}

/* Writes a byte of a record where the kernel's two pages are one. */
static void put(uint64_t at, uint8_t byte)
{
	records[at % page] = byte;
	records[page + at % page] = byte;
}

/* A record of a length with these bits. */
static void add(uint32_t len, uint32_t bits, uint32_t tgid, uint64_t start)
{
	const uint32_t head[] = {len | bits, 0};
	const struct flat_made made = {.start = start, .tgid = tgid};
	uint8_t all[64] = {0};

	memcpy(all, head, sizeof(head));
	memcpy(all + sizeof(head), &made, sizeof(made));
	for (uint64_t i = 0; i < sizeof(head) + len; i++)
		put(*position + i, all[i]);
	*position += sizeof(head) + (len + 7) / 8 * 8;
}

static void make(uint32_t tgid, uint64_t start)
{
	add(sizeof(struct flat_made), 0, tgid, start);
}

static uint64_t next(void)
{
	struct flat_made c = {0};

	return made_list_next(&list, &c) ? c.start + ((uint64_t)c.tgid << 32) : 0;
}

static void test_list(void)
{
	unsigned wrong = 0;

	is_int(next(), 0, "without a list nothing is made");
	made_list_map(&list, open("/dev/null", O_RDWR | O_CLOEXEC));
	is_int(list.fd, -1, "nor with one that cannot be mapped");
	begin();
	made_list_map(&list, dup(list.fd));
	is_int(next(), 0, "at first nothing is made");
	make(1, 0x10);
	make(2, 0x20);
	ok(next() == 0x100000010 && next() == 0x200000020, "code comes in order");
	is_int(next(), 0, "once");
	add(sizeof(struct flat_made), BPF_RINGBUF_DISCARD_BIT, 1, 0x30);
	add(9, 0, 1, 0x40);
	make(1, 0x50);
	ok(next() == 0x100000050, "what is no code is passed over");
	add(sizeof(struct flat_made), BPF_RINGBUF_BUSY_BIT, 1, 0x60);
	is_int(next(), 0, "what is not written yet is waited for");
	*position -= BPF_RINGBUF_HDR_SZ + sizeof(struct flat_made);
	for (uint64_t i = 1; i <= 2 * page; i++) {
		make(3, i);
		wrong += next() != 0x300000000 + i;
	}
	is_int(wrong, 0, "the ring goes round");
	made_list_unmap(&list);
	is_int(list.fd, -1, "in the end there is none");
	made_list_unmap(&list);
}

/* Returns what the reader was asked, "10 20"; "": nothing. */
static const char *asked(int fd)
{
	static char text[1024];
	uint64_t at[MADE_ASKED * 2];
	const ssize_t n = read(fd, at, sizeof(at));
	size_t len = 0;

	text[0] = '\0';
	for (ssize_t i = 0; i < n / (ssize_t)sizeof(*at); i++)
		len += (size_t)snprintf(text + len, sizeof(text) - len, "%s%llx", i ? " " : "",
					(unsigned long long)at[i]);
	return text;
}

static void test_reader(void)
{
	static uint8_t buf[sizeof(struct made_answer) + MADE_ANSWER];
	struct made_reader r = {.sock = -1};
	uint64_t before;
	int pair[2];

	made_reader_want(&r, 0x10);
	made_reader_ask(&r);
	ok(!r.waiting, "without a reader nobody is asked");
	ok(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, pair) == 0,
	   "a reader");
	r.sock = pair[0];
	made_reader_ask(&r);
	is_str(asked(pair[1]), "", "nothing is wanted");
	made_reader_want(&r, 0x10);
	made_reader_want(&r, 0x20);
	made_reader_want(&r, 0x10);
	made_reader_ask(&r);
	is_str(asked(pair[1]), "10 20", "each code is asked for once");
	before = r.asked;
	made_reader_want(&r, 0x30);
	made_reader_ask(&r);
	is_str(asked(pair[1]), "", "nothing before the answer");
	is_int(made_reader_answer(&r, buf), 0, "which has not come yet");
	is_int(write(pair[1], buf, sizeof(struct made_answer) + 5), sizeof(struct made_answer) + 5,
	       "it comes");
	is_int(made_reader_answer(&r, buf), sizeof(struct made_answer) + 5, "and is taken");
	made_reader_ask(&r);
	is_str(asked(pair[1]), "30", "then what was wanted meanwhile");
	(void)!write(pair[1], buf, sizeof(struct made_answer));
	made_reader_answer(&r, buf);
	made_reader_want_since(&r, r.asked + 1);
	made_reader_ask(&r);
	is_str(asked(pair[1]), "", "a snapshot that began later has it all");
	made_reader_want_since(&r, before);
	made_reader_ask(&r);
	is_str(asked(pair[1]), "10 20 30", "one that began before has not: it is asked for again");
	(void)!write(pair[1], buf, sizeof(struct made_answer));
	made_reader_answer(&r, buf);
	made_reader_want(&r, FLAT_UNLOADS | 0x40);
	made_reader_want(&r, MADE_KEEP | 0x50);
	made_reader_ask(&r);
	is_str(asked(pair[1]), "8000000000000040 4000000000000050",
	       "a time is told, and a code that is to be kept");
	(void)!write(pair[1], buf, sizeof(struct made_answer));
	made_reader_answer(&r, buf);
	made_reader_want_since(&r, r.asked);
	made_reader_ask(&r);
	is_str(asked(pair[1]), "", "once");
	for (uint64_t i = 1; i <= MADE_ASKED + 1; i++)
		made_reader_want(&r, i);
	made_reader_ask(&r);
	ok(strcmp(strrchr(asked(pair[1]), ' '), " 40") == 0, "too much is left out");
	(void)!write(pair[1], buf, 3);
	is_int(made_reader_answer(&r, buf), 0, "an answer that is too short");
	is_int(r.sock, -1, "is the last one");
	ok(!r.waiting, "and is not waited for");
	close(pair[1]);
}

int main(void)
{
	test_list();
	test_reader();
	return tap_done();
}
