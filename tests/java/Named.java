// SPDX-License-Identifier: Apache-2.0
// Threads with names that perf's 15 characters do not hold: Named SECONDS.
public class Named {
	static volatile long sum;

	static void work(long until) {
		while (System.nanoTime() < until) {
			for (int i = 0; i < 1000000; i++)
				sum += i;
			for (int i = 0; i < 10000; i++)
				sum += System.nanoTime();
			try {
				Thread.sleep(20);
			} catch (InterruptedException e) {
				return;
			}
		}
	}

	public static void main(String[] args) throws Exception {
		long until = System.nanoTime() + Long.parseLong(args[0]) * 1000000000L;
		String[] names = {"request-handler-number-1", "request-handler-number-2",
			"\u00fcberlanger-Name-f\u00fcr-einen-Faden", "\u7dda\u7a0b-\ud83d\udd25-\u540d\u524d", "short",
			"lone-\ud800-half"};

		for (String name : names) {
			Thread t = new Sub(() -> work(until), "not yet");
			t.setDaemon(true);
			t.start();
			t.setName(name);
		}
		System.out.println("warm");
		Thread.sleep(Math.max(0, (until - System.nanoTime()) / 1000000));
	}

	static class Sub extends Thread {
		Sub(Runnable run, String name) { super(run, name); }
	}
}
