// SPDX-License-Identifier: Apache-2.0
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;

/**
 * Tills that ask for prices, two hundred times a second. Most requests take a millisecond; every eight seconds
 * one takes seconds, and the others wait for it. What takes long is said, with the time.
 */
public class Till {
	private final PriceList prices = new PriceList();
	private final Random random = new Random();
	private final ThreadLocal<MessageDigest> sha = ThreadLocal.withInitial(Till::sha256);

	int serve() {
		int sum = 0;
		for (int i = 0; i < 20; i++)
			sum += prices.of("article " + random.nextInt(PriceList.ARTICLES));
		return seal(sum);
	}

	/** A seal that takes time to forge, and a millisecond to make. */
	private int seal(int sum) {
		byte[] seal = {(byte) sum};
		for (int round = 0; round < 12_000; round++)
			seal = sha.get().digest(seal);
		return seal[0];
	}

	private void run() {
		while (true) {
			long start = System.nanoTime();
			serve();
			long ms = (System.nanoTime() - start) / 1_000_000;
			if (ms > 500)
				System.out.println(Instant.now() + " a request took " + ms + " ms");
			pause(20);
		}
	}

	private static MessageDigest sha256() {
		try {
			return MessageDigest.getInstance("SHA-256");
		} catch (NoSuchAlgorithmException e) {
			throw new IllegalStateException(e);
		}
	}

	private static void pause(int ms) {
		try {
			Thread.sleep(ms);
		} catch (InterruptedException e) {
			throw new IllegalStateException(e);
		}
	}

	public static void main(String[] args) {
		Till till = new Till();
		for (int i = 1; i <= 4; i++)
			new Thread(till::run, "till-" + i).start();
	}
}

/** Prices of all articles. They are read anew when they are older than eight seconds, by the request that finds them so. */
class PriceList {
	static final int ARTICLES = 30_000;
	private final List<String> names = new ArrayList<>();
	private long expires;

	synchronized int of(String article) {
		if (System.nanoTime() > expires) {
			reload();
			expires = System.nanoTime() + 8_000_000_000L;
		}
		return article.hashCode() & 0xff;
	}

	private void reload() {
		names.clear();
		for (int i = 0; i < ARTICLES; i++)
			addOnce("article " + i);
	}

	/** The mistake: a list is searched from its beginning for each article. A set would know at once. */
	private void addOnce(String name) {
		if (!names.contains(name))
			names.add(name);
	}
}
