/* SPDX-License-Identifier: Apache-2.0 */
/* The contract between the host and the agent in a JVM: how a dump is requested and answered.
 *
 * REQUEST. One line of text, at most DFG_REQUEST_MAX bytes including the newline:
 *
 *	dfg1 dump seq=<u32> host_pid=<pid> out=<name>[ since=<u32>][ keep=<seconds>][ named=1]\n
 *
 * <name> is a plain file name (no '/') in the share, of a file the host has created (see below). A
 * name that ends in ".snap" requests a snapshot (snapshot.h), any other a map. With keep=, at most
 * 60, the agent remembers for that many seconds which code it has written; a request with since=
 * the number of that answer is then answered by a delta (SNAP_DELTA in its head), or by a whole
 * snapshot if the memory has expired. Without keep= the agent forgets: such a delta is the last of
 * its series. It walks all classes (hs_dump_delta), as does one with named=1. The agent remembers
 * one series at a time. since=0, keep=0 and named=0 are the defaults. Unknown keys are ignored.
 *
 * The request reaches the agent in one of three ways:
 *
 *   file    <ctl>/request.<nspid>, put there by rename(2). <nspid> is the pid that the JVM itself
 *           sees (getpid). The agent watches the directory (inotify), and reads the file once when
 *           it starts.
 *   signal  The agent's real-time signal, sent with sigqueue(3), is a wake-up: the agent reads its
 *           request file. If no control directory is mounted, the value is the host pid, and the
 *           request is seq=0, out=perf-<host_pid>.map.
 *   load    Agent_OnAttach or Agent_OnLoad with these options, separated by commas:
 *           dir=<share>, ctl=<control directory>, signal=<n>, request=seq:<u32>:<host_pid>:<name>,
 *           since=<u32>, keep=<seconds>, named=<0 or 1>, dns=<0 or 1>
 *           All are optional; dir and ctl default to DFG_OUT_PATH and DFG_CTL_PATH, unknown ones
 *           are ignored; since, keep and named belong to the request. dns=1 sets the JVM's flag
 *           DebugNonSafepoints at once: code compiled from then on maps each instruction to its
 *           inlined method, not only safepoints. Loading twice is harmless: the resident agent
 *           serves the request.
 *
 * A request whose number is not greater than the last one answered is ignored, so that waking the
 * agent twice is harmless (0 is always served).
 *
 * ANSWER (of a map; a snapshot has its records in place of lines). The agent opens <share>/<name>
 * (O_WRONLY|O_NOFOLLOW, never O_CREAT or O_TRUNC: the host has created and allocated it, so that
 * its pages are not charged to the container), writes the map from offset 0, and after its last
 * line the trailer, one line:
 *
 *	#dfg1 end seq=<u32> status=<n> entries=<n> skipped=<n> bytes=<n> us=<n> cpu=<n>\n
 *
 * status 0: whole; otherwise enum dfg_dump_status. entries: lines of the map; skipped: code that
 * could not be named or read; bytes: length of the map before the trailer; us: microseconds from
 * wake-up to trailer; cpu: CPU time of the agent's thread in them. Only zeros follow the trailer. A
 * failed dump has a trailer, too, if the file could be opened.
 *
 * MAP LINES, perf's own format (linux tools/perf/Documentation/jit-interface.txt):
 *
 *	<start, hex> <size, hex> <name>\n
 *
 * in no particular order; no two overlap. The name of a Java method is package.Class.method and
 * always contains a '.'; hidden classes keep HotSpot's suffix with '/' as '.'. The JVM's own code
 * has HotSpot's name ("Interpreter", "StubRoutines (1)", "vtable chunks" …) with '.' written as
 * '_'. Names are at most DFG_NAME_MAX bytes; bytes below 0x20 and 0x7f are written as '?'.
 *
 * RESIDENCE. A resident agent publishes itself in <share>/agent.<nspid> (O_CREAT|O_EXCL, mode
 * 0644, replaces one of an earlier process), one line:
 *
 *	dfg1 agent signal=<n> tid=<tid in its namespace>\n
 *
 * signal=0: none was free. A copy of the agent that finds another one resident serves only its own
 * loads and publishes nothing. To the host the file is only a hint: it checks that /proc/PID/task
 * has a thread named DFG_THREAD_NAME and, before it sends a signal, that SigCgt has the bit. */
#ifndef DFG_REQUEST_H
#define DFG_REQUEST_H

#define DFG_REQUEST_MAX	  512
#define DFG_NAME_MAX	  1024
#define DFG_THREAD_NAME	  "dfg-agent"
#define DFG_TRAILER_START "#dfg1 end "

enum dfg_dump_status {
	DFG_DUMP_OK = 0,
	DFG_DUMP_NO_TABLES = 1, /* libjvm's tables are missing or of an unknown shape */
	DFG_DUMP_NO_SPACE = 2,	/* the file or the share is full: the map is cut at a line */
	DFG_DUMP_NO_MEMORY = 3, /* mmap failed */
	DFG_DUMP_READ = 4,	/* own memory could not be read: the map is partial */
	DFG_DUMP_PARTLY = 5, /* libjvm's tables lack an entry: inlined or interpreted methods have
			      * no names, or frames no size */
};

/* Return codes of Agent_OnAttach (the JDK reports them to the attaching process). Agent_OnLoad
 * always returns 0, since the JVM would not start otherwise. */
enum dfg_agent_status {
	DFG_AGENT_OK = 0,
	DFG_AGENT_NO_THREAD = 101, /* the kernel refused a thread */
	DFG_AGENT_BAD_OPTIONS = 102,
	DFG_AGENT_BUSY = 103, /* too many requests by load at once */
};

#endif
