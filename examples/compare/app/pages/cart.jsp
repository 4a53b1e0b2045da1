<%@ page contentType="text/html;charset=UTF-8" import="java.util.List,shop.Page" session="false" %>
<!DOCTYPE html>
<title>Cart</title>
<h1>Cart</h1>
<table>
<% for (Object[] l : (List<Object[]>) request.getAttribute("lines")) { %>
<tr><td><a href="detail?product=<%= l[0] %>"><%= Page.html(l[1]) %></a><td><%= l[3] %><td><%= Page.money(l[2]) %>
<% } %>
</table>
<p>Sum: <%= Page.money(request.getAttribute("sum")) %>
