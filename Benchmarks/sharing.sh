#!/usr/bin/env bash
# Times a vault that two people share through a folder, on one machine: two profiles, two mounts, one disk. Prints a
# figure a line. Takes some minutes; FIGURES=small latency idle … chooses some. REMOTE_DIR puts the remote elsewhere,
# as on a disk of its own, or in memory.
#
#   Benchmarks/sharing.sh [path of the coffer binary]
set -uo pipefail
export LC_ALL=C

here=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
coffer=$(realpath -- "${1:-$here/.build/release/coffer}")
figures=${FIGURES:-small large latency idle append removal catch-up newcomer}
work=$(mktemp -d "${TMPDIR:-/var/tmp}/coffer-sharing.XXXXXXXX") || exit 1
remote=$work/remote; [ -z "${REMOTE_DIR:-}" ] || remote=$(mktemp -d "$REMOTE_DIR/coffer-sharing.XXXXXXXX") || exit 1
a=$work/alice/mount/Shared b=$work/bob/mount/Shared

person() {
    local name=$1
    shift
    COFFER_HOME=$work/$name/profile COFFER_PASSPHRASE_FILE=$work/passphrase XDG_RUNTIME_DIR=$work/$name "$coffer" "$@"
}

clean_up() {
    local name
    for name in alice bob carol; do
        [ -d "$work/$name/mount" ] || continue
        person "$name" unmount "$work/$name/mount" >/dev/null 2>&1 || umount -l -- "$work/$name/mount" 2>/dev/null
        [ "$(id -u)" -ne 0 ] || chattr -i -- "$work/$name/mount" 2>/dev/null
        chmod u+rwx -- "$work/$name/mount"
    done
    rm -rf -- "$work" "$remote"
}
trap clean_up EXIT

begin() {
    mkdir -p "$work/$1/mount" && person "$1" init --name "$1" --device "$1s-machine" --strength interactive 2>/dev/null &&
        person "$1" mount "$work/$1/mount"
}

wants() { case " $figures " in *" $1 "*) return 0 ;; *) return 1 ;; esac; }
clock() { echo "$EPOCHREALTIME"; }
ratio() { awk -v a="$1" -v b="$2" 'BEGIN { printf "%.3g", a / b }'; }
elapsed() { awk -v a="$1" -v b="$2" 'BEGIN { printf "%.3f", b - a }'; }
say() { printf '%-56s %s\n' "$1" "$2"; }
await() { until "$@" >/dev/null 2>&1; do sleep 0.01; done; }

umask 077
mkdir -p "$remote"
echo passphrase >"$work/passphrase"
begin alice && begin bob || exit 1
mkdir "$a" && person alice remote add Shared "file://$remote" 2>/dev/null || exit 1
person bob join "$(person alice member invite Shared)" --as Shared 2>/dev/null || exit 1

make_files() { python3 -c '
import os, sys
place, count = sys.argv[1], int(sys.argv[2])
data = os.urandom(4096)
for i in range(count):
    if i % 500 == 0: os.makedirs("%s/%d" % (place, i // 500))
    with open("%s/%d/%d" % (place, i // 500, i), "wb") as f: f.write(data)
' "$1" "$2"; }

if wants small; then
    mkdir "$work/alice/mount/Local"
    from=$(clock); make_files "$work/alice/mount/Local/d" 10000; to=$(clock)
    plain=$(elapsed "$from" "$to")
    from=$(clock); make_files "$a/small" 10000; to=$(clock)
    say '10,000 files of 4 KiB, made: shared of local speed' "$(ratio "$plain" "$(elapsed "$from" "$to")")"
    last=$b/small/19/9999
    await test -s "$last"
    until [ "$(find "$b/small" -type f -size 4096c | wc -l)" = 10000 ]; do sleep 0.05; done
    to=$(clock)
    say '10,000 files of 4 KiB, until the other has all' "$(awk -v s="$(elapsed "$from" "$to")" 'BEGIN { printf "%.0f files/s", 10000 / s }')"
fi

if wants large; then
    head -c 1G /dev/urandom >"$work/large"
    from=$(clock); cp "$work/large" "$work/alice/mount/Personal/large"; sync "$work/alice/mount/Personal/large"; to=$(clock)
    plain=$(elapsed "$from" "$to")
    from=$(clock); cp "$work/large" "$a/large"; sync "$a/large"; to=$(clock)
    say '1 GiB, written and synced: shared of local speed' "$(ratio "$plain" "$(elapsed "$from" "$to")")"
    person alice sync Shared >/dev/null
    until [ "$(stat -c %s "$b/large" 2>/dev/null)" = 1073741824 ]; do sleep 0.02; done
    to=$(clock)
    say '1 GiB, until the other sees it' "$(awk -v s="$(elapsed "$from" "$to")" 'BEGIN { printf "%.0f MB/s", 1073.7 / s }')"
    mid=$(clock); cmp "$work/large" "$b/large" || say '1 GiB' DIFFERS; to=$(clock)
    say '1 GiB, read by the other for the first time' "$(awk -v s="$(elapsed "$mid" "$to")" 'BEGIN { printf "%.0f MB/s", 1073.7 / s }')"
    say '1 GiB, end to end' "$(awk -v s="$(elapsed "$from" "$to")" 'BEGIN { printf "%.0f MB/s", 1073.7 / s }')"
fi

if wants latency; then
    times=()
    for number in $(seq 40); do
        from=$(clock); echo "$number" >"$a/ping-$number"
        until [ "$(cat "$b/ping-$number" 2>/dev/null)" = "$number" ]; do sleep 0.005; done
        times+=("$(elapsed "$from" "$(clock)")")
        sleep 0.3
    done
    say 'a change, until the other reads it: median, worst' "$(printf '%s\n' "${times[@]}" | sort -n | awk '{ t[NR] = $1 } END { print t[int((NR + 1) / 2)] " s, " t[NR] " s" }')"
fi

if wants idle; then
    sleep 10
    spent() { awk '{ sum += $14 + $15 } END { print sum }' /proc/"$(head -n 1 "$work/alice/profile/lock")"/stat /proc/"$(head -n 1 "$work/bob/profile/lock")"/stat; }
    before=$(spent) files=$(find "$remote" -printf '%T@ %p\n' | md5sum); sleep 30; after=$(spent)
    say 'an idle pair: of one core, both together' "$(awk -v t=$((after - before)) 'BEGIN { printf "%.2f %%", t / 30 }')"
    [ "$files" = "$(find "$remote" -printf '%T@ %p\n' | md5sum)" ] && say 'an idle pair, at the remote' 'nothing changes'
fi

if wants append; then
    [ -e "$a/large" ] || { head -c 1G /dev/urandom >"$a/large"; }
    person alice sync Shared >/dev/null
    before=$(du -sb "$remote" | cut -f1)
    count=${APPENDS:-1000}
    for number in $(seq "$count"); do
        head -c 1024 /dev/urandom >>"$a/large"
        person alice sync Shared >/dev/null
    done
    say "$count times 1 KiB appended to 1 GiB and synced, sent" "$(( ($(du -sb "$remote" | cut -f1) - before) / 1024 )) KiB"
fi

if wants newcomer || wants removal; then
    make_files "$a/many" 100000
    person alice sync Shared >/dev/null
    await test -s "$b/many/199/99999"
fi

if wants newcomer; then
    begin carol
    invite=$(person alice member invite Shared)
    from=$(clock)
    person carol join "$invite" --as Shared 2>/dev/null
    until [ "$(find "$work/carol/mount/Shared" -type f 2>/dev/null | wc -l)" -ge 100000 ]; do sleep 0.1; done
    say 'a new member of 100,000 files, until all are seen' "$(elapsed "$from" "$(clock)") s"
fi

if wants catch-up; then
    person bob unmount "$work/bob/mount"
    for number in $(seq 1000); do echo "$number" >"$a/commit-$number"; person alice sync Shared >/dev/null; done
    from=$(clock)
    person bob mount "$work/bob/mount"
    person bob sync Shared >/dev/null
    await test -s "$b/commit-1000"
    say '1,000 commits, caught up with' "$(elapsed "$from" "$(clock)") s"
fi

if wants removal; then
    from=$(clock); person alice member remove --yes Shared bob; to=$(clock)
    say 'a member removed, 100,000 files there' "$(elapsed "$from" "$to") s"
fi
