// SPDX-License-Identifier: Apache-2.0
import java.io.File;

/** One hot method; when /tmp/go is there, a class that was never loaded before is the hot one. */
public class Late {
	static volatile long sink;

	static long hot(long seed) {
		for (int i = 0; i < 20_000_000; i++)
			seed = seed * 6364136223846793005L + 1442695040888963407L;
		return seed;
	}

	public static void main(String[] args) {
		File go = new File("/tmp/go");
		long seed = 1;

		while (!go.exists())
			sink = seed = hot(seed);
		for (;;)
			sink = seed = LateCode.fresh(seed);
	}
}

class LateCode {
	static long fresh(long seed) {
		for (int i = 0; i < 20_000_000; i++)
			seed = (seed ^ seed >>> 7) * 31 + i;
		return seed;
	}
}
