# shellcheck shell=bash
# People who share vaults, each with a profile and a mount below $work/NAME. Sourced after story.sh.
# shellcheck disable=SC2154 # work and coffer are variables of story.sh

# person NAME COMMAND…: runs coffer as a person.
person() {
    local name=$1
    shift
    COFFER_HOME=$work/$name/profile COFFER_PASSPHRASE_FILE=$work/passphrase XDG_RUNTIME_DIR=$work/$name \
        "$coffer" "$@"
}

# begin_person NAME WHO DEVICE: makes a profile, and mounts it.
begin_person() {
    mkdir -p "$work/$1/mount" && person "$1" init --name "$2" --device "$3" --strength interactive &&
        person "$1" mount "$work/$1/mount"
}

end_mounts() {
    local mount name
    for mount in "$work"/*/mount; do
        name=$(basename "$(dirname "$mount")")
        if mountpoint -q -- "$mount" 2>/dev/null; then
            person "$name" unmount "$mount" >/dev/null 2>&1 || umount -l -- "$mount"
        fi
        unprotect "$mount"
    done
}
