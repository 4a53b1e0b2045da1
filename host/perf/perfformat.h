/* SPDX-License-Identifier: Apache-2.0 */
/* Internal to the perf.data reader: its state, and the parser of records. */
#ifndef DFG_PERF_PERFFORMAT_H
#define DFG_PERF_PERFFORMAT_H

#include "common/filemap.h"
#include "common/table.h"
#include "perf/perfdata.h"

#define RECORD_FINISHED_ROUND 68 /* perf's own, linux tools/lib/perf/include/perf/event.h */

struct perf_event {
	struct perf_event_attr attr;
	size_t trailer; /* bytes of struct sample_id after records that are no samples */
};

struct build_id_row {
	const char *path;
	const uint8_t *id;
	size_t len;
};

struct perfdata {
	const uint8_t *file;
	size_t len;
	struct filemap map; /* by perfdata_open */

	struct perf_event *events;
	size_t event_count;
	struct keyed *ids; /* id -> event, sorted */
	size_t id_count;
	bool by_identifier; /* events differ: each record carries the id of its event */

	struct bytes data; /* all records */
	uint64_t missing;  /* bytes of them that the file lacks */

	/* perf writes the buffers of the CPUs one after the other, round after round, so that a
	 * sample can stand before the mapping it needs. In a round it writes all that was there
	 * when the round began: what is not later than the latest record of the round before
	 * has nothing before it in later rounds (linux tools/perf/util/session.c,
	 * process_finished_round). So two rounds are looked at, whatever the recording's length.
	 * Time 0 is perf's for what it found before it started; a record without a time stays
	 * after the one before it. */
	struct bytes rest;	      /* not looked at yet */
	uint64_t last;		      /* time of the record before `rest` */
	uint64_t highest;	      /* time of all before `rest` */
	struct keyed *window;	      /* time -> offset in the file, sorted */
	size_t count, cap, at, ready; /* [at, ready): to be returned in this order */
	size_t released;	      /* bytes of the file that were given back */
	uint64_t passed, cut;

	struct build_id_row *build_ids;
	size_t build_id_count, build_id_cap;
};

/* perfrecord.c: parses a record. False: it contradicts itself (*ret_bad), or is of no interest.
 * `body` is the record after its header. */
bool perfrecord_parse(const struct perfdata *pd, const struct perf_event_header *h,
		      struct bytes body, struct perf_record *ret, bool *ret_bad);

/* The time of a record alone, for sorting; false when it carries none. */
bool perfrecord_time(const struct perfdata *pd, const struct perf_event_header *h,
		     struct bytes body, uint64_t *ret);

#endif
