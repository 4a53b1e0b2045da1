# SPDX-License-Identifier: Apache-2.0
# awk -v requests=N -f mix.awk: the requests of the load, "METHOD,PATH" a line, the same in each run:
# 40 % a product, 30 % a category, 20 % a search, 10 % into the cart.
function below(n) { seed = (seed * 16807) % 2147483647; return seed % n }
BEGIN {
	seed = 20261126
	words = split("oak steel blue light garden paper winter copper lamp chair table kettle clock", word, " ")
	for (i = 0; i < requests; i++) {
		kind = below(10)
		if (kind < 4)
			print "GET,/detail?product=" 1 + below(2000)
		else if (kind < 7)
			print "GET,/list?category=" 1 + below(20) "&page=" 1 + below(5)
		else if (kind < 9)
			print "GET,/search?word=" word[1 + below(words)]
		else
			print "POST,/cart?cart=" 1 + below(200) "&product=" 1 + below(2000)
	}
}
