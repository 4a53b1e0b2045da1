// SPDX-License-Identifier: Apache-2.0
import java.io.File;
import java.io.InputStream;

/**
 * Code that comes and goes: loads a class again and again, each time with a loader of its own, has its
 * methods compiled, and lets go of it. Until the file named by the first argument is there; then it is
 * quiet, for as many seconds as the second says.
 */
public class Passing {
	public static class Victim implements Runnable {
		static volatile long sink;

		static long work(int[] a, int x) {
			long s = x;

			for (int i = 0; i < a.length; i++)
				s = s * 31 + a[i];
			return s;
		}

		@Override
		public void run() {
			int[] a = {1, 2, 3, 4};

			for (int i = 0; i < 20_000; i++)
				sink += work(a, i);
		}
	}

	static class Loader extends ClassLoader {
		Class<?> define(byte[] code) {
			return defineClass(null, code, 0, code.length);
		}
	}

	public static void main(String[] args) throws Exception {
		byte[] code;

		try (InputStream in = Passing.class.getResourceAsStream("Passing$Victim.class")) {
			code = new byte[in.available()];
			in.read(code);
		}
		System.out.println("churns");
		for (int n = 1; !new File(args[0]).exists(); n++) {
			((Runnable) new Loader().define(code).getDeclaredConstructor().newInstance()).run();
			if (n % 8 == 0)
				System.gc();
		}
		System.out.println("quiet");
		Thread.sleep(Long.parseLong(args[1]) * 1000);
	}
}
