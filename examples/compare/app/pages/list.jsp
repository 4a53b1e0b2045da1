<%@ page contentType="text/html;charset=UTF-8" import="java.util.List,shop.Page" session="false" %>
<!DOCTYPE html>
<title><%= Page.html(request.getAttribute("title")) %></title>
<h1><%= Page.html(request.getAttribute("title")) %></h1>
<table>
<% for (Object[] p : (List<Object[]>) request.getAttribute("products")) { %>
<tr><td><a href="detail?product=<%= p[0] %>"><%= Page.html(p[1]) %></a>
<td><%= Page.money(p[2]) %><td><%= Page.stars(p[4], p[3]) %> of <%= p[3] %> reviews
<% } %>
</table>
