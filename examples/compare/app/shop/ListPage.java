// SPDX-License-Identifier: Apache-2.0
package shop;

import jakarta.servlet.annotation.WebServlet;
import jakarta.servlet.http.HttpServletRequest;
import java.sql.Connection;
import java.sql.SQLException;

/** The products of a category, the cheapest first, with their reviews counted. */
@WebServlet("/list")
public class ListPage extends Page {
	public ListPage() { super("list.jsp"); }

	@Override
	void query(Connection c, HttpServletRequest request) throws SQLException {
		int category = number(request, "category"), page = number(request, "page");
		request.setAttribute("title", "Category " + category + ", page " + page);
		request.setAttribute("products", rows(c, "select p.id, p.title, p.price, count(r.id), sum(r.stars)"
			+ " from product p left join review r on r.product = p.id where p.category = ?"
			+ " group by p.id, p.title, p.price order by p.price, p.id limit 20 offset ?", category, 20 * (page - 1)));
	}
}
