// SPDX-License-Identifier: Apache-2.0
import java.io.InputStream;
import java.lang.reflect.Constructor;
import java.nio.charset.StandardCharsets;
import java.util.concurrent.atomic.AtomicInteger;

/**
 * Code and classes that come and go, with names that tell when: {@code Churn LIFE SECONDS}. Two threads
 * load one generation of Gen after the other (Gen000001, Gen000002 ..., each by a loader of its own), run
 * it for LIFE milliseconds, every seventh for five times as long, and drop it. Each new subclass of Base
 * undoes what was compiled on the assumption that there are no others. Collections unload what was
 * dropped, so that addresses of code and of methods are used again.
 *
 * <p>Prints a line for each generation: its number, the thread, and from when to when it may be on that
 * thread's stack (CLOCK_MONOTONIC, ns). tests/java/churn.py holds samples against it.
 */
public class Churn implements Runnable {
	static final AtomicInteger generations = new AtomicInteger();
	static long end;
	static long life;
	static volatile long sink;

	/** What all generations have in common. */
	public abstract static class Base {
		public abstract int step(int n);

		public int many(int n) {
			int x = 0;

			for (int i = 0; i < n; i++)
				x += step(i);
			return x;
		}
	}

	static class Loader extends ClassLoader {
		/** Gen000000 by another name, which is as long. */
		Class<?> define(int generation) throws Exception {
			String name = String.format("Gen%06d", generation);
			String text;

			try (InputStream in = Churn.class.getResourceAsStream("Gen000000.class")) {
				text = new String(in.readAllBytes(), StandardCharsets.ISO_8859_1);
			}
			byte[] bytes = text.replace("Gen000000", name).getBytes(StandardCharsets.ISO_8859_1);
			return defineClass(name, bytes, 0, bytes.length);
		}
	}

	static void generation(int number) throws Exception {
		long start = System.nanoTime(), until = start + life * (number % 7 == 0 ? 5 : 1);
		Constructor<?> make = new Loader().define(number).getDeclaredConstructor();

		make.setAccessible(true); /* from another loader's package */
		Base gen = (Base) make.newInstance();

		while (System.nanoTime() < until)
			sink += gen.many(2000);
		System.out.printf("%d %s %d %d%n", number, Thread.currentThread().getName(), start,
				System.nanoTime());
	}

	@Override
	public void run() {
		try {
			while (System.nanoTime() < end)
				generation(generations.incrementAndGet());
		} catch (Exception e) {
			e.printStackTrace();
			System.exit(1);
		}
	}

	public static void main(String[] args) throws Exception {
		Thread[] threads = new Thread[2];

		life = Long.parseLong(args[0]) * 1_000_000L;
		end = System.nanoTime() + Long.parseLong(args[1]) * 1_000_000_000L;
		for (int i = 0; i < threads.length; i++) {
			threads[i] = new Thread(new Churn(), "churn" + i);
			threads[i].start();
		}
		while (System.nanoTime() < end) {
			Thread.sleep(500);
			System.gc();
		}
		for (Thread t : threads)
			t.join();
	}
}

/** The template of all generations. */
class Gen000000 extends Churn.Base {
	private int state = 1;

	@Override
	public int step(int n) {
		return (n & 1) == 0 ? even(n) : odd(n);
	}

	private int even(int n) {
		return burn(n, 20) + state;
	}

	private int odd(int n) {
		state = down(4, n);
		return state;
	}

	private int down(int depth, int n) {
		return depth == 0 ? burn(n, 40) : down(depth - 1, n) + 1;
	}

	private static int burn(int x, int n) {
		for (int i = 0; i < n; i++)
			x = x * 31 + (x >>> 7) ^ i;
		return x;
	}
}
