/* SPDX-License-Identifier: Apache-2.0 */
/* The contract between the host and the agent in a JVM: how a dump is asked for and answered.
 *
 * REQUEST. One line of text, at most DFG_REQUEST_MAX bytes including the newline:
 *
 *	dfg1 dump seq=<u32> host_pid=<pid> out=<name>[ since=<u32>][ keep=<seconds>]\n
 *
 * <name> is a plain file name (no '/') in the share: the host has made the file, see below. A name
 * that ends in ".snap" asks for a snapshot (snapshot.h), any other for a map. With keep=, at most
 * 60, the agent remembers for that long which code it has written; a request with since= the number
 * of that answer is then answered by a delta (SNAP_DELTA in its head), by a whole snapshot if it
 *has been forgotten. Without keep= what was remembered is forgotten: such a delta is the last of
 *its series, and goes through all classes (hs_dump_delta). One series is remembered at a time;
 *since=0 and keep=0 are as if not there. Unknown keys are passed over. The request reaches the
 *agent in one of three ways: file    <ctl>/request.<nspid>, put there by rename(2). <nspid> is the
 *pid the JVM sees itself (getpid). The agent watches the directory (inotify), and reads the file
 *once at start. signal  the agent's real-time signal, sent with sigqueue(3): a wake-up, on which
 *the agent looks for its request file. Where no control directory is mounted, the value is the host
 *pid, and the request is: seq=0, out=perf-<host_pid>.map. load    Agent_OnAttach or Agent_OnLoad
 *with the options of this form, separated by commas: dir=<share>,ctl=<control
 *directory>,signal=<n>,request=seq:<u32>:<host_pid>:<name>, since=<u32>,keep=<seconds>,dns=<0 or 1>
 *           All are optional; dir and ctl default to DFG_OUT_PATH and DFG_CTL_PATH, and an unknown
 *           key is ignored; since and keep are the request's. dns=1 switches the JVM's flag
 *           DebugNonSafepoints on at once: code compiled from then on says at each instruction
 *           what it is, not at safepoints only.
 *           Loading twice is fine: the agent that is resident serves it.
 * A sequence number that is not greater than the last one answered is ignored, so that being
 * woken twice does no harm (0 is always served).
 *
 * ANSWER (of a map; a snapshot has its records in place of lines). The agent opens <share>/<name>
 *(O_WRONLY|O_NOFOLLOW, never O_CREAT or O_TRUNC: the host has made and allocated it, so that its
 *pages are not charged to the container), writes the map from offset 0, and behind its last line
 *the trailer, one line:
 *
 *	#dfg1 end seq=<u32> status=<n> entries=<n> skipped=<n> bytes=<n> us=<n> cpu=<n>\n
 *
 * status 0: whole; otherwise enum dfg_dump_status. entries: lines of the map; skipped: code that
 * could not be named or read; bytes: length of the map before the trailer; us: microseconds from
 * wake-up to trailer; cpu: of these, the processor time of the agent's thread. All behind the
 *trailer is zeros. A failed dump also has a trailer, if the file could be opened.
 *
 * MAP LINES, perf's own format (linux tools/perf/Documentation/jit-interface.txt):
 *
 *	<start, hex> <size, hex> <name>\n
 *
 * sorted by nothing in particular; no two overlap. The name of a Java method is
 * package.Class.method, and always contains a '.'; hidden classes keep HotSpot's suffix with '/'
 * as '.'. The JVM's own code has HotSpot's name for it ("Interpreter", "StubRoutines (1)",
 * "vtable chunks" …) in which a '.' is written as '_'. Names are at most DFG_NAME_MAX bytes; bytes
 * below 0x20 and 0x7f are written as '?'.
 *
 * RESIDENCE. A resident agent publishes itself in <share>/agent.<nspid> (O_CREAT|O_EXCL, mode
 * 0644, replaced when left from an earlier process), one line:
 *
 *	dfg1 agent signal=<n> tid=<tid in its namespace>\n
 *
 * signal=0: none was free. A copy of the agent that finds another one resident serves its own loads
 * only, and publishes nothing. The host takes this as a hint only: it checks that /proc/PID/task
 *has a thread named DFG_THREAD_NAME, and before a signal that SigCgt has the bit. */
#ifndef DFG_REQUEST_H
#define DFG_REQUEST_H

#define DFG_REQUEST_MAX	  512
#define DFG_NAME_MAX	  1024
#define DFG_THREAD_NAME	  "dfg-agent"
#define DFG_TRAILER_START "#dfg1 end "

enum dfg_dump_status {
	DFG_DUMP_OK = 0,
	DFG_DUMP_NO_TABLES = 1, /* libjvm's tables not found or of an unknown shape */
	DFG_DUMP_NO_SPACE = 2,	/* the file or the share is full: the map is cut at a line */
	DFG_DUMP_NO_MEMORY = 3, /* mmap failed */
	DFG_DUMP_READ = 4,	/* own memory could not be read: the map is partial */
	DFG_DUMP_PARTLY = 5, /* libjvm's tables lack an entry: inlined or interpreted methods have
			      * no names, or frames no size */
};

/* Return codes of Agent_OnAttach (JDK reports them to the one who attached). Agent_OnLoad returns 0
 * whatever happens, since a JVM does not start when it returns anything else. */
enum dfg_agent_status {
	DFG_AGENT_OK = 0,
	DFG_AGENT_NO_THREAD = 101, /* the kernel gave no thread */
	DFG_AGENT_BAD_OPTIONS = 102,
	DFG_AGENT_BUSY = 103, /* too many requests by load at once */
};

#endif
