<%@ page contentType="text/html;charset=UTF-8" import="java.util.List,shop.Page" session="false" %>
<!DOCTYPE html>
<% for (Object[] p : (List<Object[]>) request.getAttribute("product")) { %>
<title><%= Page.html(p[0]) %></title>
<h1><%= Page.html(p[0]) %></h1>
<p><%= Page.html(p[4]) %>, <%= Page.money(p[2]) %>, <%= p[3] %> in stock
<p><%= Page.html(p[1]) %>
<% } %>
<h2>Reviews</h2>
<% for (Object[] r : (List<Object[]>) request.getAttribute("reviews")) { %>
<p><b><%= Page.html(r[0]) %></b>, <%= r[1] %> stars: <%= Page.html(r[2]) %>
<% } %>
<h2>Their reviewers also bought</h2>
<ul>
<% for (Object[] o : (List<Object[]>) request.getAttribute("others")) { %>
<li><a href="detail?product=<%= o[0] %>"><%= Page.html(o[1]) %></a>, <%= o[2] %> times
<% } %>
</ul>
