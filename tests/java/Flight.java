// SPDX-License-Identifier: Apache-2.0
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.locks.LockSupport;

/**
 * Threads that compute, allocate, wait for a lock and wait in a native method, by which a flight recording has events
 * of each kind. Ends after as many seconds as the argument says.
 */
public class Flight {
	static final Object lock = new Object();
	static volatile Object sink;
	static volatile boolean done;

	static int words(int n) {
		Map<String, Integer> words = new HashMap<>();

		for (int i = 0; i < 200; i++)
			words.merge("w" + (n + i * 7) % 97, i, Integer::sum);
		return words.values().stream().mapToInt(Integer::intValue).sum();
	}

	static void compute() {
		for (int n = 0; !done; n++)
			sink = words(n);
	}

	static void contend() {
		while (!done) {
			synchronized (lock) {
				sink = words(done ? 1 : 2);
				LockSupport.parkNanos(25_000_000);
			}
		}
	}

	public static void main(String[] args) throws Exception {
		List<Thread> threads = new ArrayList<>();

		threads.add(new Thread(Flight::compute, "computes-é世"));
		threads.add(new Thread(Flight::contend, "contends;1"));
		threads.add(new Thread(Flight::contend, "contends 2"));
		for (Thread t : threads)
			t.start();
		Thread.sleep(1000 * Long.parseLong(args[0]));
		done = true;
		for (Thread t : threads)
			t.join();
	}
}
