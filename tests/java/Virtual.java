// SPDX-License-Identifier: Apache-2.0
import java.util.concurrent.ArrayBlockingQueue;
import java.util.concurrent.BlockingQueue;

/** Virtual threads that are taken off their carriers and put back on, some calls deep: JDK 21. */
public class Virtual {
	static long sum;

	static int fib(int n) {
		return n < 2 ? n : fib(n - 1) + fib(n - 2);
	}

	static void descend(int n) {
		if (n > 0) {
			descend(n - 1);
			return;
		}
		Thread.yield();
		sum += fib(10);
	}

	static void serve(BlockingQueue<Integer> queue) {
		try {
			for (;;) {
				int n = queue.take();
				sum += fib(15);
				queue.put(n + 1);
				descend(30);
			}
		} catch (InterruptedException e) {
			throw new IllegalStateException(e);
		}
	}

	public static void main(String[] args) throws Exception {
		for (int i = 0; i < 20; i++) {
			BlockingQueue<Integer> queue = new ArrayBlockingQueue<>(4);
			queue.put(1);
			Thread.ofVirtual().start(() -> serve(queue));
		}
		Thread.sleep(600_000);
	}
}
