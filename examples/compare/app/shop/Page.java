// SPDX-License-Identifier: Apache-2.0
package shop;

import jakarta.servlet.ServletException;
import jakarta.servlet.http.HttpServlet;
import jakarta.servlet.http.HttpServletRequest;
import jakarta.servlet.http.HttpServletResponse;
import java.io.IOException;
import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.List;
import javax.naming.NamingException;
import javax.sql.DataSource;

/** A page: takes a connection of the pool, queries, and has a JSP page render the rows. */
public abstract class Page extends HttpServlet {
	private final String jsp;
	private DataSource source;

	Page(String jsp) { this.jsp = jsp; }

	/** Sets the attributes of the request that the JSP page renders. */
	abstract void query(Connection c, HttpServletRequest request) throws SQLException;

	@Override
	public void init() throws ServletException {
		try {
			source = Data.source();
		} catch (NamingException e) {
			throw new ServletException(e);
		}
	}

	@Override
	protected void doGet(HttpServletRequest request, HttpServletResponse response) throws ServletException, IOException {
		try (Connection c = source.getConnection()) {
			query(c, request);
		} catch (SQLException e) {
			throw new ServletException(e);
		}
		request.getRequestDispatcher("/WEB-INF/pages/" + jsp).forward(request, response);
	}

	static int number(HttpServletRequest request, String name) {
		String value = request.getParameter(name);
		return value == null || !value.matches("[0-9]{1,9}") ? 1 : Integer.parseInt(value);
	}

	/** The rows of a query; numbers are longs, whatever the database makes of them. */
	static List<Object[]> rows(Connection c, String sql, Object... parameters) throws SQLException {
		List<Object[]> rows = new ArrayList<>();
		try (PreparedStatement s = c.prepareStatement(sql)) {
			for (int i = 0; i < parameters.length; i++)
				s.setObject(i + 1, parameters[i]);
			ResultSet result = s.executeQuery();
			int columns = result.getMetaData().getColumnCount();
			while (result.next()) {
				Object[] row = new Object[columns];
				for (int i = 0; i < columns; i++) {
					Object value = result.getObject(i + 1);
					row[i] = value instanceof Number n ? (Object) n.longValue() : value;
				}
				rows.add(row);
			}
		}
		return rows;
	}

	static void update(Connection c, String sql, Object... parameters) throws SQLException {
		try (PreparedStatement s = c.prepareStatement(sql)) {
			for (int i = 0; i < parameters.length; i++)
				s.setObject(i + 1, parameters[i]);
			s.executeUpdate();
		}
	}

	/** For the JSP pages: text as HTML. */
	public static String html(Object text) {
		return String.valueOf(text).replace("&", "&amp;").replace("<", "&lt;").replace("\"", "&quot;");
	}

	public static String money(Object cents) {
		long n = (Long) cents;
		return n / 100 + "." + n / 10 % 10 + n % 10;
	}

	/** Stars, to a tenth, of their sum and number. */
	public static String stars(Object sum, Object count) {
		if (sum == null || (Long) count == 0)
			return "no";
		long tenths = (Long) sum * 10 / (Long) count;
		return tenths / 10 + "." + tenths % 10;
	}
}
