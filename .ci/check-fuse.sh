#!/bin/sh
# Fails where the tests could not mount, unless COFFER_SKIP_MOUNT=1 says that they need not.
[ "${COFFER_SKIP_MOUNT:-}" = 1 ] && exit 0
if [ ! -e /dev/fuse ]; then
    reason="/dev/fuse is missing (modprobe fuse; in a container: --device /dev/fuse --cap-add SYS_ADMIN)"
elif ! ( : <>/dev/fuse ) 2>/dev/null; then
    reason="/dev/fuse cannot be opened (mode 0666 is usual; in a container: --device /dev/fuse --cap-add SYS_ADMIN)"
elif [ "$(id -u)" -ne 0 ] && ! command -v fusermount3 >/dev/null; then
    reason="fusermount3 is missing (package fuse3)"
else
    exit 0
fi
echo "The tests mount file systems, but $reason." >&2
echo "COFFER_SKIP_MOUNT=1 leaves out the tests that mount." >&2
exit 1
