#!/usr/bin/env bash
# Builds with the thread sanitizer, in a directory of its own, and runs the tests in which several threads use one
# vault, then a mount of the same build with several users at once. Any race that is reported fails.
#
#   Tests/thread-sanitizer.sh [build directory]
set -uo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.." || exit 1
build=${1:-.build-tsan}
# CacheLimitTests are not among them: of a lock without a state the sanitizer takes the state for the object itself.
suites='ConcurrencyTests|SharedMemory|LookupTable|NodeTests|SyncTests|CompactionTests|Control|WorkersTests|PackWriterTests|StreamTests|StreamFaultTests|FolderTests|WatchTests|LiveMountTests|ConcurrentExchange|ContentFetch|ContentSending|TrackingTests|ScatteredReadTests|AbsentPageTests'
log=$(mktemp) reports=$(mktemp -d) || exit 1
trap 'rm -rf -- "$log" "$reports"' EXIT
export TSAN_OPTIONS="log_path=$reports/race exitcode=66 history_size=4"

swift build --build-tests --sanitize=thread --scratch-path "$build" || exit
swift test --skip-build --sanitize=thread --scratch-path "$build" --filter "$suites" 2>&1 | tee "$log" | grep -aE '✘|Test run'
code=${PIPESTATUS[0]}
if [ "${COFFER_SKIP_MOUNT:-}" != 1 ]; then
    # The processes behind the mounts write their reports too.
    swift test --skip-build --sanitize=thread --scratch-path "$build" \
        --filter 'MountTests.*(usersWorkInParallel|readersDuringChanges|durableDataSurvivesCrashes|ControlSocketTests|StreamTests)' 2>&1 |
        tee -a "$log" | grep -aE '✘|Test run'
    code=$((code + PIPESTATUS[0]))
fi
if [ -n "$(ls "$reports")" ]; then
    cat "$reports"/race* | head -n 200
    echo "FAILED: $(grep -ac 'WARNING: ThreadSanitizer' "$reports"/race* | awk -F: '{ sum += $NF } END { print sum }') races"
    exit 1
fi
# A run in which no test ran did not pass.
if [ "$code" != 0 ] || ! grep -aqE 'Test run with [1-9][0-9]* tests?' "$log"; then echo "FAILED" && exit 1; fi
echo "PASSED: no race was seen"
