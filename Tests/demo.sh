#!/usr/bin/env bash
# Shows Coffer's main job on real files, checks every step, and cleans up: a profile, a vault, a mount; a tree of
# thousands of files and a recording go in; after a fresh mount all of it is compared; the store is searched for
# anything readable. Works as root and as an ordinary user. Exit code 0: all held.
#
#   Tests/demo.sh [path of the coffer binary]
# shellcheck source-path=SCRIPTDIR
. "$(dirname "${BASH_SOURCE[0]}")/story.sh"
recording_mib=256
tree_files_min=4000

# MARK: Telling

# timed TEXT BYTES COMMAND…: runs it and tells the time, with a rate if BYTES is not 0; ends the story if it fails.
timed() {
    local text=$1 bytes=$2 from=$EPOCHREALTIME code seconds rate=
    shift 2
    "$@" >"$work/output" 2>&1
    code=$? seconds=$(since "$from")
    [ $code = 0 ] || { head -20 "$work/output"; stop "$text: “$1” ended with code $code"; }
    [ "$bytes" = 0 ] || rate=$(awk -v b="$bytes" -v s="$seconds" 'BEGIN { printf ", %.0f MB/s", b / 1e6 / (s + 0.001) }')
    pass "$text ($seconds s$rate)"
}

# MARK: Cleaning up

is_mounted() { mountpoint -q -- "$work/mount"; }

end_mounts() {
    if is_mounted; then "$coffer" unmount "$work/mount" >/dev/null 2>&1; fi
    if is_mounted; then umount -l -- "$work/mount" 2>/dev/null || fusermount3 -uz -- "$work/mount"; fi
    if [ -d "$work/mount" ]; then unprotect "$work/mount"; fi
    # An ordinary user can only remove what is in directories that he may write.
    find "$work/tree" -type d ! -perm -u=wx -exec chmod u+rwx {} + 2>/dev/null
}

# MARK: What goes in

# A directory with at least three times the recording's size.
choose_place() {
    local place free
    for place in "${TMPDIR:-/tmp}" /var/tmp "$HOME"; do
        free=$(df -Pk -- "$place" 2>/dev/null | awk 'NR == 2 { print $4 }')
        [ "${free:-0}" -gt $((recording_mib * 3 * 1024 + 1048576)) ] && [ -w "$place" ] && { echo "$place"; return; }
    done
    return 1
}

# Copies parts of this system until there are enough files, and makes what is missing.
make_tree() {
    local source number=0 count=0
    mkdir -p "$tree/system" || return
    for source in /usr/include /usr/share/zoneinfo /usr/share/doc /usr/lib/python3*; do
        [ -d "$source" ] || continue
        cp -a -- "$source" "$tree/system/" || return
        count=$(find "$tree" | wc -l)
        [ "$count" -lt "$tree_files_min" ] || break
    done
    while [ "$count" -lt "$tree_files_min" ]; do
        mkdir -p "$tree/notes/$((number / 100))"
        printf 'Note %d\n%s\n' "$number" "$(seq "$number" $((number + 50)))" \
            >"$tree/notes/$((number / 100))/note-number-$number.txt" || return
        number=$((number + 1)) count=$((count + 1))
    done
}

# Names and kinds of files that are easily got wrong.
make_odd_files() {
    local odd=$tree/odd long name
    long=$(printf 'n%.0s' {1..255})
    mkdir -p "$odd/empty directory" "$odd/read-only directory" || return
    for name in $'new\nline' $'latin-1 \xe4\xf6\xfc' $'\xff\xfe\xfd' -rf ' ' ' blanks ' "it's" '"quoted"' 'back\slash' \
        '*' '$(id)' $'\a\e[31mred' '...' '日本語' '🔐' CaseOfName caseofname "$long"
    do
        printf 'The file %q of %s\n' "$name" "$secret" >"$odd/$name" || return
    done
    # Two spellings of é are two names.
    echo composed >"$odd/"$'\xc3\xa9' && echo decomposed >"$odd/"$'e\xcc\x81' || return
    : >"$odd/empty"
    printf '#!/bin/sh\necho "%s runs"\n' "$secret" >"$odd/executable" && chmod 750 "$odd/executable" || return
    ln -s ../odd/empty "$odd/symbolic link" && ln -s "nowhere/$secret" "$odd/dangling link" || return
    ln "$odd/executable" "$odd/hard link" && ln "$odd/executable" "$odd/empty directory/../third name" || return
    truncate -s 1G "$odd/sparse" && printf '%s' "$secret" | dd of="$odd/sparse" bs=1M seek=700 conv=notrunc status=none ||
        return
    mkfifo "$odd/named pipe" || return
    head -c 4095 /dev/zero >"$odd/one less than a page"
    head -c 1048577 /dev/urandom >"$odd/one more than a mebibyte"
    mkdir -p "$odd/$(printf 'deep-%s/' {1..40})" && echo bottom >"$odd/$(printf 'deep-%s/' {1..40})/bottom" || return
    printf 'set-group-id' >"$odd/mode" && chmod 2755 "$odd/mode" || return
    touch -d '1969-07-20 20:17:40.123456789 UTC' "$odd/empty" || return
    touch -d '2106-02-07 06:28:16.000000001 UTC' "$odd/read-only directory" && chmod 555 "$odd/read-only directory" ||
        return
    if setfattr -n user.origin -v "$secret" "$odd/executable" 2>/dev/null; then has_attributes=yes; fi
    if setfacl -m u:12345:r-x,g:23456:r-- "$odd/executable" 2>/dev/null; then has_acls=yes; fi
}

# A recording as a recorder leaves it: RIFF/WAVE, 16 bit, stereo, 48 kHz; noise, with a marker in every 16 MiB.
make_recording() {
    local bytes=$((recording_mib * 1048576)) offset
    number32() { printf "\\x$(printf %02x $(($1 & 255)))\\x$(printf %02x $((($1 >> 8) & 255)))$(
        )\\x$(printf %02x $((($1 >> 16) & 255)))\\x$(printf %02x $((($1 >> 24) & 255)))"; }
    {
        printf 'RIFF' && number32 $((bytes + 36)) && printf 'WAVEfmt ' && number32 16 && printf '\x01\x00\x02\x00' &&
            number32 48000 && number32 192000 && printf '\x04\x00\x10\x00data' && number32 "$bytes" &&
            head -c "$bytes" /dev/urandom
    } >"$1" || return
    for ((offset = 1; offset < recording_mib; offset += 16)); do
        printf 'marker %s' "$secret" | dd of="$1" bs=1M seek="$offset" conv=notrunc status=none || return
    done
}

# MARK: Comparing

# Everything that lstat(2) tells of a tree and a copy keeps; names end with NUL, as they may have newlines.
# The size of a directory is its file system's own affair.
list_tree() {
    (cd "$1" && find . -printf '%y %m %U %G %n %T@ ' \( -type d -printf '- ' -o -printf '%s ' \) -printf '%l %p\0') |
        sort -z
}

compare_trees() {
    local differences
    list_tree "$tree" >"$work/list-before" && list_tree "$vault/tree" >"$work/list-after" || return
    if cmp -s "$work/list-before" "$work/list-after"; then
        pass "kinds, modes, owners, link counts, sizes, targets and times in nanoseconds are the same"
    else
        fail "metadata differ:"
        diff <(tr '\n\0' '?\n' <"$work/list-before") <(tr '\n\0' '?\n' <"$work/list-after") | cat -v | head -20
    fi
    # -H compares which names are one file; -A and -X compare access lists and extended attributes.
    local options=-aH
    [ -z "${has_acls:-}" ] || options+=A
    [ -z "${has_attributes:-}" ] || options+=X
    differences=$(rsync "$options" -n --specials --checksum --delete --itemize-changes -- "$tree/" "$vault/tree/" 2>&1)
    if [ -z "$differences" ]; then
        pass "contents, hard links${has_attributes:+, extended attributes}${has_acls:+, access lists} are the same (rsync ${options}n --checksum)"
    else
        fail "rsync sees differences:"
        printf '%s\n' "$differences" | cat -v | head -20
    fi
}

check_sparse() {
    local before after
    before=$(stat -c %b "$tree/odd/sparse") after=$(stat -c %b "$vault/tree/odd/sparse")
    if [ "$after" -le $((before + 2048)) ]; then
        pass "the sparse file of 1 GiB takes $((after / 2)) KiB in the vault, $((before / 2)) KiB before"
    else
        fail "the sparse file takes $after blocks in the vault, $before before"
    fi
}

# MARK: Searching the store

# Names and lines that would be seen if anything were stored as it is: long enough not to occur by chance.
make_patterns() {
    {
        printf '%s\n' "$secret" "$passphrase" 'WAVEfmt ' caseofname 'deep-17' '日本語' 'note-number-7'
        printf 'marker %s\nThe file\n' "$secret"
        find "$tree" -regextype posix-extended -regex '.*/[A-Za-z0-9._+-]{9,}' -printf '%f\n'
        find "$tree/system" -type f -size -64k -print0 | sort -z | awk 'BEGIN { RS = ORS = "\0" } NR % 20 == 1' |
            xargs -0 sed -n -s '10{/^[ -~]\{24,\}$/p}' --
    } | sort -u >"$work/patterns"
}

# Tells which files below the profile hold a pattern, or have it in their name.
search_store() {
    (cd "$COFFER_HOME" && grep -raFl -f "$work/patterns" -- .
    cd "$COFFER_HOME" && find . | grep -aF -f "$work/patterns") | sort -u
}

search() {
    local from=$EPOCHREALTIME found files
    found=$(search_store)
    files=$(find "$COFFER_HOME" -type f | wc -l)
    if [ -z "$found" ]; then
        pass "$1: none of $(wc -l <"$work/patterns") names and texts is in any of $files files, $(du -sm "$COFFER_HOME" | cut -f1) MiB ($(since "$from") s)"
    else
        fail "$1: readable in the store:"
        printf '%s\n' "$found" | cat -v | head
    fi
}

list_store() {
    (cd "$COFFER_HOME" && find . -type f -printf '    %11s  %P\n' | sort -k2 | head -12)
    local more=$(($(find "$COFFER_HOME" -type f | wc -l) - 12))
    [ "$more" -le 0 ] || tell "and $more more files of this kind"
}

# Lets the kernel forget what it has cached of the store, so that it is read from the disk.
forget_store() {
    find "$COFFER_HOME" -type f -exec sh -c 'for file; do sync -- "$file"; dd if="$file" iflag=nocache count=0 status=none; done' sh {} +
}

# The search must find what is really there: once in a file among noise, once in a name.
check_search() {
    local planted=$COFFER_HOME/vaults/planted found
    { head -c 3000000 /dev/urandom && printf 'marker %s' "$secret" && head -c 3000000 /dev/urandom; } >"$planted"
    : >"$COFFER_HOME/$secret"
    found=$(search_store)
    rm -- "$planted" "$COFFER_HOME/$secret"
    if [ "$found" = "$(printf './%s\n' "$secret" vaults/planted | sort)" ]; then
        pass "the same search finds a text and a name that were planted there"
    else
        fail "the search is blind: it found “$found” where two were planted"
    fi
}

# MARK: The story

require_coffer
for command in rsync mountpoint setfattr setfacl chattr; do
    command -v "$command" >/dev/null || stop "$command is missing; “make deps” installs it"
done

place=$(choose_place) || stop "no place for $((recording_mib * 3 + 1024)) MiB; say one with TMPDIR"
umask 077
TMPDIR=$place make_work demo
tree=$work/tree recording=$work/recording.wav vault=$work/mount/Archive
secret=$(od -An -N12 -tx1 /dev/urandom | tr -d ' \n')
passphrase="correct horse $(od -An -N8 -tx1 /dev/urandom | tr -d ' \n')"
export XDG_RUNTIME_DIR=$work COFFER_HOME=$work/profile COFFER_PASSPHRASE_FILE=$work/passphrase
printf '%s\n' "$passphrase" >"$COFFER_PASSPHRASE_FILE"
printf 'wrong' >"$work/wrong-passphrase"
mkdir "$work/mount"

printf '%sCoffer: encrypted vaults as folders%s\n' "$bold" "$plain"
tell "$("$coffer" version), as $(id -un), in $work"

heading '1. Real files'
make_tree && make_odd_files || stop "the files could not be made"
make_recording "$recording" || stop "the recording could not be made"
tree_bytes=$(find "$tree" -type f ! -name sparse -printf '%s\n' | awk '{ sum += $1 } END { printf "%d", sum }')
tree_files=$(find "$tree" -printf x | wc -c)
tell "$tree_files files, directories and links, $((tree_bytes / 1000000)) MB, of this system and of odd names"
tell "and a recording of $(stat -c %s "$recording") bytes"

heading '2. A profile, a vault, a mount'
timed 'coffer init: a profile behind a passphrase' 0 "$coffer" init --name Demo --vault Personal
timed 'coffer vault create Archive' 0 "$coffer" vault create Archive
"$coffer" mount --passphrase-file "$work/wrong-passphrase" "$work/mount" >/dev/null 2>&1
code=$?
if [ $code = 77 ]; then pass "a wrong passphrase is refused, with exit code 77"; else fail "a wrong passphrase: exit code $code"; fi
timed 'coffer mount' 0 "$coffer" mount "$work/mount"
is_mounted || stop "nothing is mounted"
tell "$(ls "$work/mount" | paste -sd' ') are folders now"

heading '3. Everything goes in'
timed "cp -a of $tree_files files" "$tree_bytes" cp -a -- "$tree" "$vault/tree"
timed 'cp of the recording' "$(stat -c %s "$recording")" cp --preserve=all -- "$recording" "$vault/recording.wav"
timed 'fsync of the recording and the tree: all is on the disk' 0 sync -- "$vault/recording.wav" "$vault/tree"
if [ "$("$vault/tree/odd/executable")" = "$secret runs" ]; then pass "a program runs from the vault"; else fail "a program does not run"; fi
make_patterns
search 'while it is mounted'

heading '4. What the storage can see'
timed 'coffer unmount' 0 "$coffer" unmount "$work/mount"
! is_mounted || stop "it is still mounted"
search 'after unmounting'
check_search
tell 'all that is there:'
list_store

heading '5. Mounted anew, everything is compared'
if touch "$work/mount/stray" 2>/dev/null; then
    fail "the bare mount point can be written into"
else
    pass "the bare mount point cannot be written into by mistake"
fi
forget_store
timed 'coffer mount' 0 "$coffer" mount "$work/mount"
timed 'reading the recording, byte for byte' "$(stat -c %s "$recording")" cmp -- "$recording" "$vault/recording.wav"
timed 'its middle second, as a player seeks' 0 cmp -i $((recording_mib * 524288)) -n 192000 -- "$recording" "$vault/recording.wav"
from=$EPOCHREALTIME
compare_trees || stop "the comparison could not be made"
check_sparse
tell "($(since "$from") s)"

heading '6. Work goes on in the vault'
timed 'moving, changing, removing' 0 bash -ec '
    cd "$1"; mv tree/odd moved; printf more >>moved/mode; truncate -s 100 recording.wav; rm -rf tree
    [ "$(tail -c 16 moved/mode)" = set-group-idmore ]; [ "$(stat -c %s recording.wav)" = 100 ]' bash "$vault"
timed 'coffer unmount' 0 "$coffer" unmount "$work/mount"
timed 'coffer check: every row and block is sound' 0 "$coffer" check
sed 's/^/    /' "$work/output"
search 'after all that'
list_store

heading 'Result'
if [ "$failures" = 0 ]; then
    printf '%sPASSED%s: %s files and a recording went in and came back the same; the store shows nothing of them. %s s\n' \
        "$bold" "$plain" "$tree_files" "$(since "$began")"
    exit 0
fi
printf '%sFAILED%s: %s of the checks above did not hold. %s s\n' "$bold" "$plain" "$failures" "$(since "$began")"
exit 1
