// SPDX-License-Identifier: Apache-2.0
/* The records of a perf.data file, field by field. The layouts are those of the comments in
 * include/uapi/linux/perf_event.h. */
#include "perf/perfformat.h"
#include "perf/perfwrite.h"

#include <sys/mman.h>

#define BUILD_ID_BYTES 20

/* linux/perf_event.h of 6.7; older headers lack it. */
#define BRANCH_COUNTERS (1u << 19)

static bool find_event(const struct perfdata *pd, uint64_t id, uint32_t *ret)
{
	size_t at = keyed_upper(pd->ids, pd->id_count, id);

	if (!at || pd->ids[at - 1].key != id)
		return false;
	*ret = (uint32_t)pd->ids[at - 1].value;
	return true;
}

/* Finds the event of a record: where events differ, its identifier is the first field of a
 * sample and the last of all others. Id 0 is perf's own, for records it made up. */
static bool event_of(const struct perfdata *pd, uint32_t type, struct bytes body, uint32_t *ret)
{
	uint64_t id;

	*ret = 0;
	if (!pd->by_identifier)
		return true;
	if (type != PERF_RECORD_SAMPLE) {
		if (!pd->events[0].attr.sample_id_all || body.len < sizeof(id))
			return true;
		bytes_take(&body, body.len - sizeof(id));
	}
	id = bytes_u64(&body);
	return id == 0 || find_event(pd, id, ret);
}

/* Fields of struct sample_id, which a sample has at its front in another order. */
static void read_trailer(const struct perf_event_attr *a, struct bytes b, struct perf_record *ret)
{
	if (a->sample_type & PERF_SAMPLE_TID) {
		ret->pid = (pid_t)bytes_u32(&b);
		ret->tid = (pid_t)bytes_u32(&b);
	}
	if (a->sample_type & PERF_SAMPLE_TIME)
		ret->time = bytes_u64(&b);
}

bool perfrecord_time(const struct perfdata *pd, const struct perf_event_header *h,
		     struct bytes body, uint64_t *ret)
{
	struct perf_record rec = {0};
	const struct perf_event *ev;
	uint32_t event;

	if (!event_of(pd, h->type, body, &event))
		return false;
	ev = &pd->events[event];
	if (!(ev->attr.sample_type & PERF_SAMPLE_TIME))
		return false;
	if (h->type == PERF_RECORD_SAMPLE) {
		uint64_t before = ev->attr.sample_type &
				  (PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_IP | PERF_SAMPLE_TID);

		bytes_take(&body, sizeof(uint64_t) * (size_t)__builtin_popcountll(before));
		*ret = bytes_u64(&body);
		return !body.bad;
	}
	if (ev->trailer == 0 || body.len < ev->trailer)
		return false;
	bytes_take(&body, body.len - ev->trailer);
	read_trailer(&ev->attr, body, &rec);
	*ret = rec.time;
	return true;
}

/* n elements of `size` bytes, borrowed. */
static const uint8_t *take_array(struct bytes *b, uint64_t n, size_t size)
{
	if (n > b->len / size) {
		b->bad = true;
		return NULL;
	}
	return bytes_take(b, (size_t)n * size);
}

static void skip_read(const struct perf_event_attr *a, struct bytes *b)
{
	uint64_t f = a->read_format, nr = 1;
	uint64_t each = f & (PERF_FORMAT_ID | PERF_FORMAT_LOST | PERF_FORMAT_GROUP);

	if (f & PERF_FORMAT_GROUP)
		nr = bytes_u64(b);
	else
		bytes_u64(b);
	take_array(b, (f & PERF_FORMAT_TOTAL_TIME_ENABLED) != 0, sizeof(uint64_t));
	take_array(b, (f & PERF_FORMAT_TOTAL_TIME_RUNNING) != 0, sizeof(uint64_t));
	if (each) /* the value itself is one field of each member of a group */
		take_array(b, nr, sizeof(uint64_t) * (size_t)__builtin_popcountll(each));
}

static void skip_branches(const struct perf_event_attr *a, struct bytes *b)
{
	uint64_t nr = bytes_u64(b);

	if (a->branch_sample_type & PERF_SAMPLE_BRANCH_HW_INDEX)
		bytes_u64(b);
	take_array(b, nr, 3 * sizeof(uint64_t));
	if (a->branch_sample_type & BRANCH_COUNTERS)
		take_array(b, nr, sizeof(uint64_t));
}

static void read_user_state(const struct perf_event_attr *a, struct bytes *b, struct perf_sample *s)
{
	uint64_t t = a->sample_type;

	if (t & PERF_SAMPLE_REGS_USER) {
		s->user_regs_abi = bytes_u64(b);
		s->user_regs_mask = a->sample_regs_user;
		if (s->user_regs_abi)
			s->user_regs = take_array(
				b, (uint64_t)__builtin_popcountll(a->sample_regs_user), 8);
	}
	if (t & PERF_SAMPLE_STACK_USER) {
		s->stack_limit = a->sample_stack_user;
		s->stack_len = bytes_u64(b);
		s->stack = take_array(b, s->stack_len, 1);
		s->stack_dyn = s->stack_len ? bytes_u64(b) : 0;
		if (s->stack_dyn > s->stack_len)
			s->stack_dyn = s->stack_len;
	}
}

static void read_code(struct bytes *raw, struct perf_record *ret)
{
	struct perf_code c = {.number = bytes_u32(raw)};

	c.compile_id = bytes_u32(raw);
	c.start = bytes_u64(raw);
	ret->type = PERFWRITE_CODE;
	ret->code = c;
}

/* Reads the name that samples of further events have, and some of the first, whose attributes are 0
 * and 1. */
static void read_name(struct bytes *raw, struct perf_record *ret)
{
	struct perf_sample *s = &ret->sample;
	uint32_t len = bytes_u32(raw);

	s->named = ret->event > 1;
	s->flags = bytes_u32(raw);
	s->holder = s->flags & PERFWRITE_HELD ? bytes_u64(raw) : 0;
	s->asker = s->flags & PERFWRITE_ASKED ? bytes_u64(raw) : 0;
	s->heap_before = s->flags & PERFWRITE_HEAP ? bytes_u64(raw) : 0;
	s->heap_after = s->flags & PERFWRITE_HEAP ? bytes_u64(raw) : 0;
	s->name = (const char *)take_array(raw, len, 1);
	s->name_len = s->name ? len : 0;
	take_array(raw, -(uint64_t)len % 8, 1);
}

/* Reads RAW of the events of perfwrite.h. */
static void read_raw(const struct perf_event_attr *a, struct bytes *b, struct perf_record *ret)
{
	uint32_t size = bytes_u32(b), what;
	struct bytes raw = bytes_sub(b, size);
	struct perf_sample *s = &ret->sample;

	if (a->type != PERF_TYPE_SOFTWARE ||
	    (a->config != PERF_COUNT_SW_BPF_OUTPUT && a->config != PERF_COUNT_SW_DUMMY))
		return;
	what = bytes_u32(&raw);
	if (what == PERFWRITE_CODE)
		read_code(&raw, ret);
	if (what == PERFWRITE_NAMED_WHOLE || what == PERFWRITE_NAMED_CUT ||
	    what == PERFWRITE_NAMED_COPY)
		read_name(&raw, ret);
	b->bad |= raw.bad;
	if (what != PERFWRITE_WHOLE && what != PERFWRITE_CUT && what != PERFWRITE_NAMED_WHOLE &&
	    what != PERFWRITE_NAMED_CUT)
		return;
	s->walked_cut = what == PERFWRITE_CUT || what == PERFWRITE_NAMED_CUT;
	s->walked_count = raw.len / sizeof(uint64_t);
	s->walked = take_array(&raw, s->walked_count, sizeof(uint64_t));
}

static void read_sample(const struct perf_event_attr *a, struct bytes *b, struct perf_record *ret)
{
	struct perf_sample *s = &ret->sample;
	uint64_t t = a->sample_type;

	take_array(b, (t & PERF_SAMPLE_IDENTIFIER) != 0, 8);
	s->ip = t & PERF_SAMPLE_IP ? bytes_u64(b) : 0;
	if (t & PERF_SAMPLE_TID) {
		ret->pid = (pid_t)bytes_u32(b);
		ret->tid = (pid_t)bytes_u32(b);
	}
	ret->time = t & PERF_SAMPLE_TIME ? bytes_u64(b) : 0;
	s->addr = t & PERF_SAMPLE_ADDR ? bytes_u64(b) : 0;
	take_array(b, (t & PERF_SAMPLE_ID) != 0, 8);
	take_array(b, (t & PERF_SAMPLE_STREAM_ID) != 0, 8);
	if (t & PERF_SAMPLE_CPU) {
		s->cpu = bytes_u32(b);
		bytes_u32(b);
	}
	s->period = t & PERF_SAMPLE_PERIOD ? bytes_u64(b) : a->freq ? 1 : a->sample_period;
	if (t & PERF_SAMPLE_READ)
		skip_read(a, b);
	if (t & PERF_SAMPLE_CALLCHAIN) {
		s->chain_len = bytes_u64(b);
		s->chain = take_array(b, s->chain_len, 8);
	}
	s->max_stack = a->sample_max_stack ? a->sample_max_stack : PERF_MAX_STACK_DEPTH;
	if (t & PERF_SAMPLE_RAW)
		read_raw(a, b, ret);
	if (t & PERF_SAMPLE_BRANCH_STACK)
		skip_branches(a, b);
	/* The rest (weight, data source, registers at the interrupt …) is not used. */
	read_user_state(a, b, s);
}

static void read_mmap(const struct perf_event_header *h, struct bytes *b, struct perf_record *ret)
{
	struct perf_mmap *m = &ret->mmap;

	ret->pid = (pid_t)bytes_u32(b);
	ret->tid = (pid_t)bytes_u32(b);
	m->start = bytes_u64(b);
	m->len = bytes_u64(b);
	m->pgoff = bytes_u64(b);
	m->exec = !(h->misc & PERF_RECORD_MISC_MMAP_DATA);
	if (h->type == PERF_RECORD_MMAP2) {
		if (h->misc & PERF_RECORD_MISC_MMAP_BUILD_ID) {
			uint8_t len = bytes_u8(b);

			bytes_take(b, 3);
			m->build_id = bytes_take(b, BUILD_ID_BYTES);
			m->build_id_len = len < BUILD_ID_BYTES ? len : BUILD_ID_BYTES;
		} else { /* device, inode and its generation */
			bytes_take(b, 24);
		}
		m->prot = bytes_u32(b);
		bytes_u32(b);
		m->exec = m->prot & PROT_EXEC;
	}
	m->path = bytes_cstr(b);
	if (m->len == 0 || m->start + m->len < m->start)
		b->bad = true;
}

static void read_task(struct bytes *b, struct perf_record *ret)
{
	ret->pid = (pid_t)bytes_u32(b);
	ret->fork.ppid = (pid_t)bytes_u32(b);
	ret->tid = (pid_t)bytes_u32(b);
	ret->fork.ptid = (pid_t)bytes_u32(b);
}

static void read_ksymbol(struct bytes *b, struct perf_record *ret)
{
	ret->ksymbol.addr = bytes_u64(b);
	ret->ksymbol.len = bytes_u32(b);
	bytes_u16(b);
	ret->ksymbol.gone = bytes_u16(b) & PERF_RECORD_KSYMBOL_FLAGS_UNREGISTER;
	ret->ksymbol.name = bytes_cstr(b);
}

/* Reads the fields of the kinds that are followed by a trailer. False: not of interest. */
static bool read_other(const struct perf_event_header *h, struct bytes *b, struct perf_record *ret)
{
	switch (h->type) {
	case PERF_RECORD_MMAP:
	case PERF_RECORD_MMAP2:
		ret->type = PERF_RECORD_MMAP;
		read_mmap(h, b, ret);
		return true;
	case PERF_RECORD_COMM:
		ret->pid = (pid_t)bytes_u32(b);
		ret->tid = (pid_t)bytes_u32(b);
		ret->comm.exec = h->misc & PERF_RECORD_MISC_COMM_EXEC;
		ret->comm.name = bytes_cstr(b);
		return true;
	case PERF_RECORD_FORK:
		ret->fork.exec = h->misc & PERF_RECORD_MISC_FORK_EXEC;
		read_task(b, ret);
		return true;
	case PERF_RECORD_EXIT:
		read_task(b, ret);
		return true;
	case PERF_RECORD_LOST:
		bytes_u64(b); /* id of the event */
		ret->lost = (struct perf_lost){.samples = bytes_u64(b)};
		return true;
	case PERF_RECORD_LOST_SAMPLES:
		ret->type = PERF_RECORD_LOST;
		ret->lost = (struct perf_lost){.samples = bytes_u64(b), .at_end = true};
		return true;
	case PERF_RECORD_KSYMBOL:
		read_ksymbol(b, ret);
		return true;
	default:
		return false;
	}
}

bool perfrecord_parse(const struct perfdata *pd, const struct perf_event_header *h,
		      struct bytes body, struct perf_record *ret, bool *ret_bad)
{
	const struct perf_event *ev;

	*ret = (struct perf_record){.type = h->type, .pid = -1, .tid = -1};
	*ret_bad = !event_of(pd, h->type, body, &ret->event);
	if (*ret_bad)
		return false;
	ev = &pd->events[ret->event];
	if (h->type == PERF_RECORD_SAMPLE) {
		ret->sample.cpumode = h->misc & PERF_RECORD_MISC_CPUMODE_MASK;
		read_sample(&ev->attr, &body, ret);
	} else {
		struct bytes trailer = body;

		if (ev->trailer && ev->trailer <= body.len) {
			body.len -= ev->trailer;
			bytes_take(&trailer, body.len);
			read_trailer(&ev->attr, trailer, ret);
		}
		if (!read_other(h, &body, ret))
			return false;
	}
	*ret_bad = body.bad;
	return !body.bad;
}
