// SPDX-License-Identifier: Apache-2.0
/* Requests to the agent: request lines and the options of a load. The sources are included, since
 * the agent is built without a libc and is in no archive. */
#include "agent-jni/request.c"
#include "agent-jni/text.c"

#include "lib/tap.h"

static bool line_ok(const char *line, struct request *ret)
{
	return request_parse(line, strlen(line), ret);
}

static void test_lines(void)
{
	static const char *const bad[] = {
		"",
		"\n",
		"dfg1 dump",
		"dfg1 dump seq=1 host_pid=2 out=a",
		"dfg1 dump seq=1 host_pid=2 out=\n",
		"dfg1 dump seq=1 host_pid=2 out=a\n\n",
		"dfg1 dump seq=1 host_pid=2 out=a\nb",
		"dfg1 dump seq=1 host_pid=2 out=../a\n",
		"dfg1 dump seq=1 host_pid=2 out=/a\n",
		"dfg1 dump seq=1 host_pid=2 out=.\n",
		"dfg1 dump seq=1 host_pid=2 out=..\n",
		"dfg1 dump seq=1 host_pid=2 out=a\x01\n",
		"dfg1 dump seq=1 host_pid=0 out=a\n",
		"dfg1 dump seq=1 host_pid=4194305 out=a\n",
		"dfg1 dump seq=4294967296 host_pid=2 out=a\n",
		"dfg1 dump seq=99999999999999999999 host_pid=2 out=a\n",
		"dfg1 dump seq=-1 host_pid=2 out=a\n",
		"dfg1 dump seq= host_pid=2 out=a\n",
		"dfg1 dump  seq=1 host_pid=2 out=a\n",
		"dfg2 dump seq=1 host_pid=2 out=a\n",
		"dfg1 dump seq=1 host_pid=2 out=a since=\n",
		"dfg1 dump seq=1 host_pid=2 out=a since=4294967296\n",
		"dfg1 dump seq=1 host_pid=2 out=a keep=61\n",
		"dfg1 dump seq=1 host_pid=2 out=a keep=6x\n",
	};
	char line[400];
	struct request o;

	ok(line_ok("dfg1 dump seq=4294967295 host_pid=4194304 out=perf-1.map\n", &o),
	   "a request line");
	is_int(o.seq, UINT32_MAX, "its number");
	is_int(o.host_pid, 4194304, "its pid");
	is_str(o.name, "perf-1.map", "its file");
	is_int(o.since, 0, "whole");
	is_int(o.keep, 0, "and forgotten");
	ok(line_ok("dfg1 dump seq=8 host_pid=2 out=a.snap since=7 new=1 keep=60\n", &o),
	   "with what it follows");
	is_str(o.name, "a.snap", "its file");
	is_int(o.since, 7, "the one before");
	is_int(o.keep, 60, "seconds to remember it");
	ok(!o.named, "a delta does not walk all classes without a request for it");
	ok(line_ok("dfg1 dump seq=8 host_pid=2 out=a.snap named=1\n", &o) && o.named,
	   "a delta walks all classes with named=1");
	ok(!line_ok("dfg1 dump seq=8 host_pid=2 out=a.snap named=2\n", &o),
	   "named= takes 0 and 1 only");
	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++)
		ok(!line_ok(bad[i], &o), "refused: line %zu", i);
	ok(!request_parse("dfg1 dump seq=1 host_pid=2 out=a\0b\n", 35, &o),
	   "refused: a NUL in a name");
	snprintf(line, sizeof(line), "dfg1 dump seq=1 host_pid=2 out=%0255d\n", 0);
	ok(line_ok(line, &o) && strlen(o.name) == 255, "a name of 255 bytes");
	snprintf(line, sizeof(line), "dfg1 dump seq=1 host_pid=2 out=%0256d\n", 0);
	ok(!line_ok(line, &o), "refused: one of 256");
}

static void test_options(void)
{
	static const char *const bad[] = {
		"dir=",
		"dir=share",
		"ctl=x",
		"signal=34",
		"signal=65",
		"signal=40x",
		"dns=",
		"keep=61",
		"since=x",
		"dns=2",
		"dns=10",
		"request=",
		"request=seq:1:2",
		"request=seq:1:2:",
		"request=seq:1:2:../a",
		"request=1:2:a",
		"dir=/a,request=seq:1:0:a",
	};
	struct load_options o;
	char big[600];

	ok(options_parse(NULL, &o), "no options");
	is_str(o.dir, DFG_OUT_PATH, "the usual share");
	is_str(o.ctl, DFG_CTL_PATH, "the usual control directory");
	ok(!o.has_request && o.signal == 0 && !o.debug_info, "nothing asked");
	ok(options_parse("dns=1", &o) && o.debug_info, "DebugNonSafepoints");
	ok(options_parse("dns=0", &o) && !o.debug_info, "but not with 0");
	ok(options_parse("", &o) && !o.has_request, "empty options");
	ok(options_parse("dir=/s,ctl=/c,signal=40,request=seq:7:4711:perf-4711.map", &o), "all");
	is_str(o.dir, "/s", "dir");
	is_str(o.ctl, "/c", "ctl");
	is_int(o.signal, 40, "signal");
	ok(o.has_request && o.request.seq == 7 && o.request.host_pid == 4711, "request");
	is_str(o.request.name, "perf-4711.map", "its file");
	is_str(o.request.dir, "/s", "in the share of this load");
	ok(options_parse("request=seq:0:1:a,dir=/later", &o), "in any order");
	is_str(o.request.dir, "/later", "the share is the same");
	ok(options_parse("since=3,keep=30,request=seq:4:1:a", &o) && o.request.since == 3 &&
		   o.request.keep == 30,
	   "a delta");
	ok(options_parse("named=1,request=seq:4:1:a", &o) && o.request.named,
	   "a request by load can want all methods");
	ok(options_parse("request=seq:4:1:a", &o) && !o.request.named &&
		   o.request.since == 0 && o.request.keep == 0,
	   "no delta");
	ok(options_parse("verbose,colour=red,dir=/s,", &o), "what is unknown is ignored");
	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++)
		ok(!options_parse(bad[i], &o), "refused: %s", bad[i]);
	snprintf(big, sizeof(big), "dir=/%0300d", 0);
	ok(!options_parse(big, &o), "refused: a path that is too long");
}

static void test_pid(void)
{
	struct request o;

	ok(request_from_pid(4711, &o), "a pid from a signal");
	is_str(o.name, "perf-4711.map", "means perf's name for its map");
	is_int(o.seq, 0, "and is always served");
	ok(!request_from_pid(0, &o) && !request_from_pid((1u << 22) + 1, &o), "what no pid can be");
}

int main(void)
{
	test_lines();
	test_options();
	test_pid();
	return tap_done();
}
