"""The bytes of files: docs/format.md, "Content value", "Content pages", "Remote pack", "Extent"."""

import os
from typing import NamedTuple

from primitives import Cursor, derive, extent_hash, leaf_hashes, open_record, open_sealed, purpose_hash, require
from primitives import u32, u64


class Entry(NamedTuple):
    """A range of a file, and the sealed extent that it is in ("Content value")."""

    offset: int
    length: int
    base: int
    total: int
    pack: bytes
    position: int
    prefix: bytes
    epoch: int
    hash: bytes

    @property
    def end(self):
        return self.offset + self.length

    @property
    def sealed_length(self):
        return self.total + 16 * -(-self.total // 4096)

    @property
    def hashes_length(self):
        """What the hashes of its leaves take up behind it ("Hash of an extent")."""
        return 32 * -(-self.total // 65536) if self.total > 65536 else 0


class Contents:
    """The contents of a vault."""

    def __init__(self, folders, vault, keys):
        self.folders, self.vault, self.keys = folders, vault, keys
        self.page_count = self.inner_page_count = self.leaf_count = 0

    def read(self, content):
        """All bytes of a content ("Reading an item")."""
        size, origin, entries = self.read_value(content.value)
        require((size, origin) == (content.size, content.origin), "a content that is not its value's")
        result = bytearray(size)
        for entry in entries:
            result[entry.offset : entry.end] = self.open_extent(entry, origin)
        return bytes(result)

    def read_value(self, value):
        """Size, origin and entries ("Content value")."""
        cursor = Cursor(value)
        require(cursor.u8() == 1, "another version of content values")
        form, size, origin = cursor.u8(), cursor.u64(), cursor.identifier()
        require(form <= 1, "the form of a content value")
        if form == 0:
            count = cursor.u8()
            require(count <= 8, "the number of entries")
            entries = [read_entry(cursor) for _ in range(count)]
        else:
            count, level = cursor.u32(), cursor.u8()
            require(9 <= count <= 1 << 24, "the number of entries")
            entries = self.read_page(cursor, level, 0, origin)
            is_lowest = level == 0 or entries[-1].offset >= 1 << (5 + 4 * (level - 1))
            require(len(entries) == count and is_lowest, "the root of a tree")
        cursor.end()
        end = 0
        for entry in entries:
            require(entry.offset >= end and entry.end <= size, "the order of entries")
            end = entry.end
        return size, origin, entries

    def read_page(self, cursor, level, index, origin):
        """The entries below a reference ("Content pages")."""
        pack, position, length, epoch = cursor.identifier(), cursor.u32(), cursor.u32(), cursor.u32()
        page_hash = cursor.take(32)
        sealed = self.read_pack(pack, position, length)
        require(purpose_hash(b"content page", sealed) == page_hash, "the hash of a page")
        key = derive(self.keys[epoch], b"content page", self.vault + u32(epoch))
        page = Cursor(open_record(key, b"\1" + self.vault + origin + bytes([level]) + u64(index), sealed))
        self.page_count += 1
        if page.u8() == 0:
            count = page.u8()
            require(1 <= count <= 32, "the number of entries of a leaf")
            entries = [read_entry(page) for _ in range(count)]
        else:
            self.inner_page_count += 1
            present, entries = page.u16(), []
            for child in range(16):
                if present >> child & 1:
                    entries += self.read_page(page, level - 1, 16 * index + child, origin)
            require(len(entries) > 32, "an inner page that should be a leaf")
        page.end()
        for entry in entries:
            require(entry.offset >> (5 + 4 * level) == index, "an entry outside of its node")
        return entries

    def read_pack(self, pack, position, length):
        """Sealed bytes in a pack ("Remote pack")."""
        paths = [os.path.join(folder, "packs", pack.hex()) for folder in self.folders]
        with open(next(filter(os.path.exists, paths), paths[0]), "rb") as file:
            header = Cursor(file.read(48))
            header.header(b"COFFERRP")
            require(header.identifier() == self.vault and header.identifier() == pack, "the header of a pack")
            require(position >= 48, "a position in the header of a pack")
            file.seek(position)
            return file.read(length)

    def open_extent(self, entry, origin):
        """The bytes of an entry ("Extent"); the extent's other blocks may be gone."""
        found = self.read_pack(entry.pack, entry.position, entry.sealed_length + entry.hashes_length)
        sealed, beside = found[: entry.sealed_length], found[entry.sealed_length :]
        hashes = leaf_hashes(sealed)
        require(extent_hash(hashes) == entry.hash, "the hash of an extent")
        require(beside == b"".join(hashes) or not entry.hashes_length, "the hashes of an extent's leaves")
        self.leaf_count += len(hashes)
        content_key = derive(self.keys[entry.epoch], b"content", self.vault + u32(entry.epoch))
        key = derive(content_key, b"item", origin)
        count = -(-entry.total // 4096)
        first, end = (entry.offset - entry.base) // 4096, -(-(entry.end - entry.base) // 4096)
        blocks = []
        for number in range(first, end):
            block = sealed[4112 * number : 4112 * (number + 1)]
            is_last = bytes([number == count - 1])
            associated = b"\1" + self.vault + origin + u64(entry.base) + u64(number) + is_last
            blocks.append(open_sealed(key, entry.prefix + u64(number), associated, block))
        start = entry.offset - entry.base - 4096 * first
        return b"".join(blocks)[start : start + entry.length]


def read_entry(cursor):
    entry = Entry(
        cursor.u64(), cursor.u32(), cursor.u64(), cursor.u32(), cursor.identifier(), cursor.u32(),
        cursor.identifier(), cursor.u32(), cursor.take(32))
    require(1 <= entry.total <= 1 << 20 and entry.length >= 1, "the length of an extent")
    require(entry.base <= entry.offset, "a range in front of its extent")
    require(entry.end <= entry.base + entry.total, "a range behind its extent")
    require(48 <= entry.position <= (1 << 24) - entry.sealed_length - entry.hashes_length, "the place of an extent")
    require(entry.epoch >= 1, "an epoch")
    return entry
