#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Runs fuzz targets one after the other and prints a table: sh tests/fuzz/run.sh [SECONDS] [TARGET...]
# Without SECONDS each runs for ten minutes, and fuzz_unwind for an hour. What they find is kept in
# $BUILD/corpus/<name>, where the next run goes on; inputs that crash are in $BUILD/crashes.
# Coverage is of the lines of the sources named below, by all inputs known afterwards.
set -eu
cd "$(dirname "$0")/../.."
BUILD=${BUILD:-build-fuzz}
seconds=${1:-}
[ $# -eq 0 ] || shift
[ $# -gt 0 ] || set -- $(basename -s .c tests/fuzz/fuzz_*.c)

# The sources that a target is for.
sources() {
	case $1 in
	answer) echo host/record/agent_share.c ;;
	attach_reply) echo injector/wire.c ;;
	cfi) echo host/unwind/cfi.c host/unwind/cfi_rule.c host/elf/elf_tables.c ;;
	cgroup) echo host/discover/cgroup.c ;;
	conf) echo oci/conf.c ;;
	config) echo oci/config.c oci/spec.c oci/jsontext.c ;;
	debugfile) echo host/record/debug_files.c host/elf/elfparts.c ;;
	elfsym) echo host/symbols/elfsym.c host/elf/elfparts.c host/elf/elf_tables.c host/elf/names.c ;;
	feed | tree) echo host/top/window.c ;;
	folded) echo host/format/folded.c ;;
	hotspot) echo hotspot/tables.c hotspot/code_heap.c hotspot/metadata.c ;;
	image) echo hotspot/elf.c ;;
	jfr) echo host/jfr/*.c ;;
	jvm) echo host/discover/jvm.c host/discover/mapped_files.c ;;
	javasym) echo host/jit/perf_map.c ;;
	jsontext) echo oci/jsontext.c oci/spec.c ;;
	kallsyms) echo host/symbols/kernel.c ;;
	merge | pprof) echo host/format/pprof_read.c host/format/pprof_tables.c host/format/gzip.c ;;
	names) echo host/discover/engine_facts.c ;;
	perfdata) echo host/perf/perfdata.c host/perf/perfrecord.c host/perf/address_space.c host/profile/*.c ;;
	proc) echo common/proc.c ;;
	reply) echo host/record/memory_reader.c host/report/compare.c ;;
	request) echo agent-jni/request.c agent-jni/text.c ;;
	session) echo host/session/session_json.c ;;
	snapfile) echo host/jit/code_*.c host/jit/interval_tree.c ;;
	snapshot) echo hotspot/*.c ;;
	split) echo host/perf/split.c host/perf/perfdata.c ;;
	state) echo oci/state.c ;;
	toml) echo host/setup/toml.c ;;
	unwind) echo host/unwind/*.c host/jit/code_*.c host/profile/resolve.c host/symbols/symbolize.c ;;
	esac
}

# A value of libFuzzer's statistics, summed over the runs of a log.
stat() {
	awk -v key="stat::$2:" '$1 == key { n += $2 } END { print n + 0 }' "$1"
}

# Runs until the time is over, again after each crash. Prints processor seconds and crashes.
run() {
	name=$1 time=$2 log=$3 end=$(($(date +%s) + $2)) crashes=0
	while [ "$(date +%s)" -lt "$end" ]; do
		LLVM_PROFILE_FILE=/dev/null "$BUILD/fuzz/fuzz_$name" -max_total_time=$((end - $(date +%s))) \
		    -timeout=10 -rss_limit_mb=2048 -print_final_stats=1 -artifact_prefix="$BUILD/crashes/$name-" \
		    $dictionary "$BUILD/corpus/$name" "tests/fuzz/corpus/$name" >>"$log" 2>&1 || crashes=$((crashes + 1))
	done
	# Of the children: "0m1.50s 0m0.20s" in the second line. Not in a pipe, whose shell has none.
	times >"$BUILD/times"
	awk -v c="$crashes" 'NR == 2 { split($1 $2, t, /[ms]/)
	    printf "%.0f %d\n", t[1] * 60 + t[2] + t[3] * 60 + t[4], c }' "$BUILD/times"
}

# The lines that all inputs reach, in percent.
coverage() {
	name=$1
	LLVM_PROFILE_FILE=$BUILD/run.profraw "$BUILD/fuzz/fuzz_$name" -runs=0 -timeout=60 "$BUILD/corpus/$name" \
	    "tests/fuzz/corpus/$name" >/dev/null 2>&1 || true
	"$profdata" merge -o "$BUILD/run.profdata" "$BUILD/run.profraw"
	"$cov" report "$BUILD/fuzz/fuzz_$name" -instr-profile="$BUILD/run.profdata" -compilation-dir="$PWD" \
	    $(sources "$name") | awk '$1 == "TOTAL" { print $10 }'
	rm -f "$BUILD"/run.prof* "$BUILD/times"
}

cov=$(command -v llvm-cov || command -v llvm-cov-14 || true)
profdata=$(command -v llvm-profdata || command -v llvm-profdata-14 || true)
[ "$cov" ] || { echo "llvm-cov is needed (Debian: llvm)" >&2; exit 1; }
${MAKE:-make} -s fuzz-build BUILD="$BUILD" F="$*"
mkdir -p "$BUILD/crashes"
echo "| target | seconds | of a processor | executions | a processor's second | new inputs | crashes | lines |"
echo "|---|---|---|---|---|---|---|---|"
for target; do
	name=${target#fuzz_}
	time=${seconds:-600}
	[ "$name" != unwind ] || time=${seconds:-3600}
	log=$BUILD/$name.log dictionary=
	case $name in
	config | jsontext | names | session | state) dictionary=-dict=tests/fuzz/json.dict ;;
	esac
	mkdir -p "$BUILD/corpus/$name"
	: >"$log"
	result=$(run "$name" "$time" "$log")
	cpu=${result% *}
	count=$(stat "$log" number_of_executed_units)
	echo "| $name | $time | $cpu | $count | $((count / (cpu + !cpu))) | $(stat "$log" new_units_added) |" \
	    "${result#* } | $(coverage "$name") |"
done
