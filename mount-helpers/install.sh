#!/bin/sh
# Installs or removes Coffer's helpers, units, menu entry and manual pages. “make install” and “make uninstall” call
# this script.
#
#   mount-helpers/install.sh install|uninstall
#
# Reads DESTDIR, PREFIX and SBINDIR from the environment.
set -eu
cd "$(dirname "$0")"
: "${PREFIX:?}" "${SBINDIR:?}" "${DESTDIR:=}"
bin=$PREFIX/bin libexec=$PREFIX/libexec units=$PREFIX/lib/systemd man=$PREFIX/share/man

# Source, mode, and target.
files="
mount.coffer.in 755 $SBINDIR/mount.coffer
umount.fuse.coffer.in 755 $SBINDIR/umount.fuse.coffer
user/coffer.service.in 644 $units/user/coffer.service
system/coffer@.service.in 644 $units/system/coffer@.service
desktop.in 755 $libexec/coffer/desktop
coffer.desktop.in 644 $PREFIX/share/applications/coffer.desktop
mount.coffer.8 644 $man/man8/mount.coffer.8
umount.fuse.coffer.8 644 $man/man8/umount.fuse.coffer.8
umount.fuse.coffer.8 644 $man/man8/mount.fuse.coffer.8
"
# “-t fuse.coffer” is another name for the type, and the one that “mount -o remount” looks for.
link=$SBINDIR/mount.fuse.coffer

case $1 in
install)
    printf '%s' "$files" | while read -r source mode target; do
        [ -n "$source" ] || continue
        sed -e "s|@bindir@|$bin|g" -e "s|@libexecdir@|$libexec|g" "$source" |
            install -D -m "$mode" /dev/stdin "$DESTDIR$target"
    done
    ln -sf mount.coffer "$DESTDIR$link"
    case $SBINDIR in
    /sbin | /usr/sbin) ;;
    *)
        echo "note: mount(8) looks for mount.coffer only in /sbin, but it is in $SBINDIR. For “mount -t coffer”" \
            "and fstab, install with SBINDIR=/sbin." >&2
        ;;
    esac
    ;;
uninstall)
    printf '%s' "$files" | while read -r source mode target; do
        [ -z "$source" ] || rm -f "$DESTDIR$target"
    done
    rm -f "$DESTDIR$link"
    rmdir "$DESTDIR$libexec/coffer" 2>/dev/null || true
    ;;
esac
