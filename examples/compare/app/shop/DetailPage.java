// SPDX-License-Identifier: Apache-2.0
package shop;

import jakarta.servlet.annotation.WebServlet;
import jakarta.servlet.http.HttpServletRequest;
import java.sql.Connection;
import java.sql.SQLException;

/** A product, its reviews, and what else its reviewers reviewed. */
@WebServlet("/detail")
public class DetailPage extends Page {
	public DetailPage() { super("detail.jsp"); }

	@Override
	void query(Connection c, HttpServletRequest request) throws SQLException {
		int product = number(request, "product");
		request.setAttribute("product", rows(c, "select p.title, p.description, p.price, p.stock, c.title"
			+ " from product p join category c on c.id = p.category where p.id = ?", product));
		request.setAttribute("reviews", rows(c, "select u.name, r.stars, r.body from review r"
			+ " join customer u on u.id = r.customer where r.product = ? order by r.id limit 10", product));
		request.setAttribute("others", rows(c, "select p.id, p.title, count(*) from review a"
			+ " join review b on b.customer = a.customer and b.product <> a.product"
			+ " join product p on p.id = b.product where a.product = ?"
			+ " group by p.id, p.title order by count(*) desc, p.id limit 5", product));
	}
}
