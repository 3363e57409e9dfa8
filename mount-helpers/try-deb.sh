#!/bin/sh
# Tests the Debian package in a fresh Debian 12: installs it, uses it, purges it, and checks that nothing is left.
#
#   mount-helpers/try-deb.sh PACKAGE.deb
#
# Needs root, debootstrap, and Debian's archive (MIRROR). Everything happens in separate namespaces, in a temporary
# directory. TRY_DEB_ROOT names another directory for the fresh system, which is created if it is missing, and kept.
set -eu
package=$(realpath -- "$1")
mirror=${MIRROR:-http://deb.debian.org/debian}

if [ -z "${TRY_DEB_INSIDE:-}" ]; then
    [ "$(id -u)" -eq 0 ] || {
        echo "This script creates a system in a directory, which requires root: sudo $0 $1" >&2
        exit 1
    }
    command -v debootstrap >/dev/null || {
        echo "debootstrap is missing. Install it with: apt-get install debootstrap" >&2
        exit 1
    }
    if [ -n "${TRY_DEB_ROOT:-}" ]; then
        root=$TRY_DEB_ROOT
    else
        root=$(mktemp -d)
        trap 'rm -rf --one-file-system -- "$root"' EXIT
    fi
    code=0
    TRY_DEB_INSIDE=$root unshare --mount --propagation private --pid --fork --kill-child -- sh "$0" "$package" || code=$?
    exit $code
fi

root=$TRY_DEB_INSIDE
step() { printf '== %s\n' "$*"; }
fail() {
    printf 'FAILED: %s\n' "$*" >&2
    exit 1
}
here() { chroot "$root" env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root DEBIAN_FRONTEND=noninteractive "$@"; }
# Lists every file of the system, except those of apt, dpkg and the mounts below.
list() {
    (cd "$root" && find . -xdev \( -path ./proc -o -path ./dev -o -path ./sys -o -path ./run -o -path ./tmp -o \
        -path ./var/lib/apt -o -path ./var/cache -o -path ./var/lib/dpkg -o -path ./var/log \) -prune -o -print | sort)
}

if [ ! -e "$root/etc/debian_version" ]; then
    step "A fresh Debian 12 in $root"
    debootstrap --variant=minbase bookworm "$root" "$mirror" >"$root.log" 2>&1 || {
        tail "$root.log" >&2
        exit 1
    }
    rm -f "$root.log"
fi
chmod 755 "$root"
mount --bind "$root" "$root"
cd "$root"
mount -t proc proc "$root/proc"
mount -t tmpfs -o mode=755 dev "$root/dev"
mount -t tmpfs -o mode=755 run "$root/run"
mount -t tmpfs -o mode=1777 tmp "$root/tmp"
mknod -m 666 "$root/dev/fuse" c 10 229
mknod -m 666 "$root/dev/null" c 1 3
mknod -m 666 "$root/dev/zero" c 1 5
mknod -m 666 "$root/dev/random" c 1 8
mknod -m 666 "$root/dev/urandom" c 1 9
mknod -m 666 "$root/dev/tty" c 5 0
ln -s /proc/self/fd "$root/dev/fd"
cp -L /etc/resolv.conf "$root/run/resolv.conf"
[ ! -e "$root/etc/resolv.conf" ] || mount --bind "$root/run/resolv.conf" "$root/etc/resolv.conf"
# systemd creates this link at boot; fusermount3 requires it.
[ -e "$root/etc/mtab" ] || ln -s ../proc/self/mounts "$root/etc/mtab"
cp "$package" "$root/tmp/coffer.deb"

step "The dependencies of the package"
here apt-get -qq update
# Installed first, so that anything left at the end comes from this package.
depends=$(dpkg-deb -f "$package" Depends | tr ',' '\n' | sed 's/(.*//; s/|.*//')
# shellcheck disable=SC2086 # a list of package names
here apt-get -qq -y --no-install-recommends install $depends mount </dev/null >/dev/null 2>&1 ||
    fail "the dependencies cannot be installed"
list >"$root/run/before"

step "dpkg -i"
here dpkg -i /tmp/coffer.deb
list >"$root/run/installed"
here coffer --version

step "A profile, mounted by mount -t coffer"
# shellcheck disable=SC2016 # expanded in there
here sh -euc '
    umask 077
    mkdir -p /etc/coffer /run/try/point
    echo "correct horse" >/etc/coffer/try.passphrase
    coffer init --home /run/try/profile --strength interactive --passphrase-file /etc/coffer/try.passphrase
    mount -t coffer /run/try/profile /run/try/point -o passphrase-file=/etc/coffer/try.passphrase
    echo kept >/run/try/point/Personal/file
    umount /run/try/point
    echo "/run/try/profile /run/try/point coffer nofail,passphrase-file=/etc/coffer/try.passphrase 0 0" >/run/try/fstab
    mount -a -T /run/try/fstab
    [ "$(cat /run/try/point/Personal/file)" = kept ]
    findmnt /run/try/point
    umount /run/try/point
    ! mount -t coffer /run/try/none /run/try/point
    rm /etc/coffer/try.passphrase
'
step "The profile of an ordinary user, mounted by root"
# shellcheck disable=SC2016 # expanded in there
here sh -euc '
    id tryer >/dev/null 2>&1 || useradd --create-home --home-dir /run/tryer tryer
    cd /run/tryer
    umask 077
    echo "correct horse" >/etc/coffer/tryer.passphrase
    setpriv --reuid tryer --regid tryer --init-groups env HOME=/run/tryer coffer init --strength interactive \
        --passphrase-file - </etc/coffer/tryer.passphrase
    install -d -o tryer /run/tryer-point
    mount -t coffer none /run/tryer-point -o uid=tryer,passphrase-file=/etc/coffer/tryer.passphrase
    findmnt -n -o SOURCE,FS-OPTIONS /run/tryer-point | grep "user_id=$(id -u tryer),"
    setpriv --reuid tryer --regid tryer --init-groups sh -c "echo kept >/run/tryer-point/Personal/file"
    umount /run/tryer-point
    [ -z "$(findmnt -n -t fuse.coffer)" ]
    rm /etc/coffer/tryer.passphrase
    userdel tryer
'
step "dpkg --purge"
here dpkg --purge coffer
list >"$root/run/after"
left=$(diff "$root/run/before" "$root/run/after" | grep '^[<>]' | grep -v '/etc/\(passwd\|group\|shadow\|gshadow\|subuid\|subgid\)-$') || true
[ -z "$left" ] || fail "the package left changes behind:
$left"
[ "$(wc -l <"$root/run/installed")" -gt "$(wc -l <"$root/run/before")" ] || fail "the package installed nothing"
printf 'PASSED: installed, used and purged, with nothing left.\n'
