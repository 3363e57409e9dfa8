#!/usr/bin/env python3
"""Profiles and an index with one fault each: docs/format.md, "Profile", "Profile body", "Index".

usage: refusals.py PROFILE PASSPHRASE_FILE COFFER

The worked reader of docs/format.md, as it stands there, refuses each of them; profiles.py and Coffer refuse the same
profiles. The profile is not in use, and has a passphrase and a recovery key. All faults are in copies of it.
"""

import os
import shutil
import struct
import subprocess
import sys
import tempfile

from local import read, reader, write
from primitives import Invalid, derive, purpose_hash, require, u16, u32
from profiles import open_profile
from writing import seal, seal_record

NONCE = bytes(range(24))
WRONG = (Invalid, AssertionError, struct.error)


class Parts:
    """The parts of the file `profile`."""

    def __init__(self, file, passphrase):
        self.head, at, self.methods = file[:36], 38, []
        for _ in range(struct.unpack_from("<H", file, 36)[0]):
            kind, length = struct.unpack_from("<HI", file, at)
            self.methods.append((kind, file[at + 6 : at + 6 + length]))
            at += 6 + length
        self.records, body, at = [], reader["unlock"](file, passphrase), 0
        while at < len(body):
            kind, length = struct.unpack_from("<HI", body, at)
            self.records.append((kind, body[at + 6 : at + 6 + length]))
            at += 6 + length
        require([kind for kind, _ in self.methods] == [1, 2], "a profile with other methods than are needed")
        method = self.methods[0][1]
        salt, passes, kibibytes = struct.unpack_from("<16sII", method)
        root = reader["argon2id"](32, passphrase, salt, passes, kibibytes * 1024)
        wrap = derive(root, b"profile wrap")
        self.key = reader["open_record"](method[106:178], wrap, self.head[12:28] + method[:34])

    def file(self):
        file = self.head + u16(len(self.methods)) + written(self.methods)
        key = derive(self.key, b"profile body", self.head[12:28])
        body = seal_record(key, NONCE, self.head, written(self.records))
        file += u32(len(body)) + body
        return file + purpose_hash(b"profile", file)

    def change(self, kind, change):
        """Changes the first record of the body of a kind."""
        at = [kind for kind, _ in self.records].index(kind)
        self.records[at] = kind, change(self.records[at][1])


def written(records):
    return b"".join(u16(kind) + u32(len(record)) + record for kind, record in records)


# MARK: The faults of a profile


def nothing(parts):
    """No fault: what is written here is a profile."""


def methods_in_another_order(parts):
    parts.methods.reverse()


def an_unknown_method(parts):
    parts.methods.append((4, bytes(32)))


def a_recovery_key_that_is_too_long(parts):
    parts.methods[1] = 2, parts.methods[1][1] + b"\0"


def a_recovery_key_of_another_version(parts):
    key = parts.methods[1][1]
    parts.methods[1] = 2, key[:16] + u16(2) + key[18:]


def a_passphrase_that_is_too_long(parts):
    parts.methods[0] = 1, parts.methods[0][1] + b"\0"


def a_revoked_key_that_is_too_short(parts):
    parts.methods.append((3, bytes(31)))


def an_unknown_record(parts):
    parts.records.append((13, b""))


def a_vault_that_is_too_long(parts):
    parts.change(3, lambda record: record + b"\0")


def a_slot_of_two_vaults(parts):
    parts.records.append(next(record for record in parts.records if record[0] == 3))


def no_device(parts):
    parts.records = [record for record in parts.records if record[0] != 2]


FAULTS = [
    methods_in_another_order, an_unknown_method, a_recovery_key_that_is_too_long, a_recovery_key_of_another_version,
    a_passphrase_that_is_too_long, a_revoked_key_that_is_too_short, an_unknown_record, a_vault_that_is_too_long,
    a_slot_of_two_vaults, no_device,
]

# MARK: Who refuses them


def readers_that_accept(file, passphrase):
    accepting = []
    for name, read_profile in (
            ("the worked reader", lambda: reader["vaults"](reader["unlock"](file, passphrase))),
            ("profiles.py", lambda: open_profile(file, passphrase))):
        try:
            read_profile()
            accepting.append(name)
        except WRONG:
            pass
    return accepting


def coffer_ends_with(coffer, home, passphrase_file):
    environment = dict(os.environ, COFFER_HOME=home, COFFER_PASSPHRASE_FILE=passphrase_file)
    return subprocess.run([coffer, "vault", "list"], env=environment, capture_output=True, check=False).returncode


def check_profiles(profile, passphrase_file, coffer):
    file, passphrase = read(os.path.join(profile, "profile")), read(passphrase_file).removesuffix(b"\n")
    with tempfile.TemporaryDirectory() as home:
        for fault in [nothing] + FAULTS:
            title = fault.__name__.replace("_", " ")
            parts = Parts(file, passphrase)
            fault(parts)
            write(os.path.join(home, "profile"), parts.file())
            os.chmod(os.path.join(home, "profile"), 0o600)
            accepting = readers_that_accept(parts.file(), passphrase)
            ended = coffer_ends_with(coffer, home, passphrase_file)
            require(len(accepting) == (2 if fault is nothing else 0), f"{title}: accepted by {accepting}")
            require(ended == (0 if fault is nothing else 65), f"{title}: coffer ends with {ended}")


def check_index(profile, passphrase_file):
    """An index of an unknown version is refused by the worked reader."""
    passphrase = read(passphrase_file).removesuffix(b"\n")
    body = reader["unlock"](read(os.path.join(profile, "profile")), passphrase)
    vault, _, store, _ = reader["vaults"](body)[0]
    with tempfile.TemporaryDirectory() as copy:
        shutil.copytree(os.path.join(profile, "vaults", vault.hex()), copy, dirs_exist_ok=True)
        reader["open_index"](copy, vault, store, os.path.join(copy, "plain")).close()
        path, key = os.path.join(copy, "index.sqlite"), derive(store, b"index page", vault)
        sealed = read(path)
        page = bytearray(reader["open_unit"](sealed[:4096], key, vault, 0, 0)[:4056])
        if os.path.exists(path + "-wal"):
            os.remove(path + "-wal")
        for version in (0, 3, 4, 7):
            page[60:64] = version.to_bytes(4, "big")
            unit = seal(key, NONCE, b"\1\0" + vault + bytes(8), bytes(page)) + NONCE
            write(path, unit + sealed[4096:])
            try:
                reader["open_index"](copy, vault, store, os.path.join(copy, "plain"))
            except WRONG:
                continue
            raise Invalid(f"an index of version {version} is accepted")


def main(profile, passphrase_file, coffer):
    check_profiles(profile, passphrase_file, coffer)
    check_index(profile, passphrase_file)
    print(f"{len(FAULTS) + 1} faults are refused")


if __name__ == "__main__":
    try:
        main(*sys.argv[1:])
    except (Invalid, OSError) as error:
        sys.exit(f"refusals.py: {type(error).__name__}: {error}")
