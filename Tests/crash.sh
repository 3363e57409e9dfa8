#!/usr/bin/env bash
# Kills the process that serves a mount with SIGKILL, repeatedly, and checks the result: writers keep manifests,
# outside of the mount, of everything that is durable. After each crash a fresh mount must have all of that and
# have met no problem, and “coffer check” must find no damage. The store of a round that failed is kept.
#
#   [ROUNDS=20] [HOURS=…] [SEED=…] Tests/crash.sh [path of coffer [path of filesystem-workload]]
#
# With HOURS, rounds go on until they are over. The same SEED makes the same choices; the moments differ.
set -uo pipefail
export LC_ALL=C

here=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
coffer=$(realpath -- "${1:-$here/.build/release/coffer}")
workload=$(realpath -- "${2:-$(dirname "$coffer")/filesystem-workload}")
hours=${HOURS:-}
rounds=${ROUNDS:-20}
[ -z "$hours" ] || rounds=1000000000
end=$(awk -v hours="${hours:-0}" -v now="$EPOCHSECONDS" 'BEGIN { printf "%d", now + hours * 3600 }')
# bash makes 15 bits of it.
seed=${SEED:-$(($(od -An -N2 -tu2 /dev/urandom) % 32768))}
RANDOM=$seed
rounds_per_store=8 rounds_kept=3
moments=(anytime anytime commit log compaction mount mount unmount)
loads=(mixed small large rewriting)

# MARK: One store after the other

work='' server='' writers=() noise='' manifests=() failed=''

stop() {
    printf 'FAILED in round %s of seed %s: %s\n' "$round" "$seed" "$*"
    failed=yes
    exit 1
}

clean_up() {
    local code=$?
    trap - EXIT INT TERM HUP
    end_writers
    if [ -n "$work" ]; then
        [ -z "$server" ] || kill -KILL "$server" 2>/dev/null
        umount -l -- "$work/mount" 2>/dev/null || fusermount3 -uz -- "$work/mount" 2>/dev/null
        [ "$(id -u)" -ne 0 ] || chattr -i -- "$work/mount" 2>/dev/null
        chmod u+rwx -- "$work/mount" 2>/dev/null
        if [ -n "$failed" ]; then
            echo "Kept: $work (profile: as it is now; crashed: as the crash left it; manifest-*; the passphrase)"
        else
            rm -rf -- "$work"
        fi
    fi
    exit "$code"
}
trap clean_up EXIT
trap 'exit 130' INT
trap 'exit 143' TERM HUP

begin_store() {
    work=$(realpath -- "$(mktemp -d "${TMPDIR:-/var/tmp}/coffer-crash.XXXXXXXX")") || exit 1
    export XDG_RUNTIME_DIR=$work COFFER_HOME=$work/profile COFFER_PASSPHRASE_FILE=$work/passphrase
    echo 'correct horse' >"$COFFER_PASSPHRASE_FILE"
    mkdir "$work/mount"
    "$coffer" init --strength interactive >/dev/null 2>&1 || stop "no profile could be made"
    manifests=()
    mount_store
}

end_store() {
    "$coffer" unmount "$work/mount" || stop "the mount could not be unmounted"
    server=''
    [ "$(id -u)" -ne 0 ] || chattr -i -- "$work/mount" 2>/dev/null
    chmod u+rwx -- "$work/mount"
    rm -rf -- "$work"
    work=
}

# Runs coffer; those that were killed while they tried the passphrase count as wrong ones, and make the next one wait.
patiently() {
    local code
    for _ in {1..30}; do
        "$coffer" "$@" >"$work/output" 2>&1
        code=$?
        [ $code = 75 ] || return $code
        sleep 1
    done
    return $code
}

mount_store() {
    patiently mount "$work/mount" || { cat "$work/output"; stop "the store could not be mounted"; }
    server=$(head -n 1 "$COFFER_HOME/lock")
    index=$(echo "$COFFER_HOME"/vaults/*/index.sqlite)
    log=$index-wal
}

# MARK: Moments

# A number below $1, and a sleep of up to $1 ms.
below() { chosen=$(((RANDOM * 32768 + RANDOM) % $1)); }
nap() { below "$1" && sleep "$((chosen / 1000)).$(printf %03d $((chosen % 1000)))"; }

changed() { stat -c %.Y-%s -- "$1" 2>/dev/null; }

# Waits until a file changes, for up to 20 s.
wait_for_change() {
    local before
    before=$(changed "$1")
    for _ in {1..4000}; do
        [ "$(changed "$1")" = "$before" ] || return 0
        sleep 0.003
    done
    echo "  note: $(basename "$1") did not change in time"
}

# Waits until the upkeep thread has worked for some ms, for up to 20 s: it moves the log, and compacts.
wait_for_upkeep() {
    local thread name from now _
    for thread in "/proc/$server/task"/*; do
        { read -r name <"$thread/comm"; } 2>/dev/null && [ "$name" = coffer-upkeep ] && break
    done
    { read -r from _ <"$thread/schedstat"; } 2>/dev/null || return 0
    for _ in {1..8000}; do
        { read -r now _ <"$thread/schedstat"; } 2>/dev/null || return 0
        [ $((now - from)) -lt 3000000 ] || return 0
        sleep 0.002
    done
    echo "  note: nothing was tidied up in time"
}

kill_server() {
    kill -KILL "$server" || stop "the process behind the mount was gone before it was killed"
    while kill -0 "$server" 2>/dev/null; do sleep 0.005; done
    server=''
}

# Kills a mount that is just starting, while it recovers from the previous crash.
kill_while_mounting() {
    local times=$((1 + RANDOM % 3)) process
    for ((; times > 0; times--)); do
        "$coffer" mount -f "$work/mount" >"$work/output" 2>&1 &
        process=$!
        nap 500
        kill -KILL "$process" 2>/dev/null
        wait "$process" 2>/dev/null
    done
}

# MARK: Writers

start_writers() {
    local number count=$((1 + RANDOM % 4)) load path
    started=
    for ((number = 1; number <= count; number++)); do
        load=${loads[RANDOM % ${#loads[@]}]}
        [ "$moment" != compaction ] || [ "$number" != 1 ] || load=rewriting
        [ "$moment" != log ] || [ "$number" != 1 ] || load=small
        path=$work/mount/Personal/$round-$number
        mkdir -- "$path" || stop "no directory could be made"
        "$workload" write-manifest "$path" "$work/manifest-$round-$number" --seed $((RANDOM * 32768 + RANDOM)) \
            --load "$load" >"$work/writer-$number" 2>&1 &
        writers+=($!)
        manifests+=("$round-$number")
        started+=" $load"
    done
    if [ $((RANDOM % 2)) = 0 ]; then
        make_noise 2>/dev/null &
        noise=$!
        started+=" noise"
    fi
}

# Trees that come and go, and are never made durable.
make_noise() {
    while cp -r /usr/include/linux "$work/mount/Personal/noise-$round"; do
        mv "$work/mount/Personal/noise-$round" "$work/mount/Personal/moved-$round"
        rm -rf "$work/mount/Personal/moved-$round" || return
    done
}

end_writers() {
    local process
    for process in "${writers[@]}" $noise; do kill -KILL "$process" 2>/dev/null; done
    for process in "${writers[@]}" $noise; do wait "$process" 2>/dev/null; done
    writers=() noise=''
}

# MARK: Checks

check_manifests() {
    local name durable=0 output
    for name in "${manifests[@]}"; do
        # The crash came before the writer had made its directories: nothing was promised.
        [ -s "$work/manifest-$name" ] || continue
        output=$("$workload" check-manifest "$work/mount/Personal/$name" "$work/manifest-$name") ||
            stop "$name: $output"
        durable=$((durable + ${output%% *}))
    done
    checked=$durable
}

check_store() {
    patiently check || { cat "$work/output"; stop "$1: coffer check found damage"; }
    "$coffer" status --json >"$work/status" || stop "$1: no status"
    tr -d ' \n' <"$work/status" | grep -Fq '"problems":[]' ||
        { cat "$work/status"; stop "$1: the mount met problems"; }
}

forget_old_manifests() {
    local name kept=()
    for name in "${manifests[@]}"; do
        if [ "${name%-*}" -le $((round - rounds_kept)) ]; then
            rm -rf -- "$work/mount/Personal/$name" "$work/manifest-$name" || stop "$name could not be removed"
        else
            kept+=("$name")
        fi
    done
    manifests=("${kept[@]}")
    rm -rf "$work/mount/Personal"/noise-* "$work/mount/Personal"/moved-*
}

# MARK: The rounds

play_round() {
    moment=${moments[RANDOM % ${#moments[@]}]}
    start_writers
    printf 'round %s: %s;%s' "$round" "$moment" "$started"
    nap 1500
    case $moment in
        commit) wait_for_change "$log" ;;
        log) wait_for_change "$index" && nap 30 ;;
        compaction) wait_for_upkeep && nap 60 ;;
        unmount)
            end_writers
            "$coffer" unmount "$work/mount" >/dev/null 2>&1 &
            unmounting=$!
            nap 150
            kill -KILL "$server" 2>/dev/null
            wait "$unmounting"
            while kill -0 "$server" 2>/dev/null; do sleep 0.005; done
            server='' ;;
    esac
    [ -z "$server" ] || kill_server
    end_writers
    rm -rf "$work/crashed"
    cp -a -- "$COFFER_HOME" "$work/crashed" || stop "no copy of the store could be made"
    [ "$moment" != mount ] || kill_while_mounting
    if [ $((RANDOM % 4)) = 0 ]; then
        # A dead mount hides the effects of commands meanwhile.
        umount -l -- "$work/mount" 2>/dev/null || fusermount3 -uz -- "$work/mount" 2>/dev/null
        patiently check || { cat "$work/output"; stop "damage before the mount"; }
    fi
    mount_store
    check_manifests
    check_store "mounted"
    printf '; %s durable changes\n' "$checked"
    forget_old_manifests
}

for program in "$coffer" "$workload"; do
    [ -x "$program" ] || { echo "there is no $program; 'make crash' builds it" >&2; exit 1; }
done
[ -e /dev/fuse ] || { echo "/dev/fuse is missing: nothing can be mounted here" >&2; exit 1; }
echo "seed $seed"
all=0 done_rounds=0
for ((round = 1; round <= rounds; round++)); do
    [ -z "$hours" ] || [ "$EPOCHSECONDS" -lt "$end" ] || break
    [ -n "$work" ] || begin_store
    play_round
    done_rounds=$round all=$((all + checked))
    [ $((round % rounds_per_store)) != 0 ] || end_store
done
[ -z "$work" ] || end_store
echo "PASSED: $done_rounds rounds of seed $seed, $all durable changes found again"
