// SPDX-License-Identifier: Apache-2.0
/* Pools of threads, and the frames that start a thread. */
#include "calltree/thread_root.h"

#include "calltree/calltree.h"
#include "common/str.h"
#include "format/format.h"
#include "lib/drawn.h"
#include "lib/tap.h"

static void test_pools(void)
{
	static const char *const t[][2] = {
		{"http-nio-8080-exec-1", "http-nio-8080-exec-*"},
		{"http-nio-8443-exec-11", "http-nio-8443-exec-*"},
		{"http-nio-8080-Poller", "http-nio-8080-Poller"},
		{"C1_CompilerThread0", "C1_CompilerThread*"},
		{"C2_CompilerThread10", "C2_CompilerThread*"},
		{"C2_CompilerThre", "C2_CompilerThre"},
		{"GC_Thread#3", "GC_Thread#*"},
		{"G1_Main_Marker", "G1_Main_Marker"},
		{"ForkJoinPool-1-worker-3", "ForkJoinPool-1-worker-*"},
		{"pool-2-thread-14", "pool-2-thread-*"},
		{"I/O_dispatcher_(7)", "I/O_dispatcher_(*)"},
		{"worker-[12]", "worker-[*]"},
		{":4711", ":*"},
		{"17", "*"},
		{"main", "main"},
		{"python3.11", "python3.11"},
		{"RMI_TCP_Connection(3)-127.0.0.1", "RMI_TCP_Connection(3)-127.0.0.1"},
		{"()", "()"},
		{"", ""},
	};

	for (size_t i = 0; i < ARRAY_LEN(t); i++) {
		CLEANUP(str_fini) struct str got = {0};

		thread_add_pool(&got, t[i][0], strlen(t[i][0]));
		is_str(got.buf ? got.buf : "", t[i][1], "the pool of \"%s\"", t[i][0]);
	}
}

static void test_starts(void)
{
	static const struct {
		const char *name;
		enum frame_kind kind;
		bool want;
	} t[] = {
		{"clone3", FRAME_NATIVE, true},
		{"thread_native_entry", FRAME_JVM, true},
		{"java_start", FRAME_NATIVE, true},
		{"Thread::call_run", FRAME_JVM, true},
		{"call_stub", FRAME_STUB, true},
		{"java.lang.Thread.run", FRAME_INTERPRETED, true},
		{"java.util.concurrent.ThreadPoolExecutor$Worker.run", FRAME_INLINED, true},
		{"[thread start]", FRAME_NATIVE, true},
		{"java.lang.Thread.run", FRAME_NATIVE, false},
		{"java.lang.Thread.sleep", FRAME_JAVA, false},
		{"clone3", FRAME_JAVA, false},
		{"clone3", FRAME_KERNEL, false},
		{"clone3", FRAME_ROOT, false},
		{"main", FRAME_NATIVE, false},
		{"CompileBroker::compiler_thread_loop", FRAME_JVM, false},
	};
	struct frames *fs = frames_new();

	for (size_t i = 0; i < ARRAY_LEN(t); i++)
		is_int(thread_is_start(frames_get(
			       fs, frames_intern(fs, t[i].name, strlen(t[i].name), t[i].kind))),
		       t[i].want, "%s of kind %d %s a thread", t[i].name, (int)t[i].kind,
		       t[i].want ? "starts" : "does not start");
	frames_free(fs);
}

static char *grafted(const char *folded, const struct graft *how)
{
	struct stacks *from = stacks_new(), *to = stacks_new();
	char *ret;

	fold_read(from, folded, strlen(folded), NULL);
	stacks_graft(to, from, how, NULL);
	stacks_sort(to);
	ret = drawn_folded(to);
	stacks_free(from);
	stacks_free(to);
	return ret;
}

static void check_graft(const char *folded, struct graft how, const char *want, const char *name)
{
	CLEANUP(free) char *got = grafted(folded, &how);

	is_str(got, want, "%s", name);
}

static void test_graft(void)
{
	static const char two[] =
		"exec-1;start_thread;Thread::call_run;a_[j] 3\n"
		"exec-2;clone3;start_thread;java.lang.Thread.run_[0];a_[j];b_[j] 4\n"
		"exec-2;start_thread 1\n";

	check_graft(two, (struct graft){.pools = true},
		    "exec-*;clone3;start_thread;java.lang.Thread.run_[0];a_[j];b_[j] 4\n"
		    "exec-*;start_thread 1\n"
		    "exec-*;start_thread;Thread::call_run;a_[j] 3\n",
		    "threads of a pool are one root");
	check_graft(two, (struct graft){.pools = true, .fold_start = true},
		    "exec-*;[thread start] 1\n"
		    "exec-*;[thread start];a_[j] 3\n"
		    "exec-*;[thread start];a_[j];b_[j] 4\n",
		    "what starts a thread is one frame, and loses no sample");
	check_graft(two, (struct graft){.skip_first = true, .fold_start = true},
		    "[thread start] 1\n[thread start];a_[j] 3\n[thread start];a_[j];b_[j] 4\n",
		    "without threads, too");
	check_graft("t;a_[j];start_thread;b 2\nt-1 5\n",
		    (struct graft){.pools = true, .fold_start = true},
		    "t;a_[j];start_thread;b 2\nt-* 5\n",
		    "a function of that name that a thread calls later stays");
	check_graft("t;[thread start];a_[j] 2\n", (struct graft){.fold_start = true},
		    "t;[thread start];a_[j] 2\n", "what is folded stays as it is");
}

int main(void)
{
	test_pools();
	test_starts();
	test_graft();
	return tap_done();
}
