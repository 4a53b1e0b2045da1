// SPDX-License-Identifier: Apache-2.0
import java.lang.management.ManagementFactory;

/**
 * Allocates objects of three classes, each in a method of its own, and counts them. Prints the bytes of an object of
 * each, as the JVM's own counter has them ("size NAME BYTES"), then every 5 ms a line "BEFORE AFTER BYTES BYTE_ARRAYS
 * LONG_ARRAYS NODES": what the threads worker-N had allocated by that counter, and their objects, at some time between
 * the two (System.nanoTime).
 *
 * <p>Alloc THREADS PAUSE [FILE]: each thread pauses for so many ms after each 20 rounds. Once FILE is there they stop, a
 * last line is printed, and the program ends.
 */
public class Alloc {
	static final com.sun.management.ThreadMXBean BEAN =
		(com.sun.management.ThreadMXBean) ManagementFactory.getThreadMXBean();
	static volatile Object out;
	static volatile boolean stop;

	static class Node {
		Node next;
		long a, b;
		Node(Node next) { this.next = next; }
	}

	static void bytes(int n) {
		for (int i = 0; i < n; i++)
			out = new byte[1000];
	}
	static void nodes(int n) {
		Node list = null;
		for (int i = 0; i < n; i++)
			out = list = new Node(list);
	}
	/** Larger than buffers of threads (TLABs) are. */
	static void longs(int n) {
		for (int i = 0; i < n; i++)
			out = new long[1 << 19];
	}

	static class Worker extends Thread {
		final int pause;
		volatile long bytes, longs, nodes;
		volatile boolean stopped;

		Worker(int number, int pause) {
			super("worker-" + number);
			this.pause = pause;
			setDaemon(true);
		}

		/** Rounds of unequal size: those of equal ones could keep step with the buffers. */
		@Override public void run() {
			int random = 12345 + (int) getId();
			for (int round = 1; !stop; round++) {
				random ^= random << 13;
				random ^= random >>> 17;
				random ^= random << 5;
				int n = 400 + (random & 511);
				bytes(n);
				bytes += n;
				nodes(8 * n);
				nodes += 8 * n;
				if ((random >>> 9 & 15) == 0) {
					longs(1);
					longs++;
				}
				if (pause > 0 && round % 20 == 0)
					sleepFor(pause);
			}
			stopped = true;
			sleepFor(Integer.MAX_VALUE); /* a thread that has ended has no counter */
		}
	}

	static void sleepFor(int ms) {
		try {
			Thread.sleep(ms);
		} catch (InterruptedException e) {
			throw new RuntimeException(e);
		}
	}

	static long own() { return BEAN.getThreadAllocatedBytes(Thread.currentThread().getId()); }

	static void size(String name, int n, java.util.function.IntConsumer make) {
		make.accept(n);
		long before = own(), none = own() - before, start = own();
		make.accept(n);
		System.out.println("size " + name + " " + (own() - start - none) / n);
	}

	public static void main(String[] args) {
		size("byte[]", 1000, Alloc::bytes);
		size("long[]", 10, Alloc::longs);
		size("Alloc$Node", 1000, Alloc::nodes);
		Worker[] workers = new Worker[Integer.parseInt(args[0])];
		long[] ids = new long[workers.length];
		for (int i = 0; i < workers.length; i++) {
			workers[i] = new Worker(i, Integer.parseInt(args[1]));
			ids[i] = workers[i].getId();
			workers[i].start();
		}
		java.io.File end = args.length > 2 ? new java.io.File(args[2]) : null;
		while (end == null || !end.exists()) {
			print(workers, ids);
			sleepFor(5);
		}
		stop = true;
		for (Worker w : workers)
			while (!w.stopped)
				sleepFor(5);
		print(workers, ids);
	}

	static void print(Worker[] workers, long[] ids) {
		long sum = 0, bytes = 0, longs = 0, nodes = 0, time = System.nanoTime();
		for (long b : BEAN.getThreadAllocatedBytes(ids))
			sum += b;
		for (Worker w : workers) {
			bytes += w.bytes;
			longs += w.longs;
			nodes += w.nodes;
		}
		System.out.println(time + " " + System.nanoTime() + " " + sum + " " + bytes + " " + longs + " " + nodes);
	}
}
