#!/usr/bin/env bash
# Reads shared vaults with a program that was written from docs/*.md alone (Tests/foreign-reader), and compares what it
# finds with a mount, name by name, bytes included. The first vault has been through what changes its records: four
# people, one of them removed, one who left and came back, changed roles, names of all kinds, links, extended
# attributes, conflicts, a file with trees of pages. The second one has a checkpoint, the third one two histories of its
# members and of a log, and in the fourth one a device was revoked, and used by a thief (foreign-histories.sh). The
# worked reader of docs/reader.md reads all of them, and that of docs/format.md the store on the device, and a store
# that a killed mount left: both as they stand there. Exit code 0: all held.
#
#   Tests/foreign-reader.sh [path of the coffer binary]
# shellcheck source-path=SCRIPTDIR
. "$(dirname "${BASH_SOURCE[0]}")/story.sh"
. "$here/Tests/people.sh"
. "$here/Tests/foreign-histories.sh"
export PYTHONDONTWRITEBYTECODE=1
reader=$here/Tests/foreign-reader

# fails TEXT COMMAND…: as holds, but it must not succeed.
fails() {
    local text=$1
    shift
    if "$@" >"$work/output" 2>&1; then stop "$text: “$*” found nothing wrong"; fi
    pass "$text: $(tail -1 "$work/output")"
}

# appears COMMAND…: waits up to 60 s until it succeeds.
appears() {
    local from=$EPOCHREALTIME
    until "$@" >/dev/null 2>&1; do
        [ "$(since "$from" | cut -d. -f1)" -lt 60 ] || stop "“$*” not within 60 s"
        sleep 0.05
    done
}

# MARK: People

# join NAME: a person joins with an invite of Alice's, and has the first file.
join() {
    local invite
    invite=$(person alice member invite Plans --role writer) && person "$1" join "$invite" --as Plans &&
        appears test -e "$work/$1/mount/Plans/first.txt"
}

# read_as NAME REMOTE: the reader, with somebody's profile.
read_as() { python3 "$reader/reader.py" "$work/$1/profile" "$work/passphrase" "$2"; }

# at_least NUMBER TEXT: what the reader told of, so that the comparison is of something.
at_least() {
    awk -v least="$1" -v text="$2: " 'index($0, text) == 1 && substr($0, length(text) + 1) + 0 >= least { found = 1 }
        END { exit !found }' "$work/facts" || stop "$2: fewer than $1"
}

# partly FOLDER: a file of which a part was overwritten once it was stored, so that blocks of its extents are gone.
partly() {
    head -c 3000000 /dev/urandom >"$1/partly" && command sync -f "$1" &&
        head -c 400000 /dev/urandom |
        dd of="$1/partly" bs=400000 seek=3 iflag=fullblock conv=notrunc status=none && command sync -f "$1"
}

# sync NAME…: each has all of the others.
sync() {
    local name
    for name; do person "$name" sync Plans || return; done
}

# MARK: The story

require_coffer
umask 022
make_work reader
printf 'correct horse %s\n' "$RANDOM$RANDOM" >"$work/passphrase"
remote=$work/remote alice=$work/alice/mount/Plans bob=$work/bob/mount/Plans carol=$work/carol/mount/Plans
erin=$work/erin/mount/Plans
mkdir "$remote"

printf '%sCoffer: a vault as a program sees it that knows the documents alone%s\n' "$bold" "$plain"

heading '1. Three people share a vault'
# One label for all, with the name of each in it, so that conflicts get numbers.
for name in Alice Bob Carol; do
    holds "$name has a profile and a mount" begin_person "${name,,}" "$name" 'laptop (old)/2 of Alice, Bob, Carol'
done
mkdir "$alice" && printf 'first' >"$alice/first.txt" || stop 'there is no vault'
partly "$alice" || stop 'Alice cannot write'
holds 'the vault is at the folder' person alice remote add Plans "file://$remote"
holds 'Bob joins' join bob
holds 'Carol joins' join carol
holds 'Bob keeps a history' person bob vault set --history forever Plans

heading '2. Names, links, attributes, large files'
mkdir -p "$alice/a/b/c" "$alice/empty"
printf 'x' >"$alice/a/b/c/deep"
: >"$alice/a/nothing"
ln -s 'b/c/deep' "$alice/a/link"
ln -s '/no/where' "$alice/a/dangling"
ln "$alice/a/b/c/deep" "$alice/a/second name of deep"
mkfifo "$alice/a/pipe"
printf 'y' >"$alice/a/Grüße, 世界.txt"
printf 'z' >"$alice/a/"$'no text \xff\xfe'
chmod 4750 "$alice/a/b/c/deep"
chmod 1770 "$alice/empty"
touch -d '2001-02-03 04:05:06.789012345' "$alice/a/nothing"
setfattr -n user.colour -v blue "$alice/first.txt"
setfattr -n user.gone -v soon "$alice/first.txt" && setfattr -x user.gone "$alice/first.txt"
setfattr -n user.of.directory -v 0x00ff "$alice/a"
head -c 12000000 /dev/urandom >"$alice/large"
for number in {0..59}; do
    head -c 5000 /dev/urandom |
        dd of="$alice/scattered" bs=5000 seek=$((number * 200)) conv=notrunc status=none
done
truncate -s 70000000 "$alice/scattered"
printf 'by Carol' >"$carol/of carol"
holds 'all is sent' sync alice carol alice bob
mv "$bob/a/b" "$bob/moved" && rm "$bob/a/dangling" && printf 'more' >>"$bob/large"
head -c 100 /dev/urandom | dd of="$bob/scattered" bs=1 seek=3000000 conv=notrunc status=none
holds 'Bob has moved, removed and written; all is sent' sync bob alice carol

heading '3. Conflicts'
for round in one two; do
    mv "$remote" "$remote.away"
    for name in alice bob carol; do printf '%s, by %s' "$round" "$name" >"$work/$name/mount/Plans/first.txt"; done
    mv "$remote.away" "$remote"
    holds "all have written one file, round $round" sync alice bob carol alice bob carol
done
long=$(printf 'é%.0s' {1..120}).txt
mv "$remote" "$remote.away"
for name in alice bob carol; do
    where=$work/$name/mount/Plans
    mkdir "$where/same"
    for file in "of $name" name.tar.gz .profile "$long"; do printf '%s' "$name" >"$where/same/$file"; done
done
rm "$alice/of carol" && printf 'again' >"$carol/of carol"
mv "$alice/moved" "$alice/moved by alice" && mv "$bob/moved" "$bob/moved by bob"
mkdir "$bob/new" && mv "$bob/large" "$bob/new/large" && mv "$alice/empty" "$alice/a/empty"
mv "$remote.away" "$remote"
holds 'each has done something else; all is merged' sync alice bob carol alice bob carol
[ "$(find "$bob" -name '*(conflict, *' | wc -l)" -ge 10 ] || stop 'there are too few conflicts'
[ "$(find "$bob" -name '*(conflict, *) 2.txt' | wc -l)" -ge 2 ] || stop 'there is no conflict with a number'

heading '4. Carol is removed; the keys rotate'
holds 'coffer member remove' person alice member remove --yes Plans Carol
printf 'afterwards' >"$alice/afterwards" && printf 'afterwards' >"$bob/a/too"
holds 'what came afterwards is sent' sync alice bob alice bob

heading '5. Erin joins, changes roles, leaves, and comes back'
holds 'Erin has a profile and a mount' begin_person erin Erin desk
holds 'Erin joins' join erin
printf 'by Erin' >"$erin/of erin"
holds 'Erin has written' sync erin alice
holds 'Erin may only read' person alice member role Plans Erin reader
holds 'Erin may write again' person alice member role Plans Erin writer
holds 'all know that' sync erin alice
printf 'later, by Erin' >"$erin/later"
holds 'Erin has written more' sync erin alice
holds 'coffer member leave' person erin member leave --yes Plans
holds 'an owner says which commits of Erin count' sync alice bob alice
read_as bob "$remote" >"$work/read" 2>"$work/facts" || { cat "$work/facts"; stop 'the reader does not read the vault'; }
at_least 2 members
python3 "$reader/worked.py" "$work/bob/profile" "$work/passphrase" "$remote" >"$work/worked" 2>"$work/output" ||
    { cat "$work/output"; stop 'the worked reader of docs/reader.md reads no vault that somebody has left'; }
pass 'the worked reader of docs/reader.md reads a vault that somebody has left'
holds 'Erin deletes her copy' person erin vault delete --yes Plans
holds 'Erin joins again' join erin
printf 'again, by Erin' >"$erin/again"
holds 'all is sent' sync erin alice bob alice
# The reader meets recovery keys in Bob's profile, too.
person bob recovery create --yes --backup "$work/backup" >"$work/sheet" 2>"$work/output" ||
    { cat "$work/output"; stop 'there is no recovery key'; }
# What was sealed anew after a removal is on the remote only until somebody wants it.
holds 'Bob keeps the contents on his device' person bob pin Plans
python3 "$reader/listing.py" "$bob" >"$work/mount" || stop 'the mount cannot be listed'
for name in alice bob carol erin; do holds "$name unmounts" person "$name" unmount "$work/$name/mount"; done

heading '6. What the documents say that there is'
read_as bob "$remote" >"$work/read" 2>"$work/facts" || { cat "$work/facts"; stop 'the reader does not read the vault'; }
sed 's/^/    /' "$work/facts"
at_least 3 members
at_least 3 epochs
at_least 10 'state hashes that are right'
at_least 1 'inner pages of contents'
at_least 180 'leaves of extents'
diff "$work/mount" "$work/read" >"$work/output" || { head -20 "$work/output"; stop 'the mount (<) is otherwise (>)'; }
[ "$(wc -l <"$work/read")" -ge 20 ] || stop 'there are too few names'
pass "$(wc -l <"$work/read") names are the same, with bytes, attributes and links"
python3 "$reader/worked.py" "$work/bob/profile" "$work/passphrase" "$remote" >"$work/worked" 2>"$work/output" ||
    { cat "$work/output"; stop 'the worked reader of docs/reader.md does not read the vault'; }
holds 'the worked reader of docs/reader.md, as it stands there, reads the same' diff "$work/mount" "$work/worked"
holds 'so does the program that it tells how to make, with nothing else' runs_as_told bob "$remote"
fails 'Carol cannot read what came after her' read_as carol "$remote"
cp -r "$remote" "$work/other"
last=$(find "$work/other/vaults" -path '*/log/*' -type f -printf '%T@ %p\n' | sort -n | tail -1 | cut -d' ' -f2-)
printf 'x' | dd of="$last" bs=1 seek=100 conv=notrunc status=none
fails 'a byte of a commit that was changed is noticed' read_as bob "$work/other"

# recovered: opens the backup with the words of the sheet, and compares what is in it.
recovered() {
    printf 'Bob\nPersonal: no remote, [1]\nPlans: file://%s, [1, 2, 3]\n' "$remote" >"$work/expected"
    grep -oE '[0-9]+ [a-z]+' "$work/sheet" | head -16 | python3 "$reader/recovery.py" "$work/backup" >"$work/recovered" &&
        diff "$work/expected" "$work/recovered"
}
holds 'the words of a recovery sheet open a profile backup: a name, remotes, keys' recovered

heading '7. What an export has'
printf 'of the export\n' >"$work/export-passphrase"
person bob identity show --card >"$work/bob.card"
# as_exported WAY…: opens the export of Plans, and compares what tar makes of it with the mount that there was.
as_exported() {
    rm -rf "$work/unpacked" && mkdir "$work/unpacked" && "$reader/exports.py" "$work/export" "$@" >"$work/archive" &&
        tar -C "$work/unpacked" --xattrs --xattrs-include='*' --warning=no-unknown-keyword -xpf "$work/archive" &&
        python3 "$reader/listing.py" "$work/unpacked" >"$work/there" && diff "$work/mount" "$work/there"
}
export_with() { rm -f "$work/export" && person bob vault export Plans "$work/export" "$@"; }
holds 'an export is written for a passphrase' \
    export_with --strength interactive --export-passphrase-file "$work/export-passphrase"
holds 'the passphrase opens it, and tar has all of the vault' as_exported passphrase "$work/export-passphrase"
holds 'an export is written for a card' export_with --to "$work/bob.card"
holds 'the identity opens it' as_exported profile "$work/bob/profile" "$work/passphrase"
fails 'another identity does not' as_exported profile "$work/alice/profile" "$work/passphrase"
printf 'x' | dd of="$work/export" bs=1 seek=100000 conv=notrunc status=none
fails 'a byte of an export that was changed is noticed' as_exported profile "$work/bob/profile" "$work/passphrase"

heading '8. What lies on a device'
holds 'the values of the documents are what the documents give' python3 "$reader/values.py"
holds 'contents that move are what the documents say' python3 "$reader/moving.py"
holds 'what members may do is what the documents say' python3 "$reader/memberships.py"
holds 'device chains, forks and logs are what the documents say' python3 "$reader/histories.py"
holds 'what is no profile or no index is refused' python3 "$reader/refusals.py" "$work/bob/profile" "$work/passphrase" \
    "$coffer"
# files LISTING: of a directory's listing the regular files, as local.py tells of them.
files() { sed -nE 's/^(b.*): file [0-7]+ -?[0-9]+( [0-9]+ bytes [0-9a-f]+).*/\1:\2/p' "$1"; }
# read_store NAME VAULT: the worked reader, with somebody's profile.
read_store() { python3 "$reader/local.py" "$work/$1/profile" "$work/passphrase" "$2" >"$work/read" 2>"$work/facts"; }
# same_files LISTING: compares the listing of a mount with what was read. What a mount has read from the remote need not
# have stayed on the device.
same_files() {
    sed -nE "s/^(b.*:) on a remote only$/\1/p" "$work/facts" >"$work/elsewhere"
    diff <(files "$1" | grep -vFf "$work/elsewhere" | sort) <(sort "$work/read")
}
read_store bob Plans || { cat "$work/facts"; stop 'the worked reader does not read the store'; }
sed 's/^/    /' "$work/facts"
grep -qE '^history: [1-9][0-9]*, authors: ([2-9]|[1-9][0-9])' "$work/facts" ||
    stop 'the history of the store does not name those who changed it'
[ "$(wc -l <"$work/read")" -ge 5 ] || stop 'there are too few files'
holds "$(wc -l <"$work/read") files are the same, and the digests of all rows are right" same_files "$work/mount"

begin_person dan Dan desk >/dev/null || stop 'Dan has no mount'
personal=$work/dan/mount/Personal
holds 'Dan keeps the past of his vault' person dan vault set --history 14d Personal
mkdir "$personal/folder" && head -c 3000000 /dev/urandom >"$personal/folder/large" || stop 'Dan cannot write'
partly "$personal" || stop 'Dan cannot write'
holds 'some of it has a name' person dan snapshot Personal name
printf 'later' >>"$personal/folder/large" || stop 'Dan cannot write'
holds 'so has what nothing follows' person dan snapshot Personal 'another name'
command sync -f "$personal" && python3 "$reader/listing.py" "$personal" >"$work/mount" || stop 'the mount cannot be listed'
python3 - "$personal/synced" "$(head -1 "$work/dan/profile/lock")" >>"$work/mount" <<'END' || stop 'a file cannot be synced'
import hashlib, os, signal, sys
file, content = os.open(sys.argv[1], os.O_CREAT | os.O_RDWR), bytearray(b"x" * 20000)
os.write(file, content)
os.fsync(file)
for number in range(6):
    content[3000 * number : 3000 * number + 100] = b"y" * 100
    os.pwrite(file, b"y" * 100, 3000 * number)
    os.fsync(file)
os.kill(int(sys.argv[2]), signal.SIGKILL)
print(f"{b'synced'!a}: file 0644 0 {len(content)} bytes {hashlib.sha256(content).hexdigest()}")
END
# Who is not root may unmount by fusermount3 alone.
umount -l -- "$work/dan/mount" 2>/dev/null || fusermount3 -uz -- "$work/dan/mount" ||
    stop 'what the killed mount left cannot be unmounted'
# The lock is free once the process is gone.
appears flock -n "$work/dan/profile/lock" true
read_store dan Personal || { cat "$work/facts"; stop 'the worked reader does not read what a killed mount left'; }
sed 's/^/    /' "$work/facts"
holds 'after a mount was killed, what was synced is read from the logs' same_files "$work/mount"

heading '9. A checkpoint'
read_checkpoints

heading '10. Two histories of the members, and of a log'
read_forks
read_forked_log

heading '11. Two devices of one person, one of them revoked'
read_devices

heading 'Result'
printf '%sPASSED%s: the documents say what the program does. %s s\n' "$bold" "$plain" "$(since "$began")"
