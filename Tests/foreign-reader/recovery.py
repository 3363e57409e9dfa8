#!/usr/bin/env python3
"""Opens a profile backup with the words of a recovery key: docs/format.md, "Recovery key" and "Profile backup".

Prints the person's name, then a line for each vault: name, URL of the remote, epochs of its keys.

usage: recovery.py BACKUP < WORDS
"""

import hashlib
import os
import re
import sys

from primitives import Cursor, Invalid, derive, open_record, purpose_hash, require

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
LIST = os.path.join(ROOT, "Sources", "CofferTrust", "Joining", "FingerprintWords.swift")
LIST_HASH = "2f5eed53a4727b4bf8880d8f3f199efc90e58503646d9ff8eff3a2ed3b24dbda"


def word_list():
    """The list of docs/trust.md, "Fingerprint"; the source has it between three quotes."""
    with open(LIST, encoding="utf-8") as file:
        words = file.read().split('"""')[1].split()
    require(hashlib.sha256("".join(f"{word}\n" for word in words).encode()).hexdigest() == LIST_HASH, "the list")
    return words


def recovery_key(text):
    """The key `recovery` of typed words ("Recovery key")."""
    places = {word[:4]: place for place, word in enumerate(word_list())}
    typed = re.findall("[a-z]+", text.lower())
    require(len(typed) == 16, "the number of words")
    number = 0
    for word in typed:
        require(word[:4] in places, f"the word {word}")
        number = number << 11 | places[word[:4]]
    secret, checksum = number.to_bytes(22, "big")[:16], number.to_bytes(22, "big")[16:]
    key = secret + bytes(16)
    require(derive(key, b"recovery checksum")[:6] == checksum, "the checksum of the words")
    return key


def open_backup(file, key):
    """The body of a backup ("Profile backup")."""
    cursor = Cursor(file)
    cursor.header(b"COFFERBK")
    require(cursor.u64() == len(file), "the backup is cut")
    require(purpose_hash(b"profile backup", file[:-32]) == file[-32:], "the checksum of the backup")
    profile, _ = cursor.identifier(), cursor.time()
    wanted, wrapped = derive(key, b"recovery id", profile)[:16], None
    for _ in range(cursor.u16()):
        kind, method = cursor.u16(), cursor.take(cursor.u32())
        if kind == 3:
            require(method[:16] != wanted, "the key is revoked")
        if kind == 2 and method[:16] == wanted:
            require(len(method) == 98, "an unlock method")
            wrapped = open_record(derive(key, b"recovery wrap", profile), profile + method[:26], method[26:])
    require(wrapped, "the key is of another profile")
    associated = file[: cursor.position]
    sealed = cursor.take(cursor.u32())
    require(cursor.left == 32, "there are bytes behind the body")
    return open_record(derive(wrapped, b"backup body", profile), associated, sealed)


def tell(body):
    cursor, name, vaults = Cursor(body), None, []
    while cursor.left:
        kind, record = cursor.u16(), Cursor(cursor.take(cursor.u32()))
        require(kind in (1, 5, 7, 8, 9, 10, 32, 33), "a record of an unknown kind")
        if kind == 1:
            name = record.text()
        elif kind == 33:
            record.identifier()
            record.time()
            vault, url = record.text(), record.text()
            epochs = [(record.u32(), record.take(32))[0] for _ in range(record.u32())]
            record.end()
            vaults.append(f"{vault}: {url or 'no remote'}, {epochs}")
    return [name] + vaults


if __name__ == "__main__":
    try:
        with open(sys.argv[1], "rb") as file:
            print("\n".join(tell(open_backup(file.read(), recovery_key(sys.stdin.read())))))
    except Invalid as error:
        sys.exit(f"recovery.py: {error}")
