// SPDX-License-Identifier: Apache-2.0
import java.io.File;
import java.util.TreeMap;

/** Keeps one thread busy with methods whose names the tests look for, until the file named by the argument is there. */
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
		File stop = new File(args.length > 0 ? args[0] : "");
		Runnable work = lambda();
		int round = 0;

		while (!stop.exists()) {
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
