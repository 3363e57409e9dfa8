# shellcheck shell=bash
# Vaults whose history has more than commits: a checkpoint, two sides of a fork, a device that was revoked. Sourced by
# foreign-reader.sh after people.sh; compares what the reader finds with the mounts.
# shellcheck disable=SC2154 # work, reader, coffer and here are variables of the scripts that source this one

# MARK: Steps

# enter VAULT OWNER ROLE NAME: a person makes a profile, mounts it, and joins a vault of an owner's.
enter() {
    local invite
    begin_person "$4" "${4^}" desk && invite=$(person "$2" member invite "$1" --role "$3") &&
        person "$4" join "$invite" --as "$1"
}

# found VAULT OWNER NAME…: an owner shares a vault with writers, at the folder $remote.
found() {
    local vault=$1 owner=$2 name
    shift 2
    mkdir "$remote" && begin_person "$owner" "${owner^}" desk && mkdir "$work/$owner/mount/$vault" &&
        printf 'first' >"$work/$owner/mount/$vault/first.txt" &&
        person "$owner" remote add "$vault" "file://$remote" || return
    for name; do enter "$vault" "$owner" writer "$name" || return; done
    each "$vault" "$owner" "$@"
}

# each VAULT NAME…: each has all of the others.
each() {
    local vault=$1 name
    shift
    for name; do person "$name" sync "$vault" || return; done
}

# naming VAULT NAME…: the same, though each names what is on the remote and counts nowhere (code 65).
naming() {
    local vault=$1 name
    shift
    for name; do
        person "$name" sync "$vault"
        case $? in 0 | 65) ;; *) return 1 ;; esac
    done
}

mounts() {
    local name
    for name; do person "$name" mount "$work/$name/mount" || return; done
}

unmounts() {
    local name
    for name; do person "$name" unmount "$work/$name/mount" || return; done
}

# lists NAME VAULT: keeps what a mount shows, to compare it with.
lists() { python3 "$reader/listing.py" "$work/$1/mount/$2" >"$work/mount"; }

# shows NAME REMOTE [KNOWN]: the reader, with somebody's profile, finds what the mount showed.
shows() {
    python3 "$reader/reader.py" "$work/$1/profile" "$work/passphrase" "${@:2}" >"$work/read" 2>"$work/facts" ||
        { cat "$work/facts"; return 1; }
    diff "$work/mount" "$work/read"
}

# doubts NAME REMOTE KNOWN: the same, but the reader must end with an alarm.
doubts() {
    if python3 "$reader/reader.py" "$work/$1/profile" "$work/passphrase" "${@:2}" >"$work/read" 2>"$work/facts"; then
        cat "$work/facts"
        return 1
    fi
    diff "$work/mount" "$work/read"
}

# told PATTERN: the reader said so.
told() {
    grep -E -m 1 -- "$1" "$work/facts" >"$work/told" || { cat "$work/facts"; stop "the reader does not say “$1”"; }
    pass "it says: $(cut -c 1-150 "$work/told")"
}

# worked_reads NAME REMOTE [KNOWN]: the worked reader of docs/reader.md finds what the mount showed.
worked_reads() {
    python3 "$reader/worked.py" "$work/$1/profile" "$work/passphrase" "${@:2}" >"$work/worked" &&
        diff "$work/mount" "$work/worked"
}

# worked_doubts NAME REMOTE KNOWN: the same, but it must end with an alarm.
worked_doubts() {
    if python3 "$reader/worked.py" "$work/$1/profile" "$work/passphrase" "${@:2}" >"$work/worked" 2>"$work/output"; then
        return 1
    fi
    diff "$work/mount" "$work/worked"
}

# runs_as_told NAME REMOTE: the program that docs/reader.md tells how to make, as somebody makes it who has nothing else,
# finds the files of the mount.
runs_as_told() {
    local command
    command=$(sed -n '/^```sh$/,/^```$/p' "$here/docs/reader.md" | grep '^awk ') &&
        (cd "$here" && eval "${command%>*}") >"$work/told.py" &&
        (cd / && python3 -I "$work/told.py" "$work/$1/profile" "$work/passphrase" "${@:2}") >"$work/worked" &&
        diff <(sed -nE 's/^(b.*): file [0-7]+ -?[0-9]+( [0-9]+ bytes [0-9a-f]+).*/\1:\2/p' "$work/mount") \
            <(grep -E ': [0-9]+ bytes [0-9a-f]+$' "$work/worked")
}

# exchange FOLDER: what is at $remote and what is at another place change places.
exchange() { mv "$remote" "$remote.away" && mv "$1" "$remote" && mv "$remote.away" "$1"; }

# MARK: A checkpoint

commit_count() { find "$remote/vaults" -path '*/log/*' -type f | wc -l; }
has_checkpoint() { [ -n "$(find "$remote/vaults" -path '*/checkpoints/*' -type f -print -quit)" ]; }
has_first_commits() { [ -n "$(find "$remote/vaults" -path '*/log/*/0000000000000001' -print -quit)" ]; }

# write_at_once NAME…: each writes a file, and all sync at once.
write_at_once() {
    local name pids=()
    for name; do
        printf '%s' "$RANDOM" >"$work/$name/mount/Diary/folder $((RANDOM % 10)) of $name" || return
        person "$name" sync Diary >/dev/null &
        pids+=($!)
    done
    for name in "${pids[@]}"; do wait "$name" || return; done
}

# many_commits: as many as it takes until somebody makes a checkpoint, and another one confirms it.
many_commits() {
    until [ "$(commit_count)" -ge 1100 ]; do write_at_once hugo ida || return; done
    # From here on one by one: a checkpoint is confirmed only by somebody who has nothing else.
    for _ in {1..300}; do
        write_at_once hugo && each Diary ida hugo ida && ! has_checkpoint || break
    done
    has_checkpoint && each Diary ida hugo ida
}

read_checkpoints() {
    remote=$work/diary.remote
    holds 'Gina shares a vault with Hugo and Ida' found Diary gina hugo ida
    holds 'Jo may read it' enter Diary gina reader jo
    printf 'y' >"$work/gina/mount/Diary/Grüße.txt" && mkdir -p "$work/gina/mount/Diary/a/b" &&
        ln -s 'b' "$work/gina/mount/Diary/a/link" && setfattr -n user.colour -v blue "$work/gina/mount/Diary/a" &&
        head -c 3000000 /dev/urandom >"$work/gina/mount/Diary/a/large" || stop 'Gina cannot write'
    holds 'all have it' each Diary gina hugo ida jo gina
    unmounts gina jo >/dev/null || stop 'Gina and Jo do not unmount'
    holds 'Hugo and Ida make commits until one of them makes a checkpoint' many_commits
    has_first_commits || stop 'the first commits are gone, though Gina has not seen the checkpoint'
    lists hugo Diary || stop 'the mount cannot be listed'
    unmounts hugo ida >/dev/null || stop 'Hugo and Ida do not unmount'
    holds 'the reader begins with the checkpoint, and finds what the mount shows' shows hugo "$remote"
    told '^begins with the checkpoint of .*: 1[0-9]+ commits in 1 pieces, cut as the documents say'
    told '^the checkpoint is confirmed by '
    told '^the checkpoint and [0-9]+ commits after it give the state of all 1[0-9]+ commits'
    holds 'so does the worked reader of docs/reader.md' worked_reads hugo "$remote"
    holds 'of checkpoints with a fault, both say what is wrong' python3 "$reader/checkpointing.py" \
        "$work/gina/profile" "$work/hugo/profile" "$work/ida/profile" "$work/jo/profile" "$work/passphrase" "$remote"

    # The devices of Gina and Jo are the last ones that the others wait for before they delete what it covers.
    mounts gina jo hugo ida >/dev/null || stop 'they do not mount'
    printf 'z' >"$work/gina/mount/Diary/afterwards"
    holds 'Gina and Jo have seen the checkpoint' each Diary gina jo hugo ida gina jo
    appears eval 'person hugo sync Diary && person ida sync Diary && ! has_first_commits'
    pass "the commits that the checkpoint covers are gone: $(commit_count) are left"
    lists gina Diary || stop 'the mount cannot be listed'
    holds 'the reader finds what Gina sees' shows gina "$remote"
    told '^commits that the checkpoint covers are gone'
    holds 'so does the worked reader of docs/reader.md' worked_reads gina "$remote"
    unmounts gina jo hugo ida >/dev/null || stop 'they do not unmount'
}

# MARK: Two sides of a fork

read_forks() {
    remote=$work/plot.remote
    holds 'Nora shares a vault with Otto, Pia and Quin' found Plot nora otto pia quin
    holds 'Otto is an admin' person nora member role Plot Otto admin
    holds 'all have it' each Plot nora otto pia quin
    unmounts nora otto pia quin >/dev/null && cp -r "$remote" "$work/plot.other" || stop 'there is no second copy'

    # One copy: Otto begins an epoch, and Pia writes under its key.
    mounts otto pia >/dev/null || stop 'Otto and Pia do not mount'
    holds 'Otto removes Quin, on one copy of the folder' person otto member remove --yes Plot Quin
    printf 'by Otto' >"$work/otto/mount/Plot/by otto" && person pia sync Plot >/dev/null &&
        head -c 200000 /dev/urandom >"$work/pia/mount/Plot/by pia" &&
        printf 'more' >>"$work/pia/mount/Plot/first.txt" || stop 'Otto and Pia cannot write'
    holds 'Otto and Pia write under the new key' each Plot otto pia otto
    unmounts otto pia >/dev/null && exchange "$work/plot.other" || stop 'the copies cannot be exchanged'

    # The other copy: Nora begins another epoch of the same number.
    mounts nora quin >/dev/null || stop 'Nora and Quin do not mount'
    holds 'Nora removes Otto, on the other copy' person nora member remove --yes Plot Otto
    printf 'by Nora' >"$work/nora/mount/Plot/by nora" && printf 'by Quin' >"$work/quin/mount/Plot/by quin"
    holds 'Nora and Quin write' each Plot nora quin nora
    # What one folder has and the other one lacks, a tool that replicates brings there.
    cp -rn "$work/plot.other/." "$remote/" || stop 'the copies cannot be joined'
    mounts pia >/dev/null || stop 'Pia does not mount'
    holds 'Pia takes the other side, and makes her commits again' naming Plot pia nora quin pia nora quin
    lists pia Plot || stop 'the mount cannot be listed'
    [ -e "$work/pia/mount/Plot/by pia" ] && [ ! -e "$work/pia/mount/Plot/by otto" ] ||
        stop "what is shown is not Nora's side"
    unmounts nora pia quin >/dev/null || stop 'they do not unmount'
    holds 'the reader takes the same side' shows pia "$remote" "$work/plot.other"
    told '^the members are forked at link 5: known is RemoveMember by Otto, the other one is RemoveMember by Nora'
    told '^the other side counts: it removes the signer of the known link and of all after it'
    told '^commit [0-9]+ of Pia is on the lost side: it was made again'
    told '^commit [0-9]+ of Otto is on the lost side: it counts nowhere'
    holds 'so does the worked reader of docs/reader.md' worked_reads pia "$remote" "$work/plot.other"
    holds 'the keys of the lost side are in the profile, too' shows pia "$remote"
    told '^log of .* waits at commit [0-9]+: it is of the lost side of a fork of the members'
}

# What two copies of one profile do without each other.
read_forked_log() {
    cp -r "$remote" "$work/plot.twin" && mkdir "$work/twin" && cp -r "$work/pia/profile" "$work/twin/profile" &&
        mkdir "$work/twin/mount" || stop 'the profile cannot be copied'
    mounts nora pia >/dev/null || stop 'Nora and Pia do not mount'
    printf 'one' >"$work/pia/mount/Plot/one"
    holds 'Pia writes, and Nora has it' naming Plot pia nora
    lists nora Plot || stop 'the mount cannot be listed'
    unmounts nora pia >/dev/null && cp -r "$work/plot.twin" "$work/plot.older" && exchange "$work/plot.twin" ||
        stop 'the copies cannot be exchanged'
    mounts twin >/dev/null || stop 'the copy of the profile does not mount'
    printf 'another' >"$work/twin/mount/Plot/another"
    holds 'a copy of her profile writes something else, on another copy of the folder' naming Plot twin
    unmounts twin >/dev/null && mounts nora >/dev/null || stop 'they do not mount'
    person nora sync Plot >"$work/output" 2>&1
    python3 "$reader/listing.py" "$work/nora/mount/Plot" | diff "$work/mount" - >"$work/output" ||
        stop 'Nora has taken the other history'
    unmounts nora >/dev/null || stop 'Nora does not unmount'
    holds 'the reader keeps the side that Nora keeps' doubts nora "$remote" "$work/plot.twin"
    told "^log of Pia's desk is forked at commit [0-9]+: known is [0-9a-f]+, the other one is [0-9a-f]+; the log waits"
    holds 'so does the worked reader of docs/reader.md' worked_doubts nora "$remote" "$work/plot.twin"
    holds 'a folder that was put back is told from that' doubts nora "$work/plot.older" "$work/plot.twin"
    told "^log of Pia's desk shows less: commit [0-9]+ is the last one, [0-9]+ is known"
}

# MARK: Devices

# pair NAME DEVICE: another device of a person, with a profile of its own.
pair() {
    local code=$work/$1/code
    mkfifo "$code" && mkdir -p "$work/$2/mount" || return
    person "$1" device authorize --listen "$work/$1/pair" --code-file "$code" >"$work/authorize" 2>&1 &
    appears test -S "$work/$1/pair"
    person "$2" init --pair "$work/$1/pair" --device "$2" --strength interactive --yes 2>"$work/pairing" |
        head -1 >"$code"
    wait $! && person "$2" vault list
}

read_devices() {
    remote=$work/trip.remote
    holds 'Kim shares a vault with Lee and Max' found Trip kim lee max
    holds "Kim's phone is authorized" pair kim phone
    mounts phone >/dev/null || stop 'the phone does not mount'
    printf 'by the phone' >"$work/phone/mount/Trip/by the phone"
    holds 'the phone has written' each Trip phone kim lee
    unmounts phone >/dev/null || stop 'the phone does not unmount'
    holds 'Kim takes the next transient key' person kim identity roll
    holds 'all know it' each Trip kim lee kim
    holds 'Max is removed: the new key is wrapped for the new transient key' person kim member remove --yes Trip Max
    printf 'later' >"$work/kim/mount/Trip/later"
    holds 'all is sent' each Trip kim lee kim
    lists lee Trip || stop 'the mount cannot be listed'
    holds 'the phone, which does not have that transient key yet, finds it by the seed' shows phone "$remote"
    told '^device .*phone: link 1$'
    holds 'so does the worked reader of docs/reader.md' worked_reads phone "$remote"

    # The phone writes on, where nobody sees it.
    cp -r "$remote" "$work/trip.stolen" && unmounts kim lee >/dev/null && exchange "$work/trip.stolen" ||
        stop 'there is no second copy'
    mounts phone >/dev/null || stop 'the phone does not mount'
    printf 'by a thief' >"$work/phone/mount/Trip/by a thief" && printf 'thief' >>"$work/phone/mount/Trip/first.txt"
    holds 'a thief writes with the phone' each Trip phone
    unmounts phone >/dev/null && exchange "$work/trip.stolen" && mounts kim lee >/dev/null || stop 'they do not mount'
    holds 'Kim revokes the phone' person kim device revoke --yes "Kim's phone"
    printf 'afterwards' >"$work/kim/mount/Trip/afterwards"
    holds 'all know that' each Trip kim lee kim
    cp -rn "$work/trip.stolen/." "$remote/" || stop 'the copies cannot be joined'
    holds 'what the thief wrote counts for nobody' naming Trip lee kim lee
    lists lee Trip || stop 'the mount cannot be listed'
    grep -q "by the phone" "$work/mount" && ! grep -q thief "$work/mount" || stop 'what the phone wrote is not right'
    unmounts kim lee >/dev/null || stop 'Kim and Lee do not unmount'
    holds "the reader finds what Lee sees, with Kim's profile" shows kim "$remote"
    told '^device .*phone: link 1, revoked by .* with link 2'
    told "^log of Kim's phone ends in front of commit [0-9]+: MemberKeysRolled, link [0-9]+, bounds the log at commit"
    holds "it finds the same with Lee's profile" shows lee "$remote"
    holds 'so does the worked reader of docs/reader.md' worked_reads kim "$remote"
    fails 'the phone cannot read what came after it' shows phone "$remote"
}
