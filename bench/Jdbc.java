// SPDX-License-Identifier: Apache-2.0
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;

/** HSQLDB in memory: two threads that join, group, look up, insert and delete for SECONDS. */
public class Jdbc {
	static final String URL = "jdbc:hsqldb:mem:bench";
	static final int ROWS = 5000;

	static void fill(Connection db) throws SQLException {
		try (Statement s = db.createStatement()) {
			s.execute("CREATE TABLE item (id INT PRIMARY KEY, name VARCHAR(40), price INT)");
			s.execute("CREATE TABLE sale (id INT PRIMARY KEY, item INT, day INT, amount INT)");
			s.execute("CREATE INDEX sale_item ON sale (item)");
			for (int i = 0; i < ROWS; i++) {
				s.execute("INSERT INTO item VALUES (" + i + ", 'item " + i * 31 % ROWS + "', " + i % 97 + ")");
				s.execute("INSERT INTO sale VALUES (" + i + ", " + i * 7 % ROWS + ", " + i % 30 + ", 1)");
			}
		}
	}

	static void query(Connection db, String sql, int parameter) throws SQLException {
		try (PreparedStatement s = db.prepareStatement(sql)) {
			s.setInt(1, parameter);
			try (ResultSet r = s.executeQuery()) {
				while (r.next())
					r.getString(1);
			}
		}
	}

	static void work(int thread, long end) {
		try (Connection db = DriverManager.getConnection(URL, "SA", "")) {
			for (int n = 0; System.nanoTime() < end; n++) {
				query(db, "SELECT day, SUM(amount * price) FROM sale JOIN item ON sale.item = item.id"
						+ " WHERE price > ? GROUP BY day ORDER BY 2 DESC", n % 97);
				query(db, "SELECT name FROM item WHERE UPPER(name) LIKE '%9%' AND id < ? ORDER BY name", n % ROWS);
				try (Statement s = db.createStatement()) {
					int id = ROWS * (thread + 1) + n % ROWS;

					s.execute("DELETE FROM sale WHERE id = " + id);
					s.execute("INSERT INTO sale VALUES (" + id + ", " + n % ROWS + ", 3, 2)");
				}
			}
		} catch (SQLException e) {
			throw new IllegalStateException(e);
		}
	}

	public static void main(String[] args) throws Exception {
		long end = System.nanoTime() + 1_000_000_000L * Long.parseLong(args[0]);
		Connection keep = DriverManager.getConnection(URL, "SA", "");

		fill(keep);
		keep.createStatement().execute("SET DATABASE TRANSACTION CONTROL MVCC");
		for (int t = 0; t < 2; t++) {
			int thread = t;

			new Thread(() -> work(thread, end), "client-" + t).start();
		}
	}
}
