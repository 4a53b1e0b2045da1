// SPDX-License-Identifier: Apache-2.0
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.util.HashMap;
import java.util.Map;
import java.util.concurrent.atomic.AtomicIntegerArray;

/**
 * Two threads that serve small requests one after the other. Answers each line on standard input with what was since
 * the line before: requests in a second, and the median, 99 %, 99.9 % and longest of their latencies in microseconds.
 * Ends with its input.
 */
public class Requests {
	static final AtomicIntegerArray taken = new AtomicIntegerArray(10_000_000); /* by microseconds */
	static volatile Object sink;

	/* Text, maps and short-lived objects, as requests have. */
	static Object serve(int n) {
		Map<String, Integer> words = new HashMap<>();

		for (int i = 0; i < 200; i++)
			words.merge("w" + (n + i * 7) % 97, i, Integer::sum);
		return words.values().stream().mapToInt(Integer::intValue).sum();
	}

	static void run() {
		for (int n = 0;; n++) {
			long began = System.nanoTime();

			sink = serve(n);
			taken.incrementAndGet((int)Math.min((System.nanoTime() - began) / 1000, taken.length() - 1));
		}
	}

	static String answer(long nanoseconds) {
		int[] counts = new int[taken.length()];
		double[] shares = {0.5, 0.99, 0.999, 1};
		long all = 0, passed = 0;
		int next = 0;
		StringBuilder out = new StringBuilder();

		for (int us = 0; us < counts.length; us++)
			all += counts[us] = taken.getAndSet(us, 0);
		out.append(all * 1_000_000_000L / nanoseconds);
		for (int us = 0; us < counts.length && next < shares.length; us++)
			for (passed += counts[us]; next < shares.length && passed >= all * shares[next]; next++)
				out.append(' ').append(us);
		return out.toString();
	}

	public static void main(String[] args) throws Exception {
		BufferedReader in = new BufferedReader(new InputStreamReader(System.in));
		long last = System.nanoTime();

		for (int i = 0; i < 2; i++) {
			Thread t = new Thread(Requests::run);

			t.setDaemon(true);
			t.start();
		}
		System.out.println("ready");
		while (in.readLine() != null) {
			long now = System.nanoTime();

			System.out.println(answer(now - last));
			last = System.nanoTime();
		}
	}
}
