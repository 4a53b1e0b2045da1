// SPDX-License-Identifier: Apache-2.0
package shop;

import jakarta.servlet.ServletContextEvent;
import jakarta.servlet.ServletContextListener;
import jakarta.servlet.annotation.WebListener;
import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.SQLException;
import java.util.Random;
import javax.naming.InitialContext;
import javax.naming.NamingException;
import javax.sql.DataSource;

/** The tables and their rows, made when the application starts: the same ones in each database. */
@WebListener
public class Data implements ServletContextListener {
	static final int PRODUCTS = 2000, CATEGORIES = 20, CUSTOMERS = 500, REVIEWS = 12000;
	static final String[] WORDS = ("oak steel blue light garden paper winter copper small round folding silver"
			+ " travel kitchen river cotton summer stone quiet bright").split(" ");
	static final String[] THINGS = "lamp chair table kettle clock basket blanket mirror ladder bench".split(" ");
	static final String[] SCHEMA = {
		"create table category (id int primary key, title varchar(40))",
		"create table product (id int primary key, category int references category, title varchar(80),"
			+ " description varchar(400), price int, stock int)",
		"create index product_category on product (category, price)",
		"create table customer (id int primary key, name varchar(40))",
		"create table review (id int primary key, product int references product,"
			+ " customer int references customer, stars int, body varchar(200))",
		"create index review_product on review (product)",
		"create index review_customer on review (customer)",
		"create table line (cart int, product int references product, quantity int)",
		"create index line_cart on line (cart)",
	};
	private final Random random = new Random(1);

	static DataSource source() throws NamingException {
		return (DataSource) new InitialContext().lookup("java:comp/env/jdbc/shop");
	}

	@Override
	public void contextInitialized(ServletContextEvent event) {
		try (Connection c = source().getConnection()) {
			for (String table : SCHEMA)
				c.createStatement().execute(table);
			c.setAutoCommit(false);
			fill(c);
			c.commit();
			c.setAutoCommit(true);
		} catch (SQLException | NamingException e) {
			throw new IllegalStateException(e);
		}
	}

	private void fill(Connection c) throws SQLException {
		insert(c, "category", CATEGORIES, i -> new Object[] {i, "Category " + i});
		insert(c, "product", PRODUCTS, i -> new Object[] {i, 1 + random.nextInt(CATEGORIES),
			word(WORDS) + " " + word(THINGS) + " " + i, text(30), 100 + random.nextInt(20000), random.nextInt(90)});
		insert(c, "customer", CUSTOMERS, i -> new Object[] {i, "Customer " + i});
		insert(c, "review", REVIEWS, i -> new Object[] {i, 1 + random.nextInt(PRODUCTS),
			1 + random.nextInt(CUSTOMERS), 1 + random.nextInt(5), text(15)});
	}

	private interface Row { Object[] at(int id); }

	private static void insert(Connection c, String table, int rows, Row row) throws SQLException {
		int columns = row.at(0).length;
		try (PreparedStatement s = c.prepareStatement(
				"insert into " + table + " values (?" + ", ?".repeat(columns - 1) + ")")) {
			for (int id = 1; id <= rows; id++) {
				Object[] values = row.at(id);
				for (int i = 0; i < columns; i++)
					s.setObject(i + 1, values[i]);
				s.addBatch();
			}
			s.executeBatch();
		}
	}

	private String word(String[] words) { return words[random.nextInt(words.length)]; }

	private String text(int words) {
		StringBuilder text = new StringBuilder(word(WORDS));
		for (int i = 1; i < words; i++)
			text.append(' ').append(word(WORDS));
		return text.toString();
	}
}
