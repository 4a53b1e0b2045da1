/* SPDX-License-Identifier: Apache-2.0 */
/* Takes snapshots of one JVM, in a child process, since each source can hang or be fed lies: a
 * whole snapshot first, then deltas, all into one file, until it gets the command for the last one.
 * Code that is compiled and freed in between has names this way.
 *
 * Source (SOURCE_AUTO): the agent where it is resident, where a trigger was asked for, or where the
 * container has dfg's mounts and the JVM prints nothing when the agent is loaded (before JDK 21);
 * else, and where the run has more than SNAPSHOT_JVMS JVMs for each processor, the host's reader of
 * the JVM's memory: agents of many JVMs share the processors that their containers' quotas leave
 * them. Where one fails, the other one is tried.
 *
 * Interval: after a delta that costs t of processor time, in the JVM and here, or after the one
 * before it where that cost less (one of many lists all classes), a pause of at least 25 t (4 % of
 * one processor) and 25 ms. In a JVM that compiles all the time code is freed between two distant
 * snapshots: after a dozen new pieces of code the pause is 12 t (8 %). Each delta without news
 * doubles the pause, up to a second; the first one with news resets it. Where a run has more than
 * SNAPSHOT_JVMS JVMs for each processor, all pauses are multiplied by how many times more: together
 * those JVMs cost no more than SNAPSHOT_JVMS for each processor would. */
#ifndef DFG_RECORD_JVM_SNAPSHOT_H
#define DFG_RECORD_JVM_SNAPSHOT_H

#include <stdint.h>

#include "common/err.h"
#include "discover/container.h"
#include "discover/jvm.h"
#include "record/config.h"

#define SNAPSHOT_JVMS 4

/* Commands to the child, a byte each. */
enum snapshot_command {
	SNAPSHOT_CHANGES,    /* of the series, without a command */
	SNAPSHOT_NEXT = 'n', /* with the methods of older classes that have begun to run */
	SNAPSHOT_LAST = 'l', /* the same, and the series ends */
};

/* Progress of the child, in memory it shares with its parent. */
struct snapshot_report {
	uint32_t taken;	 /* snapshots that are whole in the file */
	uint32_t served; /* commands, also those that failed */
	uint32_t entries, skipped, first_us;
	uint64_t cost_us; /* processor time of all but the first */
	bool by_agent;
	bool switched;	/* DebugNonSafepoints, from outside */
	struct err err; /* of the last failure */
	char note[512]; /* why this source and not another; "": nothing to say */
};

struct snapshot_job {
	const struct container *container;
	const struct jvm *jvm;
	const struct record_config *config;
	int to;		 /* file of the snapshots */
	int maps;	 /* directory of the agent's map (AGENT_MAP) */
	int turns;	 /* of readers (common/turns.h) */
	size_t all_jvms; /* of the run */
	struct snapshot_report *report;
	int commands; /* to read from */
	int asks;     /* socket of who asks for code (bpf/made.h) */
	int first; /* written to when the first one is taken or has failed; closed after the last */
};

/* The child's function (child_fork); `arg` is a struct snapshot_job. */
int snapshots_serve(void *arg);

#endif
