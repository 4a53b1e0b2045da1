// SPDX-License-Identifier: Apache-2.0
#include "calltree/thread_root.h"

#include <string.h>

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

void thread_add_pool(struct str *out, const char *name, size_t len)
{
	size_t end = len, begin;

	while (end && strchr(")]>", name[end - 1]))
		end--;
	for (begin = end; begin && is_digit(name[begin - 1]);)
		begin--;
	if (begin == end || (begin && name[begin - 1] == '.')) {
		str_add(out, name, len);
		return;
	}
	str_add(out, name, begin);
	str_addc(out, '*');
	str_add(out, name + end, len - end);
}

/* In the order in which they call each other, JDK 8 to 25. "java_start" is thread_native_entry of
 * JDK 8. */
static const char *const native[] = {
	THREAD_START,
	"thread_native_entry",
	"java_start",
	"Thread::call_run",
	"JavaThread::run",
	"JavaThread::thread_main_inner",
	"thread_entry",
	"ThreadJavaMain",
	"JavaMain",
	"invokeStaticMainWithArgs",
	"invokeStaticMainWithoutArgs",
	"jni_CallStaticVoidMethod",
	"jni_invoke_static",
	"JavaCalls::call_virtual",
	"JavaCalls::call",
	"JavaCalls::call_helper",
	"os::os_exception_wrapper",
	"call_stub",
	"StubRoutines",
	"GangWorker::run",
	"GangWorker::loop",
	"WorkerThread::run",
	"ConcurrentGCThread::run",
};

static const char *const methods[] = {
	"java.lang.Thread.run",
	"java.lang.Thread.runWith",
	"java.lang.VirtualThread$VThreadContinuation$1.run",
	"java.lang.VirtualThread.run",
	"jdk.internal.misc.InnocuousThread.run",
	"java.util.concurrent.ThreadPoolExecutor$Worker.run",
	"java.util.concurrent.ThreadPoolExecutor.runWorker",
	"java.util.concurrent.Executors$RunnableAdapter.call",
	"java.util.concurrent.FutureTask.run",
	"java.util.concurrent.FutureTask.run$$$capture",
	"java.util.concurrent.ScheduledThreadPoolExecutor$ScheduledFutureTask.run",
	"java.util.concurrent.ForkJoinWorkerThread.run",
	"java.util.concurrent.ForkJoinPool.runWorker",
	"org.apache.tomcat.util.threads.TaskThread$WrappingRunnable.run",
	"org.apache.tomcat.util.threads.ThreadPoolExecutor$Worker.run",
	"org.apache.tomcat.util.threads.ThreadPoolExecutor.runWorker",
};

static bool is_among(const char *const *list, size_t n, const char *name)
{
	for (size_t i = 0; i < n; i++)
		if (!strcmp(list[i], name))
			return true;
	return false;
}

bool thread_is_start(const struct frame *f)
{
	if (frame_is_java(f->kind))
		return is_among(methods, ARRAY_LEN(methods), f->name);
	return f->kind != FRAME_KERNEL && f->kind != FRAME_ROOT &&
	       (f->start || is_among(native, ARRAY_LEN(native), f->name));
}
