#!/bin/sh
# Fuzzes the decoders of untrusted bytes, one after the other; Tests/Fuzzing/README.md says more.
#
#   fuzz.sh FUZZER WORK [DECODER…]
#
# Inputs that reach new code are added to the corpus. Inputs that break a decoder stay in WORK, and make the
# exit status 1. FUZZ_SECONDS is how long each decoder gets.
set -eu

fuzzer=$1
work=$2
shift 2
seconds=${FUZZ_SECONDS:-60}
corpus=$(dirname "$0")/Corpus

# Swift's own report of a crash would keep libFuzzer from storing the input.
export SWIFT_BACKTRACE=enable=no
# What SQLite keeps until the process ends is no leak; memory that is freed need not be kept for long.
export ASAN_OPTIONS="detect_leaks=0:quarantine_size_mb=8:malloc_context_size=2:${ASAN_OPTIONS:-}"

list=$("$fuzzer")
[ $# -gt 0 ] || set -- $(echo "$list" | cut -d ' ' -f 1)

status=0
for decoder; do
    bytes=$(echo "$list" | awk -v name="$decoder" '$1 == name { print $2 }')
    if [ -z "$bytes" ]; then
        echo "There is no decoder “$decoder”; there are:" "$(echo "$list" | cut -d ' ' -f 1 | tr '\n' ' ')" >&2
        exit 2
    fi
    export COFFER_FUZZ_DECODER="$decoder"
    place=$work/$decoder
    mkdir -p "$place/found" "$place/seeds" "$place/broken" "$corpus/$decoder"
    COFFER_FUZZ_SEEDS=$place/seeds "$fuzzer"
    echo "$decoder: $seconds seconds"
    "$fuzzer" -max_total_time="$seconds" -max_len="$bytes" -timeout=20 -rss_limit_mb=1024 -malloc_limit_mb=256 \
        -len_control=10 -print_final_stats=1 -artifact_prefix="$place/broken/" "$place/found" "$corpus/$decoder" "$place/seeds" \
        </dev/null >"$place/log" 2>&1 || status=1
    grep -E '^#[0-9]+	(INITED|DONE)' "$place/log" || true
    # By the code that is reached, not by how often, so that the corpus stays small.
    "$fuzzer" -merge=1 -use_counters=0 -timeout=20 "$corpus/$decoder" "$place/found" "$place/seeds" \
        </dev/null >"$place/merge-log" 2>&1 || true
    broken=$(find "$place/broken" -type f)
    if [ -n "$broken" ]; then
        status=1
        grep -E 'broken:|Fatal error|SUMMARY' "$place/log" || true
        echo "$broken"
    fi
done
exit $status
