// SPDX-License-Identifier: Apache-2.0
import java.util.concurrent.locks.LockSupport;

/**
 * Parks THREADS RATE: threads that park for some time, again and again, RATE times a second together. Prints the time (ns) and how often
 * they have, each tenth of a second.
 */
public class Parks {
	static class Parker extends Thread {
		final long ns;
		volatile long count;

		Parker(long ns) {
			this.ns = ns;
		}

		@Override
		public void run() {
			long next = System.nanoTime();
			for (;;) {
				next = Math.max(next + ns, System.nanoTime() - ns);
				LockSupport.parkNanos(next - System.nanoTime());
				count++;
			}
		}
	}

	public static void main(String[] args) throws Exception {
		Parker[] parkers = new Parker[Integer.parseInt(args[0])];
		for (int i = 0; i < parkers.length; i++) {
			parkers[i] = new Parker(1_000_000_000L / Integer.parseInt(args[1]) * parkers.length);
			parkers[i].setDaemon(true);
			parkers[i].start();
		}
		for (;;) {
			Thread.sleep(100);
			long sum = 0;
			for (Parker p : parkers)
				sum += p.count;
			System.out.println(System.nanoTime() + " " + sum);
		}
	}
}
