// SPDX-License-Identifier: Apache-2.0
import com.sun.management.HotSpotDiagnosticMXBean;
import java.lang.management.ManagementFactory;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;

/**
 * Has its JVM stop all threads: each step is a method, in a thread of the same name. Prints a line "STEP BEGIN END" for
 * each (System.nanoTime). Some steps come while counted() runs, a loop without a poll for some 120 ms, so that the JVM
 * waits for that thread (the JVM's options must not give it polls).
 *
 * <p>Pauses MS DIRECTORY: sleeps so long after each step; heap dumps go to the directory.
 */
public class Pauses {
	static final int LIVE = 300_000;
	static volatile Object out;
	static volatile boolean counting;
	static int begin = 12345;
	static final Object[] kept = new Object[LIVE];
	static String dumped;

	static void collect() { System.gc(); }
	static void stacks() { out = Thread.getAllStackTraces(); }
	static void dump() throws Exception {
		java.io.File file = new java.io.File(dumped);
		file.delete();
		ManagementFactory.getPlatformMXBean(HotSpotDiagnosticMXBean.class).dumpHeap(dumped, true);
		file.delete();
	}
	/** Replaces what lives, twice, with garbage in between. */
	static void allocate() {
		for (int i = 0; i < 2 * LIVE; i++) {
			kept[i % LIVE] = new long[4];
			out = new byte[80];
		}
	}
	/** Takes locks that another thread has had alone: up to JDK 14 the JVM takes back their bias. */
	static void revoke() {
		for (Object lock : biased)
			synchronized (lock) {
				out = lock;
			}
	}
	static void bias() {
		for (Object lock : biased)
			synchronized (lock) {
				out = lock;
			}
	}
	static final Object[] biased = new Object[3];

	/** A loop that C2 neither unrolls into one without its dependency nor gives a poll. */
	static int counted(int from, int n) {
		int x = from;
		for (int i = 0; i < n; i++) {
			x ^= x << 13;
			x ^= x >>> 17;
			x ^= x << 5;
		}
		return x;
	}

	static int rounds; /* of counted() that take 120 ms of a processor that is free */

	static void count() {
		counting = true;
		begin = counted(begin, rounds);
		counting = false;
	}

	/** Has counted() compiled, and finds how fast it is. */
	static void prepare() {
		for (int i = 0; i < 30_000; i++)
			begin = counted(begin, 500);
		for (int i = 0; i < 20; i++)
			begin = counted(begin, 1_000_000);
		long best = Long.MAX_VALUE;
		for (int i = 0; i < 10; i++) {
			long time = System.nanoTime();
			begin = counted(begin, 1_000_000);
			best = Math.min(best, System.nanoTime() - time);
		}
		rounds = (int) (120_000_000L * 1_000_000 / best);
	}

	interface Work { void run() throws Exception; }

	static class Step {
		final String name;
		final Work work;
		final ExecutorService thread;

		Step(String name, Work work) {
			this.name = name;
			this.work = work;
			thread = Executors.newSingleThreadExecutor(r -> {
				Thread t = new Thread(r, name);
				t.setDaemon(true);
				return t;
			});
		}
		Future<?> start() {
			return thread.submit(() -> {
				long time = System.nanoTime();
				work.run();
				print(name, time, System.nanoTime());
				return null;
			});
		}
	}

	static synchronized void print(String name, long from, long to) { System.out.println(name + " " + from + " " + to); }

	static final List<Step> steps = new ArrayList<>();
	static int pause;

	static void take(int step) throws Exception {
		steps.get(step).start().get();
		Thread.sleep(pause);
	}

	/** Takes a step while counted() runs. */
	static void takeCounting(int step) throws Exception {
		Future<?> count = steps.get(0).start();
		while (!counting)
			Thread.sleep(1);
		Thread.sleep(5);
		Future<?> other = steps.get(step).start();
		count.get();
		other.get();
		Thread.sleep(pause);
	}

	public static void main(String[] args) throws Exception {
		pause = Integer.parseInt(args[0]);
		dumped = args[1] + "/heap.hprof";
		steps.add(new Step("count", Pauses::count));
		steps.add(new Step("collect", Pauses::collect));
		steps.add(new Step("stacks", Pauses::stacks));
		steps.add(new Step("dump", Pauses::dump));
		steps.add(new Step("allocate", Pauses::allocate));
		steps.add(new Step("bias", Pauses::bias));
		steps.add(new Step("revoke", Pauses::revoke));
		prepare();
		for (;;) {
			for (int i = 0; i < biased.length; i++)
				biased[i] = new Object();
			take(5);
			takeCounting(6);
			take(1);
			take(4);
			takeCounting(2);
			take(3);
			take(2);
			takeCounting(1);
		}
	}
}
