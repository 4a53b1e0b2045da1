// SPDX-License-Identifier: Apache-2.0
import java.io.File;

/**
 * One hot method; when /tmp/go is there, a class that was never loaded before is the hot one, or, with an argument,
 * another method of this class.
 */
public class Late {
	static volatile long sink;

	static long hot(long seed) {
		for (int i = 0; i < 20_000_000; i++)
			seed = seed * 6364136223846793005L + 1442695040888963407L;
		return seed;
	}

	static long again(long seed) {
		for (int i = 0; i < 20_000_000; i++)
			seed = seed * 31 + (seed >>> 3);
		return seed;
	}

	public static void main(String[] args) {
		File go = new File("/tmp/go");
		long seed = 1;

		while (!go.exists())
			sink = seed = hot(seed);
		while (args.length > 0)
			sink = seed = again(seed);
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
