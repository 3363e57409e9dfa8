#!/bin/sh
# Installs what building, testing and showing Coffer needs and this machine lacks (Debian, Ubuntu).
# Says nothing and takes no time where all is there. Installs as root only; says what to install otherwise.
# With “build”: only what the compiler needs.
set -u

missing=
need() { missing="$missing $1"; }
optional=
want() { optional="$optional $1"; }

have_command() { command -v "$1" >/dev/null 2>&1 || [ -x "/usr/sbin/$1" ] || [ -x "/sbin/$1" ]; }
have_python_module() { python3 -c "import importlib.util as u; exit(not u.find_spec('$1'))" 2>/dev/null; }
have_library() { have_command pkg-config && pkg-config --exists "$1"; }

# What the compiler links with; Swift's toolchain brings no headers of the system.
[ -e /usr/include/stdio.h ] || need libc6-dev
[ -d /usr/include/c++ ] || need libstdc++-12-dev
have_command pkg-config || need pkg-config
have_library 'fuse3 >= 3.14' || need libfuse3-dev
have_library libsodium || need libsodium-dev
have_library libb2 || need libb2-dev
have_library libbsd || need libbsd-dev
have_library sqlite3 || need libsqlite3-dev
have_library 'libcrypto >= 3' || need libssl-dev
have_library libcurl || need libcurl4-openssl-dev
have_library expat || need libexpat1-dev
have_library libqrencode || need libqrencode-dev
have_command strip || need binutils

if [ "${1:-}" != build ]; then
# What mounts, and what the demonstration and the tests call.
have_command fusermount3 || need fuse3
have_command setfattr || need attr
have_command setfacl || need acl
have_command chattr || need e2fsprogs
have_command rsync || need rsync
have_command mountpoint || need util-linux
have_command awk || need mawk
have_command python3 || need python3
have_command git || need git
have_command mount || need mount
have_command systemd-analyze || need systemd
# What checks the shell scripts.
have_command shellcheck || need shellcheck
have_command sqlite3 || need sqlite3
# What explores the models of the protocol.
have_command spin || want spin
have_command cc || want gcc
# Shells whose completion is tested; bash is everywhere.
have_command zsh || want zsh
have_command fish || want fish
# A desktop's trash.
have_command gio || want libglib2.0-bin
# What reads the QR code of a recovery sheet.
have_command zbarimg || want zbar-tools
# Servers that remotes are tested with.
have_command apache2 || want apache2-bin
have_command openssl || want openssl
have_command ssh || want openssh-client
have_command sshd || want openssh-server
have_command rclone || want rclone
have_python_module moto ||
    python3 -m pip install --quiet 'moto[s3,server]' </dev/null >/dev/null 2>&1 ||
    echo "note: not installed: moto, from PyPI. The tests of S3 are skipped." >&2
fi

if ! have_command swift; then
    echo "note: there is no swift in PATH; Swift 6.3 or later is needed to build: https://www.swift.org/install" >&2
fi
[ -n "$missing$optional" ] || exit 0

can_install() { [ "$(id -u)" -eq 0 ] && have_command apt-get; }
export DEBIAN_FRONTEND=noninteractive
if [ -n "$optional" ]; then
    # shellcheck disable=SC2086 # a list of package names
    can_install && apt-get install -qq -y --no-install-recommends $optional </dev/null >/dev/null 2>&1 ||
        { can_install && apt-get update -qq </dev/null >/dev/null 2>&1 &&
            apt-get install -qq -y --no-install-recommends $optional </dev/null >/dev/null 2>&1; } ||
        echo "note: not installed:$optional. The tests that need them are skipped." >&2
fi
[ -n "$missing" ] || exit 0

if [ "$(id -u)" -ne 0 ] || ! have_command apt-get; then
    echo "These packages are missing (names as in Debian):$missing" >&2
    have_command apt-get && echo "Install them with: sudo apt-get install$missing" >&2
    exit 1
fi
echo "Installing$missing"
apt-get update -qq </dev/null || echo "note: apt-get update failed; going on with the lists that are there" >&2
# shellcheck disable=SC2086 # a list of package names
apt-get install -qq -y --no-install-recommends $missing </dev/null
