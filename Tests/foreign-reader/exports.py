#!/usr/bin/env python3
"""Opens an export of a vault: docs/format.md, "Export". Writes its archive, which tar reads, to standard output.

usage: exports.py EXPORT passphrase PASSPHRASE_FILE > ARCHIVE
       exports.py EXPORT profile PROFILE PASSPHRASE_FILE > ARCHIVE
"""

import os
import sys

from primitives import Cursor, Invalid, agree, agreement_public_key, argon2id, derive, open_record, open_sealed
from primitives import purpose_hash, require, u64
from profiles import open_profile

PIECE = 262_144


def read_file(path):
    with open(path, "rb") as file:
        return file.read()


def read_passphrase(path):
    passphrase = read_file(path)
    return passphrase[:-1] if passphrase.endswith(b"\n") else passphrase


def read_header(cursor):
    """The entries of the header, each with its kind."""
    cursor.header(b"COFFEREX")
    count = cursor.u16()
    require(1 <= count <= 16, "the number of entries")
    entries = [(cursor.u16(), Cursor(cursor.take(cursor.u32()))) for _ in range(count)]
    kinds = {kind for kind, _ in entries}
    require(kinds == {2} or kinds == {1} and count == 1, "the kinds of the entries")
    return entries


def key_by_passphrase(start, entries, passphrase):
    kind, entry = entries[0]
    require(kind == 1, "no passphrase opens the export")
    fields = entry.record[:24]
    salt, passes, memory = entry.take(16), entry.u32(), entry.u32()
    require(2 <= passes <= 64 and 65_536 <= memory <= 4_194_304 and passes * memory <= 16_777_216, "Argon2id")
    unlock = argon2id(passphrase, salt, passes, memory)
    sealed = entry.take(72)
    entry.end()
    return open_record(derive(unlock, b"export passphrase"), start + fields, sealed)


def key_by_identity(start, entries, secrets):
    for kind, entry in entries:
        require(kind == 2, "no identity opens the export")
        fresh, sealed = entry.take(32), entry.take(72)
        entry.end()
        for secret in secrets:
            own = agreement_public_key(secret)
            key = purpose_hash(b"export recipient", agree(secret, fresh) + fresh + own)
            try:
                return open_record(key, start + fresh + own, sealed)
            except Invalid:
                continue
    raise Invalid("the export is for others")


def open_pieces(cursor, key, header):
    """The pieces of the archive, one after another."""
    piece_key, header_hash = derive(key, b"export piece"), purpose_hash(b"export header", header)
    number, is_last = 0, False
    while not is_last:
        start = cursor.take(4)
        stated = int.from_bytes(start, "little")
        is_last, count = stated >= 1 << 31, stated & (1 << 31) - 1
        require(count <= PIECE if is_last else count == PIECE, "the length of a piece")
        yield open_sealed(piece_key, bytes(16) + u64(number), header_hash + start, cursor.take(count + 16))
        number += 1
    cursor.end()


def open_export(file, find_key):
    cursor = Cursor(file)
    entries = read_header(cursor)
    header = file[: cursor.position]
    return open_pieces(cursor, find_key(header[:12], entries), header)


def main(path, way, *arguments):
    if way == "passphrase":
        passphrase = read_passphrase(arguments[0])
        pieces = open_export(read_file(path), lambda *given: key_by_passphrase(*given, passphrase))
    else:
        profile = open_profile(read_file(os.path.join(arguments[0], "profile")), read_passphrase(arguments[1]))
        secrets = [profile.agreement_secret] + [keys[0] for keys in profile.former_keys]
        pieces = open_export(read_file(path), lambda *given: key_by_identity(*given, secrets))
    # Nothing is written before all has been checked.
    for piece in list(pieces):
        sys.stdout.buffer.write(piece)


if __name__ == "__main__":
    try:
        main(*sys.argv[1:])
    except Invalid as error:
        sys.exit(f"exports.py: {error}")
