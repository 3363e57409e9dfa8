"""What commits say: docs/format.md, "Facts"; and where it is kept: docs/merge.md, "Facts"."""

from dataclasses import dataclass
from typing import Any, NamedTuple, Optional

from primitives import Cursor, Waits, order, require, u16, u32, u64

KIND, MODE, MODIFIED, EXTENDED_ATTRIBUTE, CONTENT, PLACE, MOVED = range(1, 8)
SAME_ITEM, REPLACES, VALUE, MORE = 1, 2, 4, 8

FILE, DIRECTORY, SYMLINK, FIFO, SOCKET, CHARACTER_DEVICE, BLOCK_DEVICE = range(1, 8)


class Place(NamedTuple):
    directory: bytes
    name: bytes


class Placement(NamedTuple):
    """The value of a place."""

    place: Optional[Place]  # None if it was removed
    previous: Optional[Place]
    seen: tuple  # dots of contents


class Content(NamedTuple):
    """The value of a content."""

    size: int
    origin: Optional[bytes]
    value: bytes


class Moved(NamedTuple):
    """Where the bytes of a content lie now: a value in the register of content (docs/merge.md, "Facts")."""

    dot: tuple  # of the commit that stated the content
    value: bytes


@dataclass(frozen=True)
class Fact:
    attribute: int
    item: bytes
    register: tuple
    replaces: tuple
    value: Any


class FactReader:
    """Reads a body of facts."""

    def __init__(self, body):
        self.cursor = Cursor(body)
        if self.cursor.u8() != 1:
            raise Waits("it has facts of a newer version")
        self.logs = [self.cursor.identifier() for _ in range(self.cursor.u16())]
        numbers = [order(log) for log in self.logs]
        require(numbers == sorted(set(numbers)), "the order of logs")
        self.named_logs = set()
        self.item = None

    def read(self):
        facts = [self.fact() for _ in range(self.cursor.u32())]
        self.cursor.end()
        require(len(self.named_logs) == len(self.logs), "a log that no dot names")
        require(len({fact.register for fact in facts}) == len(facts), "two facts of one register")
        return facts

    def fact(self):
        cursor = self.cursor
        attribute, flags = cursor.u8(), cursor.u8()
        if not KIND <= attribute <= MOVED:
            raise Waits("it has an attribute of a newer version")
        is_newer = flags & MORE and attribute not in (CONTENT, PLACE) or flags & REPLACES and attribute == MOVED
        if flags >= 16 or is_newer:
            raise Waits("it has a flag of a newer version")
        require(flags & VALUE or MODIFIED < attribute < MOVED, "flag 4")
        entry = cursor.identifier() if attribute == PLACE else None
        if not flags & SAME_ITEM:
            item = cursor.identifier()
            require(item != self.item, "the item of the fact before, without flag 1")
            self.item = item
        require(self.item, "flag 1 of the first fact")
        replaces = self.dots() if flags & REPLACES else ()
        require(bool(replaces) == bool(flags & REPLACES), "flag 2")
        register, value = self.value(attribute, flags, entry)
        return Fact(attribute, self.item, register, replaces, value)

    def dots(self):
        dots = [self.dot() for _ in range(self.cursor.u16())]
        numbers = [(order(log), sequence) for log, sequence in dots]
        require(numbers == sorted(set(numbers)), "the order of dots")
        return tuple(dots)

    def dot(self):
        place, sequence = self.cursor.u16(), self.cursor.u64()
        require(place < len(self.logs) and sequence > 0, "a dot")
        self.named_logs.add(place)
        return self.logs[place], sequence

    def value(self, attribute, flags, entry):
        """The register and the value."""
        cursor, item = self.cursor, self.item
        if attribute == KIND:
            return (KIND, item), self.kind()
        if attribute == MODE:
            mode = cursor.u16()
            require(mode <= 0o7777, "a mode")
            return (MODE, item), mode
        if attribute == MODIFIED:
            return (MODIFIED, item), cursor.time()
        if attribute == EXTENDED_ATTRIBUTE:
            name = cursor.take(cursor.u8())
            require(name and b"\0" not in name, "the name of an extended attribute")
            return (EXTENDED_ATTRIBUTE, item, name), cursor.take(cursor.u32()) if flags & VALUE else None
        if attribute == CONTENT:
            require(flags & VALUE or not flags & MORE, "flag 8")
            return (CONTENT, item), self.content(flags) if flags & VALUE else None
        if attribute == MOVED:
            return (CONTENT, item), Moved(self.dot(), cursor.take(cursor.u16()))
        place = self.place() if flags & VALUE else None
        previous = self.place() if flags & MORE else None
        require(place or previous, "a removal without the previous place")
        return (PLACE, entry), Placement(place, previous, () if place else self.dots())

    def kind(self):
        """What it is, with the target of a symlink or the number of a device."""
        kind = self.cursor.u8()
        if not FILE <= kind <= BLOCK_DEVICE:
            raise Waits("it has a kind of a newer version")
        if kind == SYMLINK:
            target = self.cursor.take(self.cursor.u16())
            require(1 <= len(target) <= 4095 and b"\0" not in target, "the target of a symlink")
            return kind, target
        return kind, self.cursor.u64() if kind in (CHARACTER_DEVICE, BLOCK_DEVICE) else None

    def content(self, flags):
        size = self.cursor.u64()
        require(size <= 1 << 62, "the size of a content")
        origin = self.cursor.identifier() if flags & MORE else None
        return Content(size, origin, self.cursor.take(self.cursor.u16()))

    def place(self):
        directory, name = self.cursor.identifier(), self.cursor.take(self.cursor.u8())
        require(name not in (b"", b".", b"..") and b"/" not in name and b"\0" not in name, "a name")
        return Place(directory, name)


def write_facts(item, values):
    """A body of facts about one item that replace nothing: attributes, flags, and bytes of values."""
    body = b"\1" + u16(0) + u32(len(values))
    for number, (attribute, flags, value) in enumerate(values):
        body += bytes([attribute, flags | SAME_ITEM if number else flags])
        body += b"" if number else item
        body += value
    return body


def write_content(content):
    """The attribute, flags and bytes of a content."""
    origin = content.origin or b""
    flags = VALUE | MORE if origin else VALUE
    return CONTENT, flags, u64(content.size) + origin + u16(len(content.value)) + content.value


class Stamp(NamedTuple):
    """When something was said; compared as it stands here (docs/merge.md, "Facts")."""

    clock: int
    log_number: int
    sequence: int

    @property
    def dot(self):
        return self.log_number.to_bytes(16, "little"), self.sequence


class Value(NamedTuple):
    stamp: Stamp
    item: bytes
    value: Any

    @property
    def about(self):
        """The dot by which a fact removes it: of a moved content, that of the content."""
        return self.value.dot if isinstance(self.value, Moved) else self.stamp.dot


class Registers:
    """All values of all registers, by ascending stamp (docs/merge.md, "Facts")."""

    def __init__(self):
        self.values = {}

    def apply(self, commit):
        stamp = Stamp(commit.clock, order(commit.log), commit.sequence)
        self.add(stamp, [fact for fact in commit.facts if self.counts(stamp, fact)])

    def counts(self, stamp, fact):
        """Whether a fact of a commit counts: a moved content may be too late."""
        if fact.attribute != MOVED:
            return True
        dots = {value.stamp.dot for value in self.contents(fact.item)}
        last = self.moved(fact.item).get(fact.value.dot)
        return fact.value.dot in dots and (last is None or last.stamp < stamp)

    def add(self, stamp, facts):
        """Puts in facts as they stand: those of a checkpoint come in any order."""
        for fact in facts:
            kept = [value for value in self[fact.register] if value.about not in fact.replaces]
            if fact.attribute == MOVED:
                kept = [value for value in kept if value.about != fact.value.dot or value in self.contents(fact.item)]
            if fact.attribute != CONTENT or fact.value:
                kept.append(Value(stamp, fact.item, fact.value))
            self.values[fact.register] = sorted(kept, key=lambda value: value.stamp)

    def contents(self, item):
        """The contents of an item as their facts state them."""
        return [value for value in self[(CONTENT, item)] if not isinstance(value.value, Moved)]

    def moved(self, item):
        """Where contents of an item lie now, by their dots."""
        return {value.value.dot: value for value in self[(CONTENT, item)] if isinstance(value.value, Moved)}

    def __getitem__(self, register):
        return self.values.get(register, [])

    def last(self, register):
        """What counts in a register of which the highest stamp counts; None if there is nothing."""
        values = self[register]
        return values[-1].value if values else None
