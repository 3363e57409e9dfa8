#!/bin/sh
# Makes a Debian package of the files that “make install” installs. “make deb” calls this script.
#
#   mount-helpers/build-deb.sh DIRECTORY
#
# The package's library dependencies are read from the binary. Its maintainer is DEBFULLNAME and DEBEMAIL, otherwise
# the user of git.
set -eu
umask 022
cd "$(dirname "$0")/.."
out=$1
command -v dpkg-shlibdeps >/dev/null || {
    echo "dpkg-shlibdeps is missing. Install it with: sudo apt-get install dpkg-dev" >&2
    exit 1
}

rm -rf "$out"
mkdir -p "$out/root/DEBIAN" "$out/debian"
out=$(cd "$out" && pwd)
root=$out/root
# Install only below this root, whatever DESTDIR, PREFIX and SBINDIR the environment sets.
make --no-print-directory DESTDIR="$root" PREFIX=/usr SBINDIR=/usr/sbin install >"$out/install.log" 2>&1 || {
    cat "$out/install.log" >&2
    exit 1
}
version=$("$root/usr/bin/coffer" --version)
architecture=$(dpkg --print-architecture)
maintainer="${DEBFULLNAME:-$(git config user.name)} <${DEBEMAIL:-$(git config user.email)}>"
date=${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct)}

# Use Debian's paths.
rm "$root/usr/share/doc/coffer/LICENSE"
mkdir -p "$root/usr/share/zsh/vendor-completions"
mv "$root/usr/share/zsh/site-functions/_coffer" "$root/usr/share/zsh/vendor-completions/_coffer"
rmdir "$root/usr/share/zsh/site-functions"
# The directory for passphrase files and for the units' settings.
install -d -m 700 "$root/etc/coffer"
# Shells source completions; they do not execute them.
sed -i '1{/^#!/d}' "$root/usr/share/bash-completion/completions/coffer"
mkdir -p "$root/usr/share/lintian/overrides"
cat >"$root/usr/share/lintian/overrides/coffer" <<END
# Contains passphrases.
coffer: non-standard-dir-perm 0700 != 0755 [etc/coffer/]
END
strip --strip-unneeded --remove-section=.comment --remove-section=.note "$root/usr/bin/coffer"
gzip -9n "$root"/usr/share/man/man?/*.?

cat >"$root/usr/share/doc/coffer/copyright" <<END
Format: https://www.debian.org/doc/packaging-manuals/copyright-format/1.0/
Upstream-Name: coffer

Files: *
Copyright: 2026 the contributors of Coffer
License: Apache-2.0

License: Apache-2.0
 On Debian systems, the text of the license is in
 /usr/share/common-licenses/Apache-2.0.
END
{
    printf 'coffer (%s) unstable; urgency=medium\n\n' "$version"
    printf '  * See /usr/share/doc/coffer/CHANGELOG.md.gz for what is new.\n\n'
    printf ' -- %s  %s\n' "$maintainer" "$(LC_ALL=C date -u -R -d "@$date")"
} | gzip -9n >"$root/usr/share/doc/coffer/changelog.gz"
gzip -9nc CHANGELOG.md >"$root/usr/share/doc/coffer/CHANGELOG.md.gz"

# dpkg-shlibdeps requires a source package.
printf 'Source: coffer\n\nPackage: coffer\nArchitecture: any\n' >"$out/debian/control"
libraries=$(cd "$out" && dpkg-shlibdeps -O root/usr/bin/coffer 2>"$out/shlibdeps.log" | sed -n 's/^shlibs:Depends=//p')
[ -n "$libraries" ] || {
    cat "$out/shlibdeps.log" >&2
    exit 1
}
size=$(du -k -s --apparent-size "$root" | cut -f1)

cat >"$root/DEBIAN/control" <<END
Package: coffer
Version: $version
Architecture: $architecture
Maintainer: $maintainer
Installed-Size: $size
Depends: $libraries, fuse3
Recommends: mount, systemd
Section: utils
Priority: optional
Description: encrypted vaults as folders
 Coffer shows encrypted vaults as folders. A vault is a directory, and all
 programs work in it as in any other: it is a real filesystem, with POSIX
 semantics. Everything that Coffer puts on a disk is sealed: contents, names,
 sizes, structure.
 .
 Vaults can be mounted at login by systemd, and at boot by fstab.
END
(cd "$root" && find usr -type f -print0 | sort -z | xargs -0 md5sum) >"$root/DEBIAN/md5sums"
find "$root" -print0 | xargs -0 touch --no-dereference --date="@$date"
dpkg-deb --root-owner-group -Zxz --build "$root" "$out/coffer_${version}_$architecture.deb"
