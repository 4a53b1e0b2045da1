// SPDX-License-Identifier: Apache-2.0
import java.util.TreeMap;

/** Keeps one thread busy with methods whose names the tests look for; prints its pid and waits. */
public class Busy {
	static long sum;

	static int fib(int n) {
		return n < 2 ? n : fib(n - 1) + fib(n - 2);
	}

	static void sortNames(int n) {
		TreeMap<String, Integer> names = new TreeMap<>();

		for (int i = 0; i < n; i++)
			names.put("name" + (i * 7919) % n, i);
		for (Integer i : names.values())
			sum += i;
	}

	static Runnable lambda() {
		return () -> sum += fib(12);
	}

	public static void main(String[] args) throws Exception {
		long end = System.nanoTime() + 1_000_000_000L * (args.length > 0 ? Long.parseLong(args[0]) : 60);
		Runnable work = lambda();
		int round = 0;

		while (System.nanoTime() < end) {
			sortNames(2000);
			work.run();
			if (++round == 300)
				System.out.println("warm");
			if (round > 300)
				Thread.sleep(20);
		}
		System.out.println("done");
	}
}
