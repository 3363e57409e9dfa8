"""Checkpoints: docs/format.md, "Body of a checkpoint", "Piece of a checkpoint"; docs/protocol.md, "Checkpoints"."""

import os
from dataclasses import dataclass

from commits import SignedRecord, check_facts, unpadded
from facts import FactReader, Registers, Stamp
from merge import Tree
from primitives import Cursor, Ends, Invalid, Waits, open_record, order, purpose_hash, require
from writing import pieces


@dataclass
class Point:
    """A commit that a checkpoint covers ("Body of a checkpoint")."""

    log: bytes
    author: bytes
    sequence: int
    hash: bytes
    link: int
    link_hash: bytes
    writes: bool
    clock: int = 0
    name: str = ""
    label: str = ""


def read_point(cursor, log, author):
    point = Point(log, author, cursor.u64(), cursor.take(32), cursor.u64(), cursor.take(32), cursor.u8())
    require(1 <= point.sequence <= 1 << 62 and point.writes <= 1, "a commit that a checkpoint covers")
    return point


class Checkpoint(SignedRecord):
    """The record of a checkpoint, not checked yet, and its pieces."""

    magic, derived, signed_purpose = b"COFFERCP", b"checkpoint", b"checkpoint"

    def read_body(self, cursor):
        self.clock, self.state_hash = cursor.u64(), cursor.take(32)
        self.logs, self.last_writes = {}, []
        count, last = cursor.u16(), -1
        require(1 <= count <= 4096, "the number of logs")
        for _ in range(count):
            log, author, name, label, clock = (
                cursor.identifier(), cursor.take(32), cursor.text(), cursor.text(), cursor.u64())
            require(order(log) > last, "the order of logs")
            last = order(log)
            self.logs[log] = read_point(cursor, log, author)
            self.logs[log].clock, self.logs[log].name, self.logs[log].label = clock, name, label
            flag = cursor.u8()
            require(flag <= 1, "the last change of a log")
            if flag:
                self.last_writes.append(read_point(cursor, log, author))
        count = cursor.u32()
        require(count <= 65_536, "the number of pieces")
        self.pieces = [(cursor.take(32), cursor.take(32), cursor.u32()) for _ in range(count)]
        require(all(length <= 4 << 20 for _, _, length in self.pieces), "the length of a piece")
        cursor.end()
        require(self.log in self.logs and self.logs[self.log].sequence == self.sequence, "its own log")

    @property
    def covered(self):
        return {log: last.sequence for log, last in self.logs.items()}

    def read_pieces(self, folder, key):
        """Reads and checks the pieces; what they say is given by `registers`."""
        self.groups = []
        for number, (piece_hash, _, _) in enumerate(self.pieces):
            path = os.path.join(folder, "checkpoints", self.log.hex(), f"{self.sequence:016x}-{number:08x}")
            if not os.path.exists(path):
                raise Waits(f"piece {number} is missing")
            with open(path, "rb") as file:
                piece = file.read()
            require(len(piece) <= 4 << 20, f"piece {number} is too long")
            require(purpose_hash(b"checkpoint piece", piece) == piece_hash, f"the hash of piece {number}")
            cursor = Cursor(piece)
            cursor.header(b"COFFERCC")
            found = cursor.identifier(), cursor.identifier(), cursor.u64(), cursor.u32(), cursor.u32()
            require(found == (self.vault, self.log, self.sequence, self.epoch, number), f"piece {number} is another")
            groups = unpadded(open_record(self.subkey(key), piece[:60], piece[60:]))
            self.read_groups(Cursor(groups))
        # Only a device that confirms it has to look at that: it cuts its own facts, and compares.
        cut = [purpose_hash(b"checkpoint facts", groups) for groups in pieces(self.registers())]
        self.is_cut_as_told = cut == [groups_hash for _, groups_hash, _ in self.pieces]
        tree = Tree(self.registers(), {log: last.label for log, last in self.logs.items()}, self.vault)
        self.shown = tree

    def read_groups(self, cursor):
        while cursor.left:
            log, sequence, clock = cursor.identifier(), cursor.u64(), cursor.u64()
            facts = FactReader(cursor.take(cursor.u32())).read()
            require(1 <= sequence <= self.covered.get(log, 0), "a group of a commit that it does not cover")
            require(not any(fact.replaces for fact in facts), "a group that replaces something")
            # Of its own log the commit has what was in front of it.
            check_facts(facts, self.vault, (log, sequence), self.covered | {log: sequence - 1}, in_checkpoint=True)
            self.groups.append((Stamp(clock, order(log), sequence), facts))

    def registers(self):
        registers = Registers()
        for stamp, facts in self.groups:
            registers.add(stamp, facts)
        return registers


class CheckpointSearch:
    """Finds the checkpoint that a reader begins with."""

    def __init__(self, folder, verifier):
        self.folder, self.verifier = folder, verifier
        self.refused = []  # place, and why it is not used
        self.confirmed_by = {}  # by place: who confirmed it

    def newest(self, key_of_epoch_1):
        candidates = []
        top = os.path.join(self.folder, "checkpoints")
        for name in sorted(os.listdir(top)) if os.path.isdir(top) else []:
            numbers = [number for number in sorted(os.listdir(os.path.join(top, name))) if "-" not in number]
            for number in reversed(numbers[-8:]):
                place = bytes.fromhex(name), int(number, 16)
                try:
                    candidates.append(self.usable(place, key_of_epoch_1))
                    break
                except Invalid as error:
                    self.refused.append((place, str(error)))
        return max(candidates, key=lambda found: (found.clock, order(found.log)), default=None)

    def usable(self, place, key_of_epoch_1):
        """A checkpoint that counts, whole; throws what is wrong with it."""
        checkpoint = self.record(place)
        self.check_covered(checkpoint)
        self.check_right(checkpoint)
        checkpoint.read_pieces(self.folder, self.verifier.keys[checkpoint.epoch])
        # That is named, and the checkpoint is used all the same: others have confirmed it, or need not.
        is_right = checkpoint.shown.state_hash(key_of_epoch_1) == checkpoint.state_hash
        checkpoint.doubt = None if is_right else "it shows something else than it says"
        return checkpoint

    def record(self, place):
        """Checks 1 to 5 and 9 to 11 of the record."""
        members, keys = self.verifier.members, self.verifier.keys
        with open(os.path.join(self.folder, "checkpoints", place[0].hex(), f"{place[1]:016x}"), "rb") as file:
            checkpoint = Checkpoint(file.read(), self.verifier.vault)
        require(checkpoint.place == place, "its record is in another's place")
        require(checkpoint.epoch in keys, f"the key of epoch {checkpoint.epoch} is not known")
        checkpoint.open_seal(keys[checkpoint.epoch])
        require(checkpoint.is_signed_by_author(members), "its record is not signed by its author")
        require(checkpoint.link < len(members.states), "it names a link of the members that is not there")
        epoch = members.states[checkpoint.link][1]
        require(checkpoint.epoch == epoch, f"its epoch is not that of link {checkpoint.link}")
        checkpoint.read_body(self.verifier.body(checkpoint))
        return checkpoint

    def check_covered(self, checkpoint):
        for point in [*checkpoint.logs.values(), *checkpoint.last_writes]:
            try:
                self.verifier.members.author_key(point)
            except (Waits, Ends) as error:
                raise Invalid(f"it covers {point.log.hex()}/{point.sequence}, which does not count: {error}") from error

    def check_right(self, checkpoint):
        notice = checkpoint.log, checkpoint.sequence, checkpoint.hash
        try:
            announcement = self.commit(checkpoint.log, checkpoint.sequence + 1)
        except (Waits, Ends) as error:
            raise Invalid(f"the commit that announces it does not count: {error}") from error
        if announcement is None:
            raise Waits("the commit that announces it is missing")
        is_announced = (1, *notice) in announcement.notices and announcement.author == checkpoint.author
        require(is_announced, "the commit after it does not announce it")
        if self.verifier.members.is_admin(checkpoint.author):
            return
        for name in sorted(os.listdir(os.path.join(self.folder, "log"))):
            log = bytes.fromhex(name)
            if log == checkpoint.log:
                continue
            first = checkpoint.covered.get(log, 0) + 1
            for sequence in range(first, first + 65):
                try:
                    commit = self.commit(log, sequence)
                except Invalid:
                    commit = None
                if not commit:
                    break
                if (2, *notice) in commit.notices and commit.author != checkpoint.author:
                    self.confirmed_by[checkpoint.place] = commit.author
                    return
        raise Waits("its author is no owner or admin, and nobody has confirmed it")

    def commit(self, log, sequence):
        path = os.path.join(self.folder, "log", log.hex(), f"{sequence:016x}")
        if not os.path.exists(path):
            return None
        with open(path, "rb") as file:
            return self.verifier.authentic(file.read(), (log, sequence))
