"""What is shown: docs/merge.md, "The rules" and "The state hash"."""

import datetime
import re
from collections import defaultdict
from dataclasses import dataclass, field, replace
from typing import Optional

import facts
from facts import Content, Place
from primitives import blake2b, derive, order, u16, u32, u64


@dataclass
class Claim:
    """Where an entry claims to lie."""

    entry: bytes
    item: bytes
    stamp: facts.Stamp
    place: Place
    name: bytes  # that of the place, before the directory was put back
    previous: Optional[Place]
    is_removed: bool = False  # a directory that is shown only if something lies in it
    was_put_back: bool = False


@dataclass
class Item:
    """An item as it is shown."""

    id: bytes
    kind: int
    detail: object  # the target of a symlink, the number of a device
    mode: Optional[int] = None
    modified: Optional[int] = None
    extended_attributes: dict = field(default_factory=dict)
    content: Optional[Content] = None
    other_contents: list = field(default_factory=list)


@dataclass
class Loser:
    """What wants a name by rule."""

    entry: bytes
    item: Item
    stamp: facts.Stamp
    name: bytes


class Tree:
    """All that is shown: a function of all facts."""

    def __init__(self, registers, labels, root):
        self.registers, self.labels, self.root = registers, labels, root
        self.claims = {}  # by entry
        self.directories = {}  # the claim of each directory
        self.items = {}  # by id, those that are shown
        self.entries = []  # directory that is shown, item, name
        self.paths = {}  # the item of each path, which is a tuple of names
        self.attribute_names = defaultdict(list)
        for register in registers.values:
            if register[0] == facts.EXTENDED_ATTRIBUTE:
                self.attribute_names[register[1]].append(register[2])
        self.find_claims()
        self.break_cycles()
        self.find_parents()
        self.drop_empty_removed_directories()
        self.name_all()

    def kind(self, item):
        if item == self.root:
            return facts.DIRECTORY
        kind = self.registers.last((facts.KIND, item))
        return kind[0] if kind else None

    # Rule 1

    def find_claims(self):
        entries = defaultdict(list)
        for register, values in self.registers.values.items():
            if register[0] == facts.PLACE:
                placed = [value for value in values if value.value.place]
                highest = (placed or values)[-1]
                entries[highest.item].append((register[1], highest))
        for item, candidates in entries.items():
            kind = self.kind(item)
            if kind is None or item == self.root:
                continue
            placed = [candidate for candidate in candidates if candidate[1].value.place]
            highest = max(placed or candidates, key=self.claim_order)
            if kind == facts.DIRECTORY:
                self.directories[item] = self.claim(*highest)
                self.directories[item].is_removed = not placed
            elif placed:
                for candidate in placed:
                    self.claim(*candidate)
            elif self.has_unseen_content(item, candidates):
                self.claim(*highest)

    @staticmethod
    def claim_order(candidate):
        entry, value = candidate
        return value.stamp, bool(value.value.seen), order(entry)

    def claim(self, entry, value):
        place = value.value.place or value.value.previous
        claim = Claim(entry, value.item, value.stamp, place, place.name, value.value.previous)
        self.claims[entry] = claim
        return claim

    def has_unseen_content(self, item, candidates):
        seen = set()
        for entry, _ in candidates:
            for value in self.registers[(facts.PLACE, entry)]:
                seen.update(value.value.seen)
        return any(value.stamp.dot not in seen for value in self.registers.contents(item))

    # Rule 2

    def break_cycles(self):
        while cycle := self.find_cycle():
            highest = max(cycle, key=lambda item: (self.directories[item].stamp, order(item)))
            claim = self.directories[highest]
            if claim.previous and not claim.was_put_back:
                claim.place = claim.previous
            else:
                claim.place = Place(self.root, claim.name)
            claim.was_put_back = True

    def find_cycle(self):
        visited = set()
        for start in self.directories:
            path, item = [], start
            while item in self.directories and item not in visited:
                visited.add(item)
                path.append(item)
                item = self.directories[item].place.directory
            if item in path:
                return path[path.index(item) :]
        return None

    # Rule 3

    def find_parents(self):
        for claim in self.claims.values():
            if claim.place.directory != self.root and claim.place.directory not in self.directories:
                claim.place = Place(self.root, claim.place.name)

    def drop_empty_removed_directories(self):
        while True:
            parents = {claim.place.directory for claim in self.claims.values()}
            removed = [claim for claim in self.claims.values() if claim.is_removed]
            empty = [claim for claim in removed if claim.item not in parents]
            if not empty:
                return
            for claim in empty:
                del self.claims[claim.entry]

    # Rule 4

    def name_all(self):
        root = self.item(self.root)
        if root.mode is not None or root.modified is not None or root.extended_attributes:
            self.items[self.root] = root
        self.children = defaultdict(list)
        self.lowest_entries = {}
        for claim in sorted(self.claims.values(), key=lambda claim: order(claim.entry)):
            self.children[claim.place.directory].append(claim)
            self.lowest_entries.setdefault(claim.item, claim.entry)
        directories = [((), self.root, [self.root])]
        while directories:
            path, shown, members = directories.pop()
            for name, first, united in self.name_children(path, shown, members):
                directories.append((path + (name,), first, united))

    def name_children(self, path, directory, members):
        """Names what lies in directories that are one; gives the directories among it."""
        slots = defaultdict(list)
        for member in members:
            for claim in self.children[member]:
                slots[claim.place.name].append(claim)
        losers, below = [], []
        for name, claims in slots.items():
            files = [claim for claim in claims if claim.item not in self.directories]
            files.sort(key=lambda claim: (claim.stamp, order(claim.entry)))
            united = [claim.item for claim in claims if claim.item in self.directories]
            for file in files:
                if self.lowest_entries[file.item] == file.entry:
                    losers += self.copies(file.item, name)
            if united:
                united.sort(key=lambda item: (self.registers[(facts.KIND, item)][-1].stamp, order(item)))
                self.show(path, directory, name, self.item(united[0]))
                below.append((name, united[0], united))
            else:
                self.show(path, directory, name, self.item(files.pop().item))
            losers += [Loser(file.entry, self.item(file.item), file.stamp, name) for file in files]
        self.name_losers(path, directory, losers, set(slots))
        return below

    def show(self, path, directory, name, item):
        self.entries.append((directory, item.id, name))
        self.items.setdefault(item.id, item)
        self.paths[path + (name,)] = self.items[item.id]

    # Rule 5

    def contents(self, item):
        """Contents with their stamps, none twice, the highest first."""
        contents, moved = {}, self.registers.moved(item)
        for value in reversed(self.registers.contents(item)):
            same = value.value._replace(origin=value.value.origin or item)
            contents.setdefault(same, []).append(value)
        for one in contents.values():
            places = sorted(moved[value.stamp.dot] for value in one if value.stamp.dot in moved)
            bytes_of = places[-1].value if places else one[0].value
            yield one[0].stamp, one[0].value._replace(value=bytes_of.value)

    def copies(self, item, name):
        if self.kind(item) != facts.FILE:
            return
        for stamp, content in list(self.contents(item))[1:]:
            log, sequence = stamp.dot
            ids = blake2b(b"coffer copy" + item + log + u64(sequence))
            if self.registers[(facts.KIND, ids[:16])] or self.registers[(facts.PLACE, ids[16:])]:
                continue
            content = content._replace(origin=content.origin or item)
            copy = replace(self.item(item), id=ids[:16], content=content, other_contents=[])
            yield Loser(ids[16:], copy, stamp, name)

    # Rule 6

    def name_losers(self, path, directory, losers, taken):
        for loser in sorted(losers, key=lambda loser: (loser.stamp, order(loser.entry))):
            number, name = 1, self.conflict_name(loser, 1)
            while name in taken:
                number += 1
                name = self.conflict_name(loser, number)
            taken.add(name)
            self.show(path, directory, name, loser.item)

    def conflict_name(self, loser, number):
        log, _ = loser.stamp.dot
        day = datetime.date(1970, 1, 1) + datetime.timedelta(milliseconds=loser.stamp.clock >> 16)
        middle = f" (conflict, {clean_label(self.labels.get(log, ''))}, {day})".encode()
        stem, extension = split_name(without_labels(loser.name))
        stem = cut(stem, 244 - len(middle) - len(extension))
        return stem + middle + (b" %d" % number if number > 1 else b"") + extension

    # Items

    def item(self, identifier):
        """An item with all that facts say of it."""
        kind, detail = self.registers.last((facts.KIND, identifier)) or (facts.DIRECTORY, None)
        item = Item(identifier, facts.DIRECTORY if identifier == self.root else kind, detail)
        item.mode = self.registers.last((facts.MODE, identifier))
        item.modified = self.registers.last((facts.MODIFIED, identifier))
        for name in sorted(self.attribute_names[identifier]):
            value = self.registers.last((facts.EXTENDED_ATTRIBUTE, identifier, name))
            if value is not None:
                item.extended_attributes[name] = value
        contents = [content for _, content in self.contents(identifier)]
        item.content, item.other_contents = (contents[0], contents[1:]) if contents else (None, [])
        return item

    def state_hash(self, first_key):
        """The hash of all that is shown ("The state hash")."""
        key = derive(first_key, b"state hash", self.root + u32(1))
        messages = [b"\1" + directory + item + name for directory, item, name in self.entries]
        messages += [item_message(item) for item in self.items.values()]
        total = sum(int.from_bytes(blake2b(message, key=key), "little") for message in messages)
        return (total % (1 << 256)).to_bytes(32, "little")


def item_message(item):
    detail = b""
    if item.kind == facts.SYMLINK:
        detail = u16(len(item.detail)) + item.detail
    elif item.kind in (facts.CHARACTER_DEVICE, facts.BLOCK_DEVICE):
        detail = u64(item.detail)
    values = [(facts.KIND, facts.VALUE, bytes([item.kind]) + detail)]
    if item.mode is not None:
        values.append((facts.MODE, facts.VALUE, u16(item.mode)))
    if item.modified is not None:
        values.append((facts.MODIFIED, facts.VALUE, item.modified.to_bytes(8, "little", signed=True)))
    for name, value in item.extended_attributes.items():
        stated = bytes([len(name)]) + name + u32(len(value)) + value
        values.append((facts.EXTENDED_ATTRIBUTE, facts.VALUE, stated))
    if item.content:
        values.append(facts.write_content(item.content))
    message = b"\2" + facts.write_facts(item.id, values)
    for content in item.other_contents:
        message += facts.write_facts(item.id, [facts.write_content(content)])
    return message


REMOVED_CHARACTERS = [
    range(0x20), range(0x7F, 0xA0), range(0x200B, 0x2010), range(0x2028, 0x202F), range(0x2060, 0x2070),
    range(0xFEFF, 0xFF00),
]


def clean_label(label):
    """A label as it stands in a name (rule 6)."""
    label = label.translate(str.maketrans("/\\()", "--[]"))
    label = "".join(c for c in label if not any(ord(c) in characters for characters in REMOVED_CHARACTERS))
    label = label.encode()[:64].decode("utf-8", "ignore")
    return label.rstrip(" ") or "unnamed device"


def split_name(name):
    """A name as what stands in front of its extension, and the extension."""
    dot = name.rfind(b".")
    return (name[:dot], name[dot:]) if dot > 0 and len(name) - dot - 1 <= 12 else (name, b"")


def without_labels(name):
    """A name without the labels that it has already (rule 6)."""
    while True:
        stem, extension = split_name(name)
        digits = len(stem) - len(stem.rstrip(b"0123456789"))
        if digits and stem[:-digits].endswith(b") "):
            stem = stem[: -digits - 1]
        start = stem.rfind(b" (conflict, ")
        if start < 0 or not stem.endswith(b")"):
            return name
        inner = stem[start + 12 : -1]
        label, date = inner[:-10], inner[-10:]
        rest = stem[:start] + extension
        if not re.fullmatch(rb"[0-9]{4}-[0-9]{2}-[0-9]{2}", date, re.DOTALL) or rest in (b"", b".", b".."):
            return name
        if label and not label.endswith(b", "):
            return name
        name = rest


def cut(stem, limit):
    """At most so many bytes, not within a code point where that can be helped (rule 6)."""
    if len(stem) <= limit:
        return stem
    for end in range(limit, max(0, limit - 3) - 1, -1):
        if stem[end] & 0xC0 != 0x80:
            return stem[:end]
    return stem[:limit]
