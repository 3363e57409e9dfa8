#!/usr/bin/env python3
"""Runs the worked reader of docs/format.md as it stands there, and checks the digests of rows.

usage: local.py PROFILE PASSPHRASE_FILE VAULT

Lists the regular files of a vault of a profile that is not in use: a line for each, with the path, how many bytes it
has, and their hash. To standard error goes what was found of all vaults, and which files are on a remote only.
"""

import os
import sqlite3
import struct
import sys
import tempfile
from hashlib import blake2b

from listing import file_detail
from primitives import Invalid, argon2id, derive, open_sealed, require, u16, u32

DOCUMENT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "docs", "format.md")


class Damaged(Invalid):
    """Pages that do not open."""


class NotHere(Exception):
    """Contents that are on a remote only."""


def read(path):
    with open(path, "rb") as file:
        return file.read()


def read_or_empty(path):
    return read(path) if os.path.exists(path) else b""


def write(path, content):
    with open(path, "wb") as file:
        file.write(content)


def worked_reader():
    """The names that the code of the document defines."""
    with open(DOCUMENT, encoding="utf-8") as file:
        code = file.read().split("## Worked reader", 1)[1].split("```python\n", 1)[1].split("\n```", 1)[0]
    names = {
        "blake2b": blake2b, "struct": struct, "sqlite3": sqlite3, "read": read, "read_or_empty": read_or_empty,
        "write": write, "CryptoError": Invalid, "Damaged": Damaged, "NotHere": NotHere,
        "xchacha_decrypt": lambda sealed, aad, nonce, key: open_sealed(key, nonce, aad, sealed),
        "argon2id": lambda _, passphrase, salt, opslimit, memlimit: argon2id(
            passphrase, salt, opslimit, memlimit // 1024),
    }
    exec(compile(code, "docs/format.md", "exec"), names)
    return names


reader = worked_reader()
open_unit, open_intents = reader["open_unit"], reader["open_intents"]

TABLES = [
    "items", "entries", "extents", "attributes", "packs", "contents", "orphans", "remote_extents", "remote_pages",
    "fact_items", "fact_entries", "fact_attributes", "logs", "fact_state", "journal", "unsent", "kept",
    "history", "moments", "versions", "holes", "authors", "snapshots"]


def item_fields(row):
    """A row of `items`: the fields of the digest, and of an intent ("Row digest", "Intent log")."""
    *numbers, origin, target = row
    return struct.pack("<q16sIIIIqqqqqqqqII", *numbers) + (origin or row[1]) + target


def digest_message(table, row):
    """What of a row is hashed ("Row digest")."""
    return bytes([table]) + fields(table, row)


def fields(table, row):
    if table == 1:
        return item_fields(row)
    if table == 2:
        parent, name, item, kind, cookie, unsent = row
        return struct.pack("<qqBqB", parent, item, kind, cookie, unsent) + name
    if table == 3:
        return struct.pack("<7q16sIq", *row)
    if table == 4:
        return struct.pack("<q", row[0]) + u16(len(row[1])) + row[1] + row[2]
    if table == 5:
        return struct.pack("<q16sqq", *row)
    if table == 6:
        return struct.pack("<qq", *row[:2])
    if table == 7:
        return struct.pack("<q", *row)
    if table == 8:
        return struct.pack("<q16sq32sq", *row)
    if table == 9:
        return struct.pack("<qqq32s16sqqq32s", *row)
    return b"".join(map(column, row))


def column(value):
    if value is None:
        return b"\0"
    if isinstance(value, int):
        return b"\1" + struct.pack("<q", value)
    value = value.encode() if isinstance(value, str) else value
    return b"\2" + u32(len(value)) + value


def row_hash(key, message):
    return blake2b(message, key=key, digest_size=16).digest()


def check_digests(database, store, vault):
    """Compares the digests with the rows; gives how many rows there are."""
    key, count = derive(store, b"row digest", vault), 0
    digests, = database.execute("SELECT digests FROM state").fetchone()
    version, = database.execute("PRAGMA user_version").fetchone()
    require((version, len(digests)) in ((1, 144), (2, 272), (5, 368), (6, 368)), "the version of an index")
    for table, name in enumerate(TABLES[: len(digests) // 16], start=1):
        total = 0
        # With tables of history, those of facts may be missing, and count as empty.
        is_missing = version == 5 and 10 <= table <= 17
        for row in () if is_missing else database.execute(f"SELECT * FROM {name}"):
            total += int.from_bytes(row_hash(key, digest_message(table, row)), "little")
            count += 1
        expected = digests[16 * table - 16 : 16 * table]
        require((total % (1 << 128)).to_bytes(16, "little") == expected, f"the digest of {name}")
    return count


def check_history(database):
    """Tells of the past states, and of the devices that made changes ("Tables of history")."""
    states, = database.execute("SELECT count(*) FROM moments").fetchone()
    last, = database.execute("SELECT last FROM history").fetchone()
    logs = {log for log, in database.execute("SELECT id FROM logs")} if has_facts(database) else set()
    authors = set()
    for moment, log, created in database.execute("SELECT moment, log, created FROM authors"):
        require(0 < moment <= last and created in (0, 1), "a change of a moment that there was")
        require(log in (b"", bytes(16)) or log in logs, "a change by a device that has a log")
        authors.add(log)
    print(f"history: {states}, authors: {len(authors & logs)}", file=sys.stderr)


def has_facts(database):
    return database.execute("PRAGMA user_version").fetchone()[0] in (2, 6)


def files(database):
    """The paths and numbers of regular files."""
    directories = [((), 1)]
    while directories:
        path, number = directories.pop()
        rows = database.execute("SELECT name, item, type FROM entries WHERE parent = ?", (number,))
        for name, item, kind in rows.fetchall():
            if kind == 4:
                directories.append((path + (name,), item))
            if kind == 8:
                yield path + (name,), item


def main(profile, passphrase_file, wanted):
    body = reader["unlock"](read(os.path.join(profile, "profile")), read(passphrase_file).removesuffix(b"\n"))
    for vault, name, store, keys in reader["vaults"](body):
        directory = os.path.join(profile, "vaults", vault.hex())
        with tempfile.TemporaryDirectory() as plain:
            database = reader["open_index"](directory, vault, store, os.path.join(plain, "index"))
            log = os.path.exists(os.path.join(plain, "index-wal"))
            rows = check_digests(database, store, vault)
            before = database.execute("SELECT count(*) FROM contents").fetchone()[0]
            reader["apply_intents"](database, directory, vault, store, keys)
            intents = database.execute("SELECT count(*) FROM contents").fetchone()[0] - before
            print(f"{name}: {rows} rows, log: {int(log)}, writes of the intent log: {intents}", file=sys.stderr)
            if database.execute("PRAGMA user_version").fetchone()[0] >= 5:
                check_history(database)
            for path, number in sorted(files(database)) if name == wanted else []:
                try:
                    content = reader["content"](database, directory, vault, keys, number)
                    print(f"{b'/'.join(path)!a}:{file_detail(content)}")
                except NotHere:
                    print(f"{b'/'.join(path)!a}: on a remote only", file=sys.stderr)


if __name__ == "__main__":
    try:
        main(*sys.argv[1:])
    except (Invalid, AssertionError, OSError) as error:
        sys.exit(f"local.py: {type(error).__name__}: {error}")
