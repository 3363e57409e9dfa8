#!/usr/bin/env python3
"""The values in docs/values.json, which others check their programs with: computed from docs/*.md alone.

usage: values.py          compares the file with what is computed, and the documents with the file
       values.py --write  writes the file

Each value is read back by what reads real vaults (reader.py, local.py), so that both are right or neither is.
"""

import json
import os
import sys

import local
from chains import Identity, Link, TransientKey, read_wrap_set
from commits import Commit
from contents import read_entry
from facts import CONTENT, FILE, KIND, MODE, PLACE, FactReader, Registers, Stamp
from merge import Loser, Tree
from merging import Made, merges
from primitives import Cursor, blake2b, derive, extent_hash, leaf_hashes, open_record, order, purpose_hash, require
from primitives import signing_public_key, verify
from primitives import u16, u32, u64
from worked import worked_reader
from writing import content, kind, mode, padded, pieces, placed, seal, seal_record, sign, small_content, text, write_body

KEY = bytes(range(0x20))  # every key that comes out of nothing
VAULT = bytes(range(0x10, 0x20))
ITEM = bytes(range(0x20, 0x30))
LOG = bytes(range(0x30, 0x40))
PREFIX = bytes(range(0x40, 0x50))
NONCE = bytes(range(0x40, 0x58))
SEAL_NONCE = bytes(range(0x58, 0x70))
PACK = bytes(range(0x70, 0x80))
OTHER_PACK = bytes(range(0xF0, 0x100))
SEED = bytes(range(0x80, 0xA0))
IDENTITY = bytes(range(0xA0, 0xC0))
LINK_HASH = bytes(range(0xC0, 0xE0))
ENTRY = bytes(range(0x50, 0x60))
OTHER_LOG = bytes(range(0x60, 0x70))
OTHER_HASH = bytes(range(0xE0, 0x100))
CONTEXT = VAULT + u32(1)
CLOCK = 1_795_219_199_000 << 16  # 2026-11-20

documents = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "docs")
vectors = os.path.join(documents, "..", "Tests", "CofferTrustTests", "Vectors")


def i64(number):
    return number.to_bytes(8, "little", signed=True)


# MARK: The store of a device


def page():
    plain = bytes(number % 256 for number in range(4056))
    key, associated = derive(KEY, b"index page", VAULT), b"\1\0" + VAULT + u64(4096)
    sealed = seal(key, NONCE, associated, plain)
    unit = sealed[:4056] + sealed[4056:] + NONCE
    require(local.open_unit(unit, key, VAULT, 0, 4096) == plain + bytes(40), "a page")
    return {"key": key, "aad": associated, "nonce": NONCE, "first bytes": unit[:16], "tag": unit[4056:4072],
            "BLAKE2b-256 of the unit": blake2b(unit), "unit": unit}


def frame():
    plain = bytes(number % 256 for number in range(4080))
    key, associated = derive(KEY, b"index page", VAULT), b"\1\1" + VAULT + u64(32)
    unit = seal(key, NONCE, associated, plain) + NONCE
    require(local.open_unit(unit, key, VAULT, 1, 32) == plain + bytes(40), "a frame")
    return {"aad": associated, "first bytes": unit[:16], "tag": unit[4080:4096],
            "BLAKE2b-256 of the frame": blake2b(unit), "frame": unit}


def item_row():
    """A row of `items` as it goes into the digest, without the number of the table."""
    return local.item_fields(
        (2, ITEM, 0o100644, 1, 1000, 1000, 6, 6, 0, 1, 2, 3, 4, 0, 0, 8, b"", b""))


def row_digests():
    key = derive(KEY, b"row digest", VAULT)
    rows = {
        "items": local.digest_message(1, (
            2, ITEM, 0o100644, 1, 1000, 1000, 6, 6, 0, 1, 2, 3, 4, 0, 0, 8, b"", b"")),
        "entries": local.digest_message(2, (1, b"a.txt", 2, 8, 3, 1)),
        "another of entries": local.digest_message(2, (1, b"b.txt", 2, 8, 4, 1)),
        "extents": local.digest_message(3, (2, 0, 6, 0, 6, 0, 1, PREFIX, 1, 0)),
        "attributes": local.digest_message(4, (2, b"user.x", b"y")),
        "packs": local.digest_message(5, (1, PACK, 4096, 4096)),
        "contents": local.digest_message(6, (1, 6, b"")),
        "orphans": local.digest_message(7, (2,)),
        "remote_extents": local.digest_message(8, (1, PACK, 48, LINK_HASH, 6)),
        "remote_pages": local.digest_message(9, (2, 3, 0, LINK_HASH, PACK, 48, 906, 1, OTHER_HASH)),
        "logs": local.digest_message(13, (LOG[::-1], 7, None)),
    }
    values = {"key": key}
    for name, message in rows.items():
        values[name] = {"message": message, "hash": local.row_hash(key, message)}
    both = [int.from_bytes(values[name]["hash"], "little") for name in ("entries", "another of entries")]
    values["digest of both rows of entries"] = (sum(both) % (1 << 128)).to_bytes(16, "little")
    return values


def extent():
    """A sealed extent of six bytes."""
    content_key = derive(KEY, b"content", CONTEXT)
    associated = b"\1" + VAULT + ITEM + u64(0) + u64(0) + b"\1"
    return seal(derive(content_key, b"item", ITEM), PREFIX + u64(0), associated, b"coffer")


def hashes_of_extents():
    """The trees over a sealed extent of six bytes, and over bytes as long as one of 70,000."""
    small, large = leaf_hashes(extent()), leaf_hashes(bytes(number % 251 for number in range(70_288)))
    require((len(small), len(large)) == (1, 2), "the leaves of extents")
    return {"sealed": extent(), "hash of its leaf": small[0], "hash": extent_hash(small),
            "leaves of 70,288 bytes": b"".join(large), "hash of 70,288 bytes": extent_hash(large)}


def intent():
    row, sealed = item_row(), extent()
    body = u32(1) + u32(1) + i64(2) + i64(0) + u32(6) + PREFIX + u32(1) + sealed + u16(len(row)) + row
    whole = body.ljust(4096 - 44, b"\0")
    key = derive(KEY, b"intents", VAULT)
    associated = b"\1" + VAULT + u64(0) + u32(4096) + i64(5) + bytes(144)
    record = u32(4096) + NONCE + seal(key, NONCE, associated, whole)
    require(list(local.open_intents(record, KEY, VAULT, 5, bytes(144))) == [whole], "a record of the intent log")
    return {"key": key, "body without the zeros": body, "aad": associated, "first bytes": record[:44],
            "tag": record[-16:], "BLAKE2b-256 of the record": blake2b(record), "record": record}


# MARK: Contents


def content_pages():
    """A file of nine extents with holes between them: a tree of one leaf."""
    entries = b""
    for number in range(9):
        offset = 8192 * number
        entries += u64(offset) + u32(4096) + u64(offset) + u32(4096) + PACK + u32(48 + 4112 * number)
        entries += bytes([number] * 16) + u32(1) + bytes([0x10 + number] * 32)
    plain = b"\0" + b"\x09" + entries
    key = derive(KEY, b"content page", CONTEXT)
    associated = b"\1" + VAULT + ITEM + b"\3" + u64(0)
    sealed = seal_record(key, NONCE, associated, plain)
    reference = PACK + u32(48 + 9 * 4112) + u32(len(sealed)) + u32(1) + purpose_hash(b"content page", sealed)
    value = b"\1\1" + u64(8 * 8192 + 4096) + ITEM + u32(9) + b"\3" + reference
    cursor = Cursor(open_record(key, associated, sealed)[2:])
    require([read_entry(cursor).offset for _ in range(9)] == [8192 * number for number in range(9)], "a leaf")
    inner = b"\1" + u16(1 << 0 | 1 << 3) + reference + reference
    return {"key": key, "first entry": entries[:96], "leaf": plain, "aad": associated, "sealed leaf": sealed,
            "hash of the sealed leaf": purpose_hash(b"content page", sealed), "reference": reference,
            "content value": value, "hash of the plain leaf": purpose_hash(b"plain page", plain),
            "inner page with children 0 and 3, both this reference": inner}


# MARK: Commits


def first_facts():
    return [kind(ITEM, FILE), mode(ITEM, 0o644), content(ITEM, small_content(ITEM, 6)),
            placed(ENTRY, ITEM, VAULT, b"a.txt")]


def said(facts):
    """The registers after the one commit of these values."""
    registers = Registers()
    registers.apply(Made(LOG, 1, CLOCK, {}, facts))
    return registers


def state_hash(facts):
    return Tree(said(facts), {}, VAULT).state_hash(KEY)


def signed_record(magic, purpose, sequence, body):
    """A signed record with fixed nonces ("Signed record")."""
    key, whole = derive(KEY, purpose_of(magic), CONTEXT), padded(body)
    header = magic + u32(1) + VAULT + LOG + u64(sequence) + u32(1) + u32(len(whole) + 40)
    sealed = seal_record(key, NONCE, header, whole)
    unsigned = IDENTITY + u64(3) + LINK_HASH + b"\1"
    signature = sign(SEED, purpose, header + sealed + unsigned)
    return header + sealed + seal_record(key, SEAL_NONCE, header + b"\1", unsigned + signature), signature


def purpose_of(magic):
    return b"log" if magic == b"COFFERCM" else b"checkpoint"


def commit():
    facts = write_body(first_facts())
    body = bytes(32) + u64(CLOCK) + bytes(32) + u16(1) + OTHER_LOG + u64(4) + OTHER_HASH
    body += b"\1" + text("Ann") + text("laptop") + b"\0" + u32(len(facts)) + facts
    record, signature = signed_record(b"COFFERCM", b"commit", 1, body)
    read = Commit(record, VAULT, {1: KEY})
    require(read.heads == {OTHER_LOG: (4, OTHER_HASH)} and read.label == "laptop", "a commit")
    require(read.facts == first_facts(), "the facts of a commit")
    verify(signing_public_key(SEED), b"commit", read.signed, read.signature)
    return {"log key": derive(KEY, b"log", CONTEXT), "signing key": signing_public_key(SEED), "facts": facts,
            "body": body, "header": record[:60], "signature": signature, "record": record,
            "hash": purpose_hash(b"commit", record)}


def checkpoint(commit_hash):
    facts = first_facts()
    group, = pieces(said(facts))
    key = derive(KEY, b"checkpoint", CONTEXT)
    header = b"COFFERCC" + u32(1) + VAULT + LOG + u64(1) + u32(1) + u32(0)
    piece = header + seal_record(key, NONCE, header, padded(group))
    piece_hash, facts_hash = purpose_hash(b"checkpoint piece", piece), purpose_hash(b"checkpoint facts", group)
    point = u64(1) + commit_hash + u64(3) + LINK_HASH + b"\1"
    log = LOG + IDENTITY + text("Ann") + text("laptop") + u64(CLOCK) + point + b"\1" + point
    body = u64(CLOCK) + state_hash(facts) + u16(1) + log + u32(1) + piece_hash + facts_hash + u32(len(piece))
    record, signature = signed_record(b"COFFERCP", b"checkpoint", 1, body)
    record_hash = purpose_hash(b"checkpoint", record)
    return {"key": key, "group": group, "hash of the groups": facts_hash, "piece": piece,
            "hash of the piece": piece_hash, "state hash": state_hash(facts), "body": body,
            "signature": signature, "record": record, "hash": record_hash,
            "notice that announces it": b"\1" + u64(1) + record_hash,
            "notice that confirms it": b"\2" + LOG + u64(1) + record_hash,
            "notice that asks about packs": b"\3" + u16(2) + PACK + OTHER_PACK,
            "notice that retains some": b"\4" + LOG + u64(1) + b"\0" + u16(2) + PACK + OTHER_PACK,
            "notice that retains all": b"\4" + LOG + u64(1) + b"\1"}


# MARK: Names by rule


NAMES = [
    ("report.txt", "Bob's laptop", 1), ("report.txt", "Bob's laptop", 2), ("report", "Bob's laptop", 1),
    (".profile", "Bob's laptop", 1), ("a.tar.gz", "Bob's laptop", 3), ("a.", "Bob's laptop", 1),
    ("a.abcdefghijkl", "Bob's laptop", 1), ("a.abcdefghijklm", "Bob's laptop", 1), ("a", "x/y\\z (1)", 1),
    ("a", "desk \t ", 1), ("a", "a b\u00a0 ", 1), ("a", "", 1), ("a", "é" * 40, 1), ("é" * 127, "desk", 1),
    ("é" * 125 + ".txt", "desk", 2), ("a (conflict, desk, 2026-11-20).txt", "desk", 1),
]


def names():
    """The names that files get which lost a name, at the day of CLOCK."""
    class Named(Tree):
        def __init__(self, label):
            self.labels = {LOG: label}
    stamp, values = Stamp(CLOCK, order(LOG), 1), []
    for name, label, number in NAMES:
        loser = Loser(ENTRY, None, stamp, name.encode())
        found = Named(label).conflict_name(loser, number)
        values.append({"name": name, "label": label, "number": number, "found": found.decode()})
    return values


# MARK: Trust


def trust():
    """Records of trust: Tests/CofferTrustTests/Vectors has more of them, and the secrets."""
    def stored(name):
        with open(os.path.join(vectors, name + ".json"), encoding="utf-8") as file:
            return json.load(file)
    links = [bytes.fromhex(link) for link in stored("identity-chain")["links"]]
    identity = Identity(links)
    require(identity.id.hex() == stored("identity-chain")["identity"], "an identity")
    key = stored("transient-key")
    chain = Identity([bytes.fromhex(link) for link in key["identity chain"]])
    transient = bytes.fromhex(key["record"])
    TransientKey(transient, chain)
    wraps = bytes.fromhex(stored("wrap-set")["record"])
    require(read_wrap_set(wraps, bytes(range(16)))[0] == 1, "a wrap set")
    return {"link 0 of an identity chain": links[0], "its hash, which is the identity id": Link(links[0]).hash,
            "link 1, RollKeys": links[1], "its hash": Link(links[1]).hash, "transient key": transient,
            "wrap set": wraps, "hash of the wrap set": purpose_hash(b"wrap set", wraps)}


def values():
    made = commit()
    return {
        "about": "Values to check a program with: docs/format.md, docs/trust.md, docs/merge.md. Bytes in hexadecimal.",
        "index page": page(), "log frame": frame(), "row digest": row_digests(), "extent": hashes_of_extents(),
        "intent": intent(), "content pages": content_pages(), "commit": made,
        "checkpoint": checkpoint(made["hash"]), "names by rule": names(), "trust": trust(),
        "merge": merges(KEY, VAULT),
    }


def check_worked_reader(examples):
    """The worked reader of docs/reader.md comes to the same state hashes."""
    worked = worked_reader()
    for example in examples:
        registers, labels = {}, {}
        for made in example["commits"]:
            labels[made["log"]] = made["label"]
            stamp = made["clock"], order(made["log"]), made["sequence"]
            worked["apply"](registers, stamp, worked["read_facts"](made["facts"]))
        tree = worked["Tree"](registers, labels, VAULT)
        require(tree.state_hash(KEY) == example["state hash"], f"the worked reader: {example['title']}")


def main(arguments):
    path = os.path.join(documents, "values.json")
    found = values()
    check_worked_reader(found["merge"])
    written = json.dumps(found, indent=1, ensure_ascii=False, default=bytes.hex) + "\n"
    if arguments == ["--write"]:
        with open(path, "w", encoding="utf-8") as file:
            file.write(written)
        return
    with open(path, encoding="utf-8") as file:
        require(file.read() == written, "docs/values.json is not what the documents give")
    told = ""
    for name in ("format.md", "trust.md", "merge.md"):
        with open(os.path.join(documents, name), encoding="utf-8") as file:
            told += "".join(file.read().split())
    for value in must_be_told(json.loads(written)):
        require("".join(value.split()) in told, f"the documents do not have {value}")
    print("the values of the documents are right")


def must_be_told(found):
    """What the documents show of the file: hashes, digests and tags, not whole records."""
    for section in ("index page", "log frame", "intent"):
        yield found[section]["tag"]
    for row in found["row digest"].values():
        yield row if isinstance(row, str) else row["hash"]
    yield from list(found["extent"].values())[1:]
    yield found["content pages"]["content value"]
    yield found["commit"]["hash"]
    yield found["checkpoint"]["hash"]
    yield found["checkpoint"]["hash of the groups"]
    yield found["trust"]["transient key"]
    yield from (name["found"] for name in found["names by rule"] if name["found"].isascii())
    yield from (example["state hash"] for example in found["merge"])


if __name__ == "__main__":
    main(sys.argv[1:])
