# Tomcat and the shop, with both drivers: what differs is said at the start (run.sh, configuration).
ARG SUITE
FROM dfg-compare-debian:${SUITE}
ARG JDK
RUN apt-get update -q && DEBIAN_FRONTEND=noninteractive apt-get install -y -q --no-install-recommends \
	openjdk-${JDK}-jdk-headless tomcat10 libhsqldb-java libpostgresql-jdbc-java && apt-get clean
RUN ln -s /usr/share/java/hsqldb.jar /usr/share/java/postgresql.jar /usr/share/tomcat10/lib/
COPY app /shop
RUN cd /var/lib/tomcat10/webapps && rm -rf ROOT && mkdir -p ROOT/META-INF ROOT/WEB-INF/classes && \
	cp /shop/context.xml ROOT/META-INF/ && cp -r /shop/pages ROOT/WEB-INF/ && \
	javac -encoding UTF-8 -cp '/usr/share/tomcat10/lib/*' -d ROOT/WEB-INF/classes /shop/shop/*.java
ENV CATALINA_BASE=/var/lib/tomcat10 CATALINA_TMPDIR=/tmp
USER tomcat
CMD ["/usr/share/tomcat10/bin/catalina.sh", "run"]
