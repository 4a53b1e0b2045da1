// SPDX-License-Identifier: Apache-2.0
package shop;

import jakarta.servlet.ServletException;
import jakarta.servlet.annotation.WebServlet;
import jakarta.servlet.http.HttpServletRequest;
import jakarta.servlet.http.HttpServletResponse;
import java.io.IOException;
import java.sql.Connection;
import java.sql.SQLException;
import java.util.List;

/** A cart. POST puts a product into it; one with 20 lines is emptied first, so that tables do not grow. */
@WebServlet("/cart")
public class CartPage extends Page {
	public CartPage() { super("cart.jsp"); }

	@Override
	protected void doPost(HttpServletRequest request, HttpServletResponse response) throws ServletException, IOException {
		doGet(request, response);
	}

	@Override
	void query(Connection c, HttpServletRequest request) throws SQLException {
		int cart = number(request, "cart");
		if (request.getMethod().equals("POST"))
			add(c, cart, number(request, "product"));
		List<Object[]> lines = rows(c, "select p.id, p.title, p.price, sum(l.quantity) from line l"
			+ " join product p on p.id = l.product where l.cart = ? group by p.id, p.title, p.price order by p.id", cart);
		request.setAttribute("lines", lines);
		request.setAttribute("sum", lines.stream().mapToLong(l -> (Long) l[2] * (Long) l[3]).sum());
	}

	private static void add(Connection c, int cart, int product) throws SQLException {
		c.setAutoCommit(false);
		if ((Long) rows(c, "select count(*) from line where cart = ?", cart).get(0)[0] >= 20)
			update(c, "delete from line where cart = ?", cart);
		update(c, "insert into line values (?, ?, 1)", cart, product);
		c.commit();
		c.setAutoCommit(true);
	}
}
