# PostgreSQL with an empty database "shop", as Debian configures it.
FROM dfg-compare-debian:bookworm
RUN apt-get update -q && DEBIAN_FRONTEND=noninteractive apt-get install -y -q --no-install-recommends \
	postgresql && apt-get clean
USER postgres
ENV PATH=/usr/lib/postgresql/15/bin:/usr/bin:/bin
RUN initdb -D /var/lib/postgresql/shop --locale C --encoding UTF8 --auth trust && \
	echo 'create database shop' | postgres --single -D /var/lib/postgresql/shop postgres
CMD ["postgres", "-D", "/var/lib/postgresql/shop", "-k", "/tmp", "-h", "127.0.0.1"]
