# Copies, archives, editors, locks. Read by Tests/applications.sh.
# shellcheck shell=bash

# A tree with links, holes, odd names, extended attributes and access lists, beside files of this system.
make_sample_tree() {
    local tree=$1
    mkdir -p "$tree/odd/empty" "$tree/odd/set-group" || stop "no sample tree"
    cp -a /usr/include/linux "$tree/headers"
    printf 'text\n' >"$tree/odd/"$'new\nline' && printf 'text\n' >"$tree/odd/ blanks "
    head -c 300000 /dev/urandom >"$tree/odd/noise"
    ln "$tree/odd/noise" "$tree/odd/hard link" && ln -s ../nowhere "$tree/odd/dangling"
    mkfifo "$tree/odd/pipe"
    truncate -s 64M "$tree/odd/sparse"
    printf middle | dd of="$tree/odd/sparse" bs=1M seek=33 conv=notrunc status=none
    setfattr -n user.origin -v 'some value' "$tree/odd/noise"
    setfacl -m u:12345:r-x,g:23456:r-- "$tree/odd/noise" && setfacl -d -m u:12345:rwx "$tree/odd/empty"
    chmod 2775 "$tree/odd/set-group" && touch -d '1969-07-20 20:17:40.123456789 UTC' "$tree/odd/ blanks "
    if [ "$(id -u)" -eq 0 ]; then chown 12345:23456 "$tree/odd/pipe" "$tree/odd/empty"; fi
}

# No difference in contents, metadata, links, extended attributes and access lists; times of access aside.
same_trees() {
    local differences
    differences=$(rsync -aHAXn --checksum --delete --itemize-changes -- "$1/" "$2/" 2>&1)
    [ -z "$differences" ] || { printf '%s\n' "$differences" | head -n 20; return 1; }
    [ "$(find "$1" | wc -l)" = "$(find "$2" | wc -l)" ]
}

check_rsync() {
    rsync -aHAXS -- "$work/sample/" "$vault/rsync/" || failed "rsync into the mount"
    mount_anew
    hold "rsync -aHAX into the mount" same_trees "$work/sample" "$vault/rsync"
    rsync -aHAXS -- "$vault/rsync/" "$work/back/" || failed "rsync out of the mount"
    hold "rsync -aHAX back out of it" same_trees "$work/sample" "$work/back"
    rm -rf "$work/back"
}

check_tar() {
    tar -C "$work" --xattrs --xattrs-include='*' --acls --sparse -cf "$vault/sample.tar" sample || failed "tar -c"
    mount_anew
    mkdir "$vault/tar"
    tar -C "$vault/tar" --warning=no-timestamp --xattrs --xattrs-include='*' --acls -xpf "$vault/sample.tar" || failed "tar -x"
    mount_anew
    hold "tar --xattrs --acls there and back" same_trees "$work/sample" "$vault/tar/sample"
    rm -rf "$vault/tar" "$vault/sample.tar"
}

takes_little() {
    local blocks
    blocks=$(stat -c %b -- "$1")
    [ "$blocks" -le 4096 ] || { echo "$1 takes $blocks blocks"; return 1; }
}

check_sparse_copy() {
    cp --sparse=always "$work/sample/odd/sparse" "$vault/always" && cp "$vault/always" "$vault/auto" || failed "cp"
    mount_anew
    hold "cp --sparse=always makes holes" takes_little "$vault/always"
    hold "cp sees holes" takes_little "$vault/auto"
    hold "a sparse copy reads the same" cmp "$work/sample/odd/sparse" "$vault/auto"
    rm "$vault/always" "$vault/auto"
}

# Editors that write a new file and rename it over the old one, or keep a copy.
check_editors() {
    local lines=20000
    seq "$lines" >"$vault/text" && chmod 640 "$vault/text"
    hold "sed -i" sed -i 's/^1$/one/' "$vault/text"
    hold "perl -i" perl -i.old -pe 's/^2$/two/' "$vault/text"
    { echo one && echo two && seq 3 "$lines"; } >"$work/text"
    if have vim vim-tiny || have vi vim-tiny; then
        hold "vim, by a rename" "$(command -v vim || command -v vi)" -u NONE -N -es \
            -c 'set writebackup backupcopy=no fsync' -c '%s/^3$/three/' -c wq "$vault/text"
        sed -i 's/^3$/three/' "$work/text"
    else
        leave_out "vim"
    fi
    mount_anew
    hold "what the editors left" cmp "$work/text" "$vault/text"
    hold "its mode" test "$(stat -c %a "$vault/text")" = 640
    rm "$vault"/text*
}

check_archives() {
    if have zip zip && have unzip unzip; then
        (cd "$work/sample" && zip -qry "$vault/headers.zip" headers) || failed "zip"
        mount_anew
        mkdir "$vault/unzipped" && unzip -q "$vault/headers.zip" -d "$vault/unzipped" || failed "unzip"
        hold "zip and unzip" diff -r "$work/sample/headers" "$vault/unzipped/headers"
        rm -rf "$vault/unzipped" "$vault/headers.zip"
    else
        leave_out "zip"
    fi
    if have 7zz 7zip; then
        (cd "$work/sample" && 7zz a -bd -mx1 "$vault/headers.7z" headers) >"$work/output" || failed "7zz a"
        mount_anew
        (cd "$vault" && 7zz x -bd -ounpacked headers.7z) >"$work/output" || failed "7zz x"
        hold "7z there and back" diff -r "$work/sample/headers" "$vault/unpacked/headers"
        rm -rf "$vault/unpacked" "$vault/headers.7z"
    else
        leave_out "7z"
    fi
}

# Adds 1 to a number in a file, a hundred times, each time by reading and writing; $1 locks around it.
count_up() {
    local process processes=()
    echo 0 >"$vault/count"
    for process in 1 2 3 4; do
        (for _ in {1..25}; do "$1" "$process" || exit; done) &
        processes+=($!)
    done
    for process in "${processes[@]}"; do wait "$process" || return; done
    echo "counted to $(cat "$vault/count")"
    [ "$(cat "$vault/count")" = 100 ]
}

add_one() { read -r number <"$vault/count" && echo $((number + 1)) >"$vault/count"; }
# link(2) of a file of one's own to the lock's name, as mail programs do it.
add_with_link() {
    echo "$1" >"$vault/own-$1"
    until ln "$vault/own-$1" "$vault/count.lock" 2>/dev/null; do sleep 0.01; done
    add_one
    rm "$vault/count.lock"
}
add_with_flock() { (flock 9 && add_one) 9>>"$vault/lock"; }
add_with_fcntl() {
    perl -MFcntl=:DEFAULT -e 'my ($dir) = @ARGV;
        open my $lock, "+>>", "$dir/lock" or die;
        my $whole = pack "s s x4 q q i x4", F_WRLCK, 0, 0, 0, 0;
        fcntl($lock, F_SETLKW, $whole) or die "fcntl: $!";
        open my $in, "<", "$dir/count" or die; my $number = <$in>; close $in;
        open my $out, ">", "$dir/count" or die; print $out $number + 1, "\n"; close $out or die;' "$vault"
}

check_lock_files() {
    hold "locks by link(2) keep four processes apart" count_up add_with_link
    if have dotlockfile liblockfile-bin; then
        hold "dotlockfile locks" dotlockfile -l -r 0 "$vault/mail.lock"
        hold "dotlockfile refuses what is locked" test "$(dotlockfile -l -r 0 "$vault/mail.lock"; echo $?)" = 4
        hold "dotlockfile unlocks" dotlockfile -u "$vault/mail.lock"
    else
        leave_out "dotlockfile"
    fi
    rm -f "$vault"/own-* "$vault/count"
}

check_locks() {
    hold "flock keeps four processes apart" count_up add_with_flock
    hold "fcntl locks keep four processes apart" count_up add_with_fcntl
    rm -f "$vault/lock" "$vault/count"
}

# Two processes map one file; what one writes the other reads, and the file has it afterwards.
check_mapping() {
    have /usr/bin/python3 python3 || { leave_out "shared mappings"; return; }
    hold "a mapping shared by two processes" /usr/bin/python3 "$here/Tests/applications/mapping.py" "$vault/mapped"
    mount_anew
    hold "the mapping's file, mounted anew" /usr/bin/python3 "$here/Tests/applications/mapping.py" --check "$vault/mapped"
}
