// SPDX-License-Identifier: Apache-2.0
#include "doctor/jvm_look.h"

#include <errno.h>
#include <string.h>

#include "common/child.h"
#include "common/confine.h"
#include "hotspot/hotspot.h"
#include "record/memory_reader.h"

#define LOOK_MS 2000

static const char *const flag_names[] = {
#define JVM_FLAG_NAME(id, name) [JVM_FLAG_##id] = (name),
	JVM_FLAGS(JVM_FLAG_NAME)
#undef JVM_FLAG_NAME
};

static int look_at_tables(const struct jvm *j, struct jvm_look *ret, struct err *err)
{
	CLEANUP(jvm_memory_close) struct jvm_memory *proc = NULL;
	CLEANUP(free) void *work = aligned_alloc(4096, HS_WORK_BYTES);
	uint64_t addr;
	unsigned found = 0;
	uint8_t value;

	if (!work)
		return err_set(err, ENOMEM, "working memory");
	if (jvm_memory_open(j->procfd, &proc, err) < 0 || confine_reader_of(j->pid, 0, err) < 0 ||
	    jvm_memory_find_tables(proc, err) < 0)
		return -1;
	for (size_t i = 0; i < JVM_FLAG_COUNT; i++) {
		if (!hs_find_flag(jvm_memory_source(proc), work, flag_names[i], &addr, &value))
			continue;
		ret->flags[i] = value != 0;
		found++;
	}
	if (found == 0)
		return err_set(err, 0, "HotSpot's tables there are not of a known shape");
	return 0;
}

static int look(void *arg, void *reply, struct err *err)
{
	const struct jvm *j = arg;
	struct jvm_look *ret = reply;

	ret->has_tables = look_at_tables(j, ret, err) == 0;
	if (!ret->has_tables)
		snprintf(ret->why, sizeof(ret->why), "%.255s", err->msg);
	return 0;
}

int jvm_look(const struct jvm *j, struct jvm_look *ret, struct err *err)
{
	struct jvm_look blank = {0};
	struct jvm target = *j;

	memset(blank.flags, -1, sizeof(blank.flags));
	*ret = blank;
	if (child_call(look, &target, ret, sizeof(*ret), LOOK_MS, err) == 0)
		return 0;
	*ret = blank;
	snprintf(ret->why, sizeof(ret->why), "%.255s", err->msg);
	return -1;
}
