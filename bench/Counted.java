// SPDX-License-Identifier: Apache-2.0
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.lang.reflect.Method;
import java.util.concurrent.atomic.LongAdder;

/**
 * Work that is counted, to see what a tool costs: "cpu N", N threads that compute at the end of deep
 * calls, or "yield N", N virtual threads (JDK 21 and later) that yield. Answers each line on standard
 * input with the time in nanoseconds and the work done so far; ends with its input.
 */
public class Counted {
	static final LongAdder done = new LongAdder();
	static final int DEPTH = 200;
	static volatile long sink;

	static long compute(long x) {
		for (int i = 0; i < 2000; i++)
			x = x * 6364136223846793005L + (x >>> 7) + i;
		return x;
	}

	static long call(int depth, long x) {
		return depth == 0 ? compute(x) : call(depth - 1, x + depth) ^ depth;
	}

	static void cpu() {
		long x = 1;

		for (;;) {
			for (int i = 0; i < 100; i++)
				x = call(DEPTH, x);
			sink = x;
			done.add(100);
		}
	}

	static void yield() {
		for (;;) {
			for (int i = 0; i < 100; i++)
				Thread.yield();
			done.add(100);
		}
	}

	static void start(String kind, Runnable run) throws ReflectiveOperationException {
		if (kind.equals("cpu")) {
			Thread t = new Thread(run);

			t.setDaemon(true);
			t.start();
			return;
		}
		/* By name, so that older JDKs compile and run the rest. */
		Method startVirtual = Thread.class.getMethod("startVirtualThread", Runnable.class);

		startVirtual.invoke(null, run);
	}

	public static void main(String[] args) throws Exception {
		BufferedReader in = new BufferedReader(new InputStreamReader(System.in));

		for (int i = Integer.parseInt(args[1]); i > 0; i--)
			start(args[0], args[0].equals("cpu") ? Counted::cpu : Counted::yield);
		while (in.readLine() != null)
			System.out.println(System.nanoTime() + " " + done.sum());
		System.exit(0);
	}
}
