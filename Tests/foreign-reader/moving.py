#!/usr/bin/env python3
"""Contents that move, in every order: docs/merge.md, "Moved contents".

usage: moving.py [SEEDS]

The readers are facts.py and merge.py, and the worked reader of docs/reader.md as it stands there.
"""

import itertools
import random
import sys

from facts import CONTENT, FILE, MOVED, FactReader, Registers, Stamp
from merge import Tree
from merging import CLOCK, Made, identifier, stored
from primitives import Cursor, Invalid, Waits, order, require
from values import KEY, VAULT
from worked import worked_reader
from writing import content, kind, moved, pieces, placed, removed, stated, write_body

FILE_ID, ENTRY = identifier(0x21), identifier(0xE1)
LOGS = [identifier(number) for number in (0x0A, 0x0B, 0x0C)]
LABELS = {log: f"device {log[0]}" for log in LOGS}
worked = worked_reader()


class Device:
    """What one device has applied, in its order, in both readers."""

    def __init__(self):
        self.registers, self.worked, self.applied = Registers(), {}, {}

    def can_apply(self, commit):
        needed = {**commit.versions, commit.log: commit.sequence - 1}
        is_new = self.applied.get(commit.log, 0) < commit.sequence
        return is_new and all(self.applied.get(log, 0) >= sequence for log, sequence in needed.items())

    def apply(self, commit):
        require(self.can_apply(commit), "the order of a test")
        self.registers.apply(commit)
        stamp = commit.clock, order(commit.log), commit.sequence
        worked["apply"](self.worked, stamp, worked["read_facts"](write_body(commit.facts)))
        self.applied[commit.log] = commit.sequence

    def shown(self):
        """The values, what is shown, and its hash; the readers agree."""
        tree = Tree(self.registers, LABELS, VAULT)
        other = worked["Tree"](self.worked, LABELS, VAULT)
        require(tree.state_hash(KEY) == other.state_hash(KEY), "the worked reader shows something else")
        paths = {path: (item.content and item.content.value) for path, item in tree.paths.items()}
        return self.registers[(CONTENT, FILE_ID)], paths, tree.state_hash(KEY)


def first():
    """The file with a content, which lies in pack 1."""
    facts = [kind(FILE_ID, FILE), placed(ENTRY, FILE_ID, VAULT, b"a"), content(FILE_ID, stored(FILE_ID, 5, 1))]
    return Made(LOGS[0], 1, CLOCK, {}, facts)


def orders(commits):
    """The devices that have applied the commits in each order that is possible."""
    for ordered in itertools.permutations(commits):
        device = Device()
        for commit in ordered:
            if not device.can_apply(commit):
                break
            device.apply(commit)
        else:
            yield device


def expect(title, commits, values, seen=2):
    """Whatever the order: these are the values of what is shown, in the order of the names."""
    devices = list(orders([first(), *commits]))
    require(len(devices) >= seen, f"{title}: too few orders")
    for device in devices:
        _, paths, _ = device.shown()
        found = [value for _, value in sorted(paths.items())]
        require(found == values, f"{title}: something else is shown")
        require(device.shown() == devices[0].shown(), f"{title}: the order matters")


# MARK: The cases of the document


BEGINNING = (LOGS[0], 1)


def says(log, clock, *facts, sequence=1, **versions):
    """A commit; versions are by the letters of the other logs."""
    named = {LOGS["abc".index(letter)]: number for letter, number in versions.items()}
    return Made(LOGS["abc".index(log)], sequence, CLOCK + clock, named, list(facts))


def in_pack(number, size=5):
    return stored(FILE_ID, size, number)


def check_cases():
    def move(pack, dot=BEGINNING):
        return moved(FILE_ID, dot, in_pack(pack).value)

    def write(pack, size=6, replaces=(BEGINNING,)):
        return content(FILE_ID, in_pack(pack, size), replaces)
    bob, carol = (LOGS[1], 1), (LOGS[2], 1)
    expect("a content moves", [says("b", 1, move(2), a=1)], [in_pack(2).value], seen=1)
    expect("a content moves twice", [says("b", 1, move(2), a=1), says("c", 2, move(3), a=1, b=1)],
           [in_pack(3).value], seen=1)
    for clocks in ((1, 2), (2, 1)):
        b, c = clocks
        expect("the later of two moves counts", [says("b", b, move(2), a=1), says("c", c, move(3), a=1)],
               [in_pack(2 if b > c else 3).value])
        expect("a change wins over a move", [says("b", b, move(2), a=1), says("c", c, write(3), a=1)],
               [in_pack(3, 6).value])
        expect("a removal wins over a move", [says("b", b, move(2), a=1), says(
            "c", c, removed(ENTRY, FILE_ID, VAULT, b"a", (BEGINNING,), (BEGINNING,)), a=1)], [])
        expect("nothing is left of a content that is given up, and moves", [
            says("b", b, move(2), a=1), says("c", c, content(FILE_ID, None, (BEGINNING,)), a=1)], [None])
    conflict = [says("b", 1, write(2), a=1), says("c", 2, write(3), a=1)]
    expect("the earlier of two contents moves", [*conflict, says("a", 9, move(4, bob), sequence=2, b=1)],
           [in_pack(3, 6).value, in_pack(4).value])
    expect("the later one moves", [*conflict, says("a", 0, move(4, carol), sequence=2, c=1)],
           [in_pack(4).value, in_pack(2, 6).value])
    same = [says("b", 1, write(2), a=1), says("c", 2, write(2), a=1)]
    expect("one content, stated twice, moves once", [*same, says("a", 3, move(4, bob), sequence=2, b=1)],
           [in_pack(4).value])
    expect("one content, stated twice, moves twice", [*same, says("a", 3, move(4, bob), sequence=2, b=1), says(
        "b", 4, move(5, carol), sequence=2, c=1)], [in_pack(5).value])
    expect("nobody replaces a move", [says("b", 2, move(2), a=1), says("c", 1, move(3), a=1), says(
        "a", 5, content(FILE_ID, None, (bob,)), sequence=2, b=1)], [in_pack(2).value])
    expect("what is no content does not move", [says("b", 1, placed(identifier(0xE2), FILE_ID, VAULT, b"b"), a=1),
           says("c", 2, move(2, bob), b=1)], [in_pack(1).value] * 2, seen=1)


# MARK: The form


def check_form():
    """What a body of facts may have, in both readers."""
    whole = write_body([moved(FILE_ID, BEGINNING, b"value")])
    flags = 1 + 2 + 16 + 4 + 1
    require(FactReader(whole).read()[0].value == (BEGINNING, b"value"), "a moved content")
    for changed, is_newer in ((2 | 4, True), (8 | 4, True), (0, False), (1 | 4, False)):
        body = whole[:flags] + bytes([changed]) + whole[flags + 1 :]
        refuses(body, is_newer, f"flags {changed}")
    refuses(whole[:flags - 1] + b"\x08" + whole[flags:], True, "attribute 8")
    for count in range(len(whole)):
        if count != 0:
            refuses(whole[:count], False, f"{count} bytes")
    both = write_body([content(FILE_ID, None, (BEGINNING,)), moved(FILE_ID, BEGINNING, b"")])
    refuses(both, False, "two facts of the register of content")


def refuses(body, is_newer, title):
    for read, kinds in ((lambda: FactReader(body).read(), (Waits, Invalid)),
                        (lambda: list(worked["read_facts"](body)), (worked["Waits"], worked["WRONG"]))):
        try:
            read()
        except kinds[0]:
            require(is_newer, f"{title}: of a newer version")
        except kinds[1]:
            require(not is_newer, f"{title}: malformed")
        else:
            raise Invalid(f"{title}: accepted")


# MARK: At random


class History:
    """Devices that change, move, remove, and exchange at random; clocks tell nothing of who knew what."""

    def __init__(self, seed):
        self.random = random.Random(seed)
        self.devices = {log: Device() for log in LOGS}
        self.commits, self.packs = [first()], itertools.count(2)
        self.devices[LOGS[0]].apply(self.commits[0])

    def act(self):
        log = self.random.choice(LOGS)
        device = self.devices[log]
        if self.random.random() < 0.5:
            ready = [commit for commit in self.commits if device.can_apply(commit)]
            if ready:
                device.apply(self.random.choice(ready))
        elif device.applied:
            self.say(log, device, self.fact(device))

    def fact(self, device):
        known = device.registers.contents(FILE_ID)
        dots = [value.stamp.dot for value in known]
        dots += [(log, self.random.randint(1, last)) for log, last in device.applied.items() if last]
        some = sorted({dot for dot in dots if self.random.random() < 0.4}, key=lambda dot: (order(dot[0]), dot[1]))
        choice = self.random.random()
        if choice < 0.4:
            return moved(FILE_ID, self.random.choice(dots), in_pack(self.random.randrange(2, 200)).value)
        if choice < 0.8:
            size = self.random.randint(5, 6)
            return content(FILE_ID, in_pack(self.random.randrange(2, 5), size), tuple(some))
        if choice < 0.9:
            return content(FILE_ID, None, tuple(some or [BEGINNING]))
        if choice < 0.95:
            return placed(ENTRY, FILE_ID, VAULT, b"b", tuple(some))
        return removed(ENTRY, FILE_ID, VAULT, b"a", tuple(some or [BEGINNING]), tuple(some))

    def say(self, log, device, fact):
        own = [commit for commit in self.commits if commit.log == log]
        clock = max([commit.clock for commit in own], default=CLOCK) + self.random.choice((0, 1, 1, 5))
        versions = {other: last for other, last in device.applied.items() if other != log}
        self.commits.append(Made(log, len(own) + 1, clock, versions, [fact]))
        device.apply(self.commits[-1])

    def finish(self):
        for device in self.devices.values():
            while ready := [commit for commit in self.commits if device.can_apply(commit)]:
                device.apply(self.random.choice(ready))

    def check(self):
        shown = [device.shown() for device in self.devices.values()]
        require(shown[0] == shown[1] == shown[2], "devices that have the same commits show something else")
        values, paths, state_hash = shown[0]
        self.check_values(values)
        require(self.loaded(shuffled=True).shown() == shown[0], "a checkpoint, its groups in another order")
        require(self.loaded(shuffled=False).shown() == shown[0], "a checkpoint")
        return sum(fact.attribute == MOVED for fact in map(lambda value: stated((CONTENT, FILE_ID), value), values))

    def check_values(self, values):
        """The values by a definition that knows no order."""
        facts = [(Stamp(made.clock, order(made.log), made.sequence), fact)
                 for made in self.commits for fact in made.facts if fact.register == (CONTENT, FILE_ID)]
        replaced = {dot for _, fact in facts for dot in fact.replaces}
        contents = {stamp.dot: stamp for stamp, fact in facts
                    if fact.attribute == CONTENT and fact.value and stamp.dot not in replaced}
        moves = {}
        for stamp, fact in facts:
            if fact.attribute == MOVED and fact.value.dot in contents:
                moves[fact.value.dot] = max(stamp, moves.get(fact.value.dot, stamp))
        expected = sorted([*contents.values(), *moves.values()])
        require([value.stamp for value in values] == expected, "the values that count")

    def loaded(self, shuffled):
        """A device that begins with a checkpoint of the first device."""
        device, groups = Device(), []
        for piece in pieces(self.devices[LOGS[0]].registers):
            cursor = Cursor(piece)
            while cursor.left:
                log, sequence, clock = cursor.identifier(), cursor.u64(), cursor.u64()
                groups.append((Stamp(clock, order(log), sequence), cursor.take(cursor.u32())))
        if shuffled:
            self.random.shuffle(groups)
        for stamp, body in groups:
            device.registers.add(stamp, FactReader(body).read())
            worked["apply"](device.worked, stamp, worked["read_facts"](body))
        return device


def main(seeds="400"):
    check_form()
    check_cases()
    count = 0
    for seed in range(int(seeds)):
        history = History(seed)
        try:
            for _ in range(40):
                history.act()
            history.finish()
            count += history.check()
        except Invalid as error:
            raise Invalid(f"seed {seed}: {error}") from error
    require(count > int(seeds) // 4, f"only {count} moves count in the end")
    print(f"contents that move are right in {seeds} histories, with {count} moves that count")


if __name__ == "__main__":
    try:
        main(*sys.argv[1:])
    except Invalid as error:
        sys.exit(f"moving.py: {error}")
