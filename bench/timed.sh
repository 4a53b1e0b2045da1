# SPDX-License-Identifier: Apache-2.0
# Times of commands. Source it.
#
#   timed FILE COMMAND…    appends the microseconds it took to FILE; one that fails is added to $FAILURES
#   percentiles FILE       of microseconds, in milliseconds: p50 p99 max
timed() {
	local file=$1 from to
	shift
	from=$(date +%s%N)
	"$@" >/dev/null 2>"$FAILURES.why" </dev/null || echo "$*: $(tail -n 1 "$FAILURES.why")" >>"$FAILURES"
	to=$(date +%s%N)
	echo $(((to - from) / 1000)) >>"$file"
}

percentiles() {
	sort -n "$1" | awk '{a[NR] = $1 / 1000} END {
		printf "%8.2f %8.2f %8.2f", a[int((NR + 1) / 2)], a[int((NR * 99 + 99) / 100)], a[NR]}'
}
