#!/usr/bin/env bash
# Shows how two people share a vault through a folder that neither trusts, checks every step, and cleans up: two
# profiles, two mounts; an invite, a request, changes that appear on the other side; work while the folder is gone,
# and a merge; a removal, after which the removed reads nothing new. Exit code 0: all held.
#
#   Tests/demo-sharing.sh [path of the coffer binary]
# shellcheck source-path=SCRIPTDIR
. "$(dirname "${BASH_SOURCE[0]}")/story.sh"
. "$here/Tests/people.sh"

# appears TEXT COMMAND…: waits up to 20 s until it succeeds, and tells how long that took.
appears() {
    local text=$1 from=$EPOCHREALTIME
    shift
    until "$@" >/dev/null 2>&1; do
        if [ "$(since "$from" | cut -d. -f1)" -ge 20 ]; then fail "$text: not within 20 s"; return; fi
        sleep 0.02
    done
    pass "$text (after $(since "$from") s)"
}

has_text() { [ "$(cat -- "$1" 2>/dev/null)" = "$2" ]; }
is_there() { [ -e "$1" ]; }
is_gone() { ! [ -e "$1" ]; }

# MARK: The story

require_coffer
umask 077
make_work sharing
secret=$(od -An -N12 -tx1 /dev/urandom | tr -d ' \n')
printf 'correct horse %s\n' "$secret" >"$work/passphrase"
remote=$work/remote alice=$work/alice/mount/Plans bob=$work/bob/mount/Plans
mkdir "$remote"

printf '%sCoffer: two people, one vault, and a folder that neither trusts%s\n' "$bold" "$plain"

heading '1. Alice publishes a vault and invites Bob'
holds 'Alice has a profile and a mount' begin_person alice Alice laptop
holds 'Bob has a profile and a mount, elsewhere' begin_person bob Bob desktop
holds 'mkdir makes the vault Plans' mkdir "$alice"
mkdir "$alice/2026" && printf 'the first line of %s\n' "$secret" >"$alice/2026/plan.txt"
head -c 20000000 /dev/urandom >"$alice/recording.wav"
holds 'coffer remote add: Plans is at the folder' person alice remote add Plans "file://$remote"
invite=$(person alice member invite Plans --role writer) || stop 'there is no invite'
tell "an invite: ${invite:0:40}…"

heading '2. Bob joins: nobody presses a second button'
holds 'coffer join' person bob join "$invite" --as Plans
appears 'the first file is in his mount' has_text "$bob/2026/plan.txt" "the first line of $secret"
appears 'the recording is the same, fetched when it is read' cmp "$alice/recording.wav" "$bob/recording.wav"
person alice member list Plans | sed 's/^/    /'

heading '3. Each sees what the other does'
for number in 1 2 3; do
    printf 'alice %s' "$number" >"$alice/note-$number"
    appears "a file of Alice's is in Bob's mount" has_text "$bob/note-$number" "alice $number"
done
printf 'bob' >"$bob/answer"
appears "a file of Bob's is in Alice's mount" has_text "$alice/answer" bob
mv "$bob/2026" "$bob/this year"
appears 'a folder that Bob renames has its new name' is_there "$alice/this year/plan.txt"
rm "$alice/note-1"
appears 'a file that Alice removes is gone' is_gone "$bob/note-1"

heading '4. The folder is gone for a while; both go on'
person alice sync Plans >/dev/null 2>&1
person bob sync Plans >/dev/null 2>&1
mv "$remote" "$remote.away"
printf 'what Alice wrote' >"$alice/answer"
printf 'what Bob wrote' >"$bob/answer"
mkdir "$alice/same folder" "$bob/same folder"
printf 'a' >"$alice/same folder/of alice" && printf 'b' >"$bob/same folder/of bob"
tell "$(person alice status | grep -a 'not synced' | head -1)"
mv "$remote.away" "$remote"
holds 'coffer sync: Alice sends' person alice sync Plans
holds 'coffer sync: Bob merges and sends' person bob sync Plans
holds 'coffer sync: Alice merges' person alice sync Plans
appears 'the folder that both made is one, with both files' \
    test -e "$alice/same folder/of bob" -a -e "$bob/same folder/of alice"
appears 'both versions of the file are in both mounts' bash -c \
    'for place; do cat "$place"/answer* | grep -q Alice && cat "$place"/answer* | grep -q Bob || exit 1; done' \
    bash "$alice" "$bob"
person alice conflicts | sed 's/^/    /'
if diff -r "$alice" "$bob" >"$work/output"; then
    pass 'the two mounts are the same, file by file'
else
    fail 'the mounts differ:'
    head "$work/output"
fi

heading '5. Alice removes Bob; the keys rotate'
holds 'coffer member remove' person alice member remove --yes Plans Bob
printf 'written afterwards: %s' "$secret" >"$alice/after"
holds 'coffer sync: Alice sends what she wrote afterwards' person alice sync Plans
person bob sync Plans >"$work/output" 2>&1
tell "Bob: $(tail -1 "$work/output")"
sleep 1
if [ -e "$bob/after" ]; then fail 'Bob has what was written afterwards'; else pass 'Bob has nothing of what was written afterwards'; fi
if has_text "$alice/this year/plan.txt" "the first line of $secret"; then
    pass 'Alice reads everything, old and new'
else
    fail 'Alice does not read what she wrote'
fi
person alice member removed Plans | sed 's/^/    /'

heading '6. What the folder can see'
printf '%s\n' "$secret" 'what Alice wrote' 'what Bob wrote' 'same folder' 'plan.txt' 'recording.wav' Alice Bob laptop \
    >"$work/patterns"
if found=$(grep -raFl -f "$work/patterns" -- "$remote"; find "$remote" | grep -aF -f "$work/patterns" | grep -v "^$remote$") &&
    [ -n "$found" ]; then
    fail 'readable in the folder:'
    printf '%s\n' "$found" | head
else
    pass "none of $(wc -l <"$work/patterns") names and texts is in any of its $(find "$remote" -type f | wc -l) files"
fi
for name in alice bob; do holds "$name unmounts" person "$name" unmount "$work/$name/mount"; done
for name in alice bob; do holds "coffer check: $name's store is sound" person "$name" check; done

heading 'Result'
if [ "$failures" = 0 ]; then
    printf '%sPASSED%s: two people shared a vault through a folder that saw nothing of it. %s s\n' \
        "$bold" "$plain" "$(since "$began")"
    exit 0
fi
printf '%sFAILED%s: %s of the checks above did not hold. %s s\n' "$bold" "$plain" "$failures" "$(since "$began")"
exit 1
