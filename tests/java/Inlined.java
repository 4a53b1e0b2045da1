// SPDX-License-Identifier: Apache-2.0

/** Three methods on lines of their own; tests have the compiler inline them into each other. */
public class Inlined {
	static volatile int[] data = new int[64];
	static int sum;

	static int inner(int i) {
		int[] a = data;
		return a[i & 63] + i; // line 10
	}

	static int middle(int i) {
		int n = i * 3;
		return inner(n) ^ n; // line 15
	}

	static int outer(int count) {
		int n = 0;
		for (int i = 0; i < count; i++)
			n += middle(i); // line 21
		return n;
	}

	public static void main(String[] args) throws Exception {
		long end = System.nanoTime() + 1_000_000_000L * Long.parseLong(args[0]);

		for (int round = 0; System.nanoTime() < end; round++) {
			sum += outer(1000);
			if (round == 30000)
				System.out.println("warm");
			if (round > 30000)
				Thread.sleep(20);
		}
	}
}
