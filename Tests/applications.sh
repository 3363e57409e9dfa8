#!/usr/bin/env bash
# Runs real programs in a real mount, remounts, also after a crash, and compares. One line for each check; the exit
# code says whether all held. As root it installs what it needs (Debian); otherwise it skips missing programs.
#
#   Tests/applications.sh [--quick] [path of the coffer binary]
#
# --quick leaves out the databases that need large packages, and uses installed programs only. CHECKS names the
# functions to call instead of all, as in CHECKS="check_git check_sqlite".
set -uo pipefail
export LC_ALL=C GIT_CONFIG_NOSYSTEM=1

here=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
quick=''
if [ "${1:-}" = --quick ]; then quick=yes && shift; fi
coffer=$(realpath -- "${1:-$here/.build/release/coffer}")
PATH=$PATH:/usr/sbin:/sbin
began=$SECONDS failures=0 left_out=0

# MARK: Telling

passed() { printf 'passed: %s\n' "$*"; }
failed() { printf 'FAILED: %s\n' "$*"; failures=$((failures + 1)); }
leave_out() { printf 'left out: %s\n' "$*"; left_out=$((left_out + 1)); }
stop() { failed "$*"; exit 1; }

# hold TEXT COMMAND…: the command has to succeed; its output is shown if it does not.
hold() {
    local text=$1
    shift
    if "$@" >"$work/output" 2>&1; then passed "$text"; else failed "$text"; tail -n 20 "$work/output"; fi
}

# Whether a program is there; as root, and if not in a hurry, it is installed from its package.
have() {
    local program=$1 package=$2
    if [ -x "$program" ] || command -v "$program" >/dev/null; then return 0; fi
    [ -z "$quick" ] && [ "$(id -u)" -eq 0 ] && command -v apt-get >/dev/null || return 1
    echo "installing $package"
    [ -n "${updated:-}" ] || apt-get update -qq </dev/null
    updated=yes
    DEBIAN_FRONTEND=noninteractive apt-get install -qq -y --no-install-recommends "$package" </dev/null >"$work/apt" 2>&1
    [ -x "$program" ] || command -v "$program" >/dev/null
}

# MARK: The mount

work='' server=''

mount_vault() {
    local options=rw
    [ "$(id -u)" -ne 0 ] || options=allow_other
    "$coffer" mount -o "$options" "$work/mount" >"$work/output" 2>&1 || { cat "$work/output"; stop "mounting"; }
    server=$(head -n 1 "$COFFER_HOME/lock")
}

mount_anew() {
    sync -f "$vault"
    "$coffer" unmount "$work/mount" >"$work/output" 2>&1 || { cat "$work/output"; stop "unmounting"; }
    mount_vault
}

# Kills the process that serves the mount, ends its users by a command, and mounts again.
crash_and_mount() {
    kill -KILL "$server"
    while kill -0 "$server" 2>/dev/null; do sleep 0.01; done
    "$@"
    mount_vault
}

# Waits until a file has $2 lines.
wait_for_lines() {
    for _ in {1..600}; do
        [ "$(wc -l <"$1")" -ge "$2" ] && return
        sleep 0.05
    done
    tail -n 20 "$work/output"
    stop "$1 never got $2 lines: $(tail -n 3 "$1")"
}

now() { "$@"; }

end_process() {
    kill -KILL "$1" 2>/dev/null
    wait "$1" 2>/dev/null
    true
}

clean_up() {
    local code=$?
    trap - EXIT INT TERM HUP
    cd /
    ! declare -F kill_postgres >/dev/null || kill_postgres
    if [ -n "$work" ]; then
        "$coffer" unmount "$work/mount" >/dev/null 2>&1 || umount -l -- "$work/mount" 2>/dev/null ||
            fusermount3 -uz -- "$work/mount" 2>/dev/null
        [ "$(id -u)" -ne 0 ] || chattr -i -- "$work/mount" 2>/dev/null
        chmod u+rwx -- "$work/mount" 2>/dev/null
        rm -rf -- "$work"
    fi
    exit "$code"
}

# MARK: The run

[ -x "$coffer" ] || { echo "there is no $coffer; 'make build' builds it" >&2; exit 1; }
[ -e /dev/fuse ] || { echo "/dev/fuse is missing: nothing can be mounted here" >&2; exit 1; }
work=$(realpath -- "$(mktemp -d "${TMPDIR:-/var/tmp}/coffer-applications.XXXXXXXX")") || exit 1
trap clean_up EXIT
trap 'exit 130' INT
trap 'exit 143' TERM HUP
chmod 755 "$work"
export HOME=$work XDG_RUNTIME_DIR=$work COFFER_HOME=$work/profile COFFER_PASSPHRASE_FILE=$work/passphrase
vault=$work/mount/Personal
echo 'correct horse' >"$COFFER_PASSPHRASE_FILE"
mkdir "$work/mount"
"$coffer" init --strength interactive >"$work/output" 2>&1 || { cat "$work/output"; stop "coffer init"; }
mount_vault

# shellcheck source=Tests/applications/files.sh
. "$here/Tests/applications/files.sh"
# shellcheck source=Tests/applications/sources.sh
. "$here/Tests/applications/sources.sh"
# shellcheck source=Tests/applications/databases.sh
. "$here/Tests/applications/databases.sh"

make_sample_tree "$work/sample"
checks=(check_rsync check_tar check_sparse_copy check_editors check_archives check_lock_files check_locks
    check_git check_build check_sqlite)
[ -n "$quick" ] || checks+=(check_mapping check_source_package check_leveldb check_postgres)
[ -z "${CHECKS:-}" ] || read -ra checks <<<"$CHECKS"
for check in "${checks[@]}"; do "$check"; done

hold "coffer check finds no damage" "$coffer" check
"$coffer" status --json | tr -d ' \n' >"$work/status"
hold "the mount met no problem" grep -F '"problems":[]' "$work/status"
[ "$left_out" = 0 ] || echo "$left_out left out"
if [ "$failures" -gt 0 ]; then echo "$failures failed ($((SECONDS - began)) s)" && exit 1; fi
echo "all passed ($((SECONDS - began)) s)"
