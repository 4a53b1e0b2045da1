// SPDX-License-Identifier: Apache-2.0
package shop;

import jakarta.servlet.annotation.WebServlet;
import jakarta.servlet.http.HttpServletRequest;
import java.sql.Connection;
import java.sql.SQLException;

/** The products with a word in their title or description: a scan, which no index helps. */
@WebServlet("/search")
public class SearchPage extends Page {
	public SearchPage() { super("list.jsp"); }

	@Override
	void query(Connection c, HttpServletRequest request) throws SQLException {
		String word = String.valueOf(request.getParameter("word"));
		String like = "%" + word.toLowerCase() + "%";
		request.setAttribute("title", "Products with \"" + word + "\"");
		request.setAttribute("products", rows(c, "select f.id, f.title, f.price, count(r.id), sum(r.stars) from"
			+ " (select id, title, price from product where lower(title) like ? or description like ?"
			+ " order by price, id limit 20) f left join review r on r.product = f.id"
			+ " group by f.id, f.title, f.price order by f.price, f.id", like, like));
	}
}
