/* SPDX-License-Identifier: Apache-2.0 */
/* Fixed paths, names and limits that several programs share. */
#ifndef DFG_PATHS_H
#define DFG_PATHS_H

/* Host side. --root and DFG_ROOT change the root. */
#define DFG_ROOT_DEFAULT "/var/lib/dfg"
#define DFG_CONTAINERS	 "containers" /* <root>/containers/<id>/... */
#define DFG_STATE_FILE	 "state.json" /* written by the hook */
#define DFG_OUT_DIR	 "out"	      /* host view of /dev/dfg-out */
#define DFG_CTL_DIR	 "ctl"	      /* host view of /dev/dfg-ctl */
#define DFG_GRAPHS_DIR	 "graphs"
#define DFG_PAYLOAD_DIR	 "payload" /* <root>/payload: the mounted payload image */
#define DFG_TEMP_DIR	 "tmp"	   /* <root>/tmp/<random>: of a running command */
#define DFG_NAMES_DIR	 "by-name" /* <root>/by-name/<name> -> ../containers/<id> */
#define DFG_LOCK_FILE	 "lock"	   /* <root>/lock and containers/<id>/lock, flock(2) */
#define DFG_CONF_FILE	 "/etc/dfg/dfg.conf"

/* Container side: a private tmpfs of the runtime in every ordinary OCI container. */
#define DFG_DEV_PARENT	"dev"
#define DFG_PAYLOAD_MNT "dfg"	  /* /dev/dfg: read-only, executable */
#define DFG_OUT_MNT	"dfg-out" /* /dev/dfg-out: writable, noexec */
#define DFG_CTL_MNT	"dfg-ctl" /* /dev/dfg-ctl: read-only, noexec */
#define DFG_AGENT_NAME	"libdfg-agent.so"
#define DFG_INJECT_NAME "dfg-inject"
#define DFG_AGENT_PATH	"/dev/dfg/libdfg-agent.so"
#define DFG_OUT_PATH	"/dev/dfg-out"
#define DFG_CTL_PATH	"/dev/dfg-ctl"

/* Limits of the writable share. */
#define DFG_OUT_BYTES  (64u << 20)
#define DFG_OUT_INODES 64
#define DFG_CTL_BYTES  (256u << 10)
#define DFG_CTL_INODES 64

#endif
