#!/usr/bin/env bash
# Runs the simulated power cuts, or the stories over unsteady remotes, with seeds that were never tried, until HOURS are
# over, or once with SEEDS=FROM-TO. Prints the seeds of a run that failed; COFFER_SEEDS=FROM-TO swift test --filter …
# repeats it.
#
#   HOURS=… | SEEDS=1000-1999 Tests/power-cuts.sh [build directory [unsteady]]
set -uo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.." || exit 1
build=${1:-.build}
what=${2:-power cuts}
if [ "$what" = unsteady ]; then count=20; else count=200; fi
runs=0
end=$(awk -v hours="${HOURS:-0}" -v now="$EPOCHSECONDS" 'BEGIN { printf "%d", now + hours * 3600 }')
log=$(mktemp) || exit 1
trap 'rm -f -- "$log"' EXIT

while :; do
    if [ -n "${SEEDS:-}" ]; then
        seeds=$SEEDS
    else
        from=$(($(od -An -N5 -tu8 /dev/urandom)))
        seeds=$from-$((from + count - 1))
    fi
    if [ "$what" = unsteady ]; then
        if ! COFFER_SEEDS=$seeds swift test --scratch-path "$build" --skip-build \
            --filter 'UnsteadyStoryTests' >"$log" 2>&1; then
            grep -aE '✘|rror' "$log" | head -n 50
            echo "FAILED: seeds $seeds"
            exit 1
        fi
    # TidyingFaultTests take most of the time for one seed; each run tries one of them.
    elif ! COFFER_SEEDS=$seeds swift test --scratch-path "$build" --skip-build \
        --filter 'VaultCrashTests|IndexCrashTests' >"$log" 2>&1 ||
        ! COFFER_SEEDS=${seeds%-*}-${seeds%-*} swift test --scratch-path "$build" --skip-build \
            --filter 'TidyingFaultTests/thePower' >>"$log" 2>&1; then
        grep -aE '✘|rror' "$log" | head -n 50
        echo "FAILED: seeds $seeds"
        exit 1
    fi
    runs=$((runs + 1))
    echo "passed: seeds $seeds"
    if [ -n "${SEEDS:-}" ] || [ "$EPOCHSECONDS" -ge "$end" ]; then break; fi
done
echo "PASSED: $what, $runs runs"
