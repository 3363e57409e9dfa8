# shellcheck shell=bash
# What the scripts that show Coffer share: they tell what they do, check every step, and clean up. Sourced with the path
# of the coffer binary, or none, as its argument; sets here, coffer, began, failures, bold and plain.
set -uo pipefail
export LC_ALL=C

here=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
# shellcheck disable=SC2034 # for the script that sources this one
coffer=$(realpath -- "${1:-$here/.build/release/coffer}")
PATH=$PATH:/usr/sbin:/sbin

# The directory of the story, once there is one.
work=

# MARK: Telling

# shellcheck disable=SC2034 # for the script that sources this one
bold='' plain='' failures=0 began=$EPOCHREALTIME
if [ -t 1 ]; then bold=$'\e[1m' plain=$'\e[0m'; fi

heading() { printf '\n%s%s%s\n' "$bold" "$1" "$plain"; }
tell() { printf '    %s\n' "$*"; }
pass() { printf '  + %s\n' "$*"; }
fail() { printf '  ! FAILED: %s\n' "$*"; failures=$((failures + 1)); }
stop() { fail "$*"; exit 1; }

# Seconds since a moment of EPOCHREALTIME.
since() { awk -v from="$1" -v to="$EPOCHREALTIME" 'BEGIN { printf "%.2f", to - from }'; }

# holds TEXT COMMAND…: runs it and tells whether it succeeded; ends the story if not.
holds() {
    local text=$1 from=$EPOCHREALTIME code
    shift
    "$@" >"$work/output" 2>&1
    code=$?
    [ $code = 0 ] || { head -20 "$work/output"; stop "$text: “$*” ended with code $code"; }
    pass "$text ($(since "$from") s)"
}

# MARK: Places

require_coffer() {
    [ -x "$coffer" ] || stop "there is no coffer binary at $coffer; “make build” makes it"
    [ -e /dev/fuse ] || stop "/dev/fuse is missing: nothing can be mounted here"
    [ -r /dev/fuse ] && [ -w /dev/fuse ] ||
        stop "$(id -un) may not use /dev/fuse, which everybody may on Debian (mode 0666)"
}

# make_work NAME: makes the directory of the story.
make_work() {
    work=$(mktemp -d "${TMPDIR:-/tmp}/coffer-$1.XXXXXXXX") || stop "no temporary directory"
    work=$(realpath -- "$work")
}

# Makes a bare mount point removable.
unprotect() {
    [ "$(id -u)" -ne 0 ] || chattr -i -- "$1" 2>/dev/null
    chmod u+rwx -- "$1" 2>/dev/null
}

# Unmounts and removes all that the story made, by the function end_mounts of the script.
clean_up() {
    local code=$?
    trap - EXIT INT TERM HUP
    if [ -n "$work" ]; then
        cd /
        end_mounts
        rm -rf -- "$work" || { echo "Left behind: $work" >&2; code=1; }
    fi
    exit "$code"
}
trap clean_up EXIT
trap 'exit 130' INT
trap 'exit 143' TERM HUP
