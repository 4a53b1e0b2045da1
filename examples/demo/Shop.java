// SPDX-License-Identifier: Apache-2.0
import java.io.FileOutputStream;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.TreeMap;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * A small shop under load: each request parses an order, prices it, signs the invoice and writes it
 * to an audit log. Every step is a method of its own, so that the graph can be checked against this
 * file. Runs for ever, on as many threads as it is told (2), each with a rest of as many ms as it is
 * told (0) after every hundred requests.
 */
public class Shop {
	private static final Pattern LINE = Pattern.compile("(\\w+)\\s*=\\s*(\\d+)");
	private final Map<String, Integer> prices = new TreeMap<>(Comparator.reverseOrder());
	private final FileOutputStream audit;
	private final MessageDigest sha;

	Shop() throws Exception {
		audit = new FileOutputStream("/dev/null");
		sha = MessageDigest.getInstance("SHA-256");
		for (int i = 0; i < 2000; i++)
			prices.put("article" + i, i % 97 + 1);
	}

	private static String makeOrder(Random random) {
		StringBuilder order = new StringBuilder();
		for (int i = 0; i < 12; i++)
			order.append("article").append(random.nextInt(2000)).append(" = ")
				.append(random.nextInt(9) + 1).append('\n');
		return order.toString();
	}

	private static List<Map.Entry<String, Integer>> parseOrder(String order) {
		List<Map.Entry<String, Integer>> lines = new ArrayList<>();
		Matcher m = LINE.matcher(order);
		while (m.find())
			lines.add(Map.entry(m.group(1), Integer.parseInt(m.group(2))));
		return lines;
	}

	private long priceOrder(List<Map.Entry<String, Integer>> lines) {
		long sum = 0;
		lines.sort(Map.Entry.comparingByKey());
		for (Map.Entry<String, Integer> line : lines)
			sum += (long)prices.get(line.getKey()) * line.getValue();
		return sum;
	}

	private byte[] signInvoice(String order, long sum) {
		byte[] text = (order + sum).getBytes(StandardCharsets.UTF_8);
		byte[] digest = sha.digest(text);
		for (int i = 0; i < 4; i++)
			digest = sha.digest(digest);
		return digest;
	}

	private void writeAudit(byte[] signature) throws IOException {
		for (int i = 0; i < signature.length; i += 8)
			audit.write(signature, i, 8);
	}

	private void handleRequest(Random random) throws IOException {
		String order = makeOrder(random);
		long sum = priceOrder(parseOrder(order));
		writeAudit(signInvoice(order, sum));
	}

	private static void serve(long seed, int rest) {
		try {
			Shop shop = new Shop();
			Random random = new Random(seed);
			for (;;) {
				for (int i = 0; i < 100; i++)
					shop.handleRequest(random);
				if (rest > 0)
					Thread.sleep(rest);
			}
		} catch (Exception e) {
			throw new IllegalStateException(e);
		}
	}

	public static void main(String[] args) {
		int threads = args.length > 0 ? Integer.parseInt(args[0]) : 2;
		int rest = args.length > 1 ? Integer.parseInt(args[1]) : 0;
		for (int i = 0; i < threads; i++) {
			long seed = i;
			new Thread(() -> serve(seed, rest), "shop-worker-" + i).start();
		}
	}
}
