// SPDX-License-Identifier: Apache-2.0
package shop;

import java.util.HashMap;
import java.util.Map;
import java.util.Random;

/** Counts the orders of each article without end; the codes of articles are as customers type them. */
public class Orders {
	private final Map<String, Integer> stock = new HashMap<>();
	private final Random random = new Random(1);

	static String read(Random random) {
		StringBuilder line = new StringBuilder(" ab-");
		for (int i = 0; i < 3; i++)
			line.append(random.nextInt(10)).append(i % 2 == 0 ? "." : " ");
		return line.append("Xy").toString();
	}

	void book(String code) {
		stock.merge(code, 1, Integer::sum);
	}

	void batch(int orders) {
		for (int i = 0; i < orders; i++)
			book(Codes.normalize(read(random)));
	}

	public static void main(String[] args) {
		Orders orders = new Orders();
		while (true)
			orders.batch(1000);
	}
}
