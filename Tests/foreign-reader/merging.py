"""The worked examples of docs/merge.md: for each rule some commits, what is shown then, and its state hash."""

from typing import NamedTuple

from facts import DIRECTORY, FILE, Content, FactReader, Place, Registers
from merge import Tree
from primitives import require, u32, u64
from writing import content, kind, moved, placed, removed, write_body

CLOCK = 1_795_219_199_000 << 16  # 2026-11-20, to which an example adds a small number


def identifier(byte):
    return bytes([byte] * 16)


ANN, BOB = identifier(0x0A), identifier(0x0B)
LABELS = {ANN: "Ann's laptop", BOB: "Bob's laptop"}


class Made(NamedTuple):
    """A commit of an example."""

    log: bytes
    sequence: int
    clock: int
    versions: dict  # of the other log
    facts: list


class Example:
    """Some commits, in an order in which they can be applied."""

    def __init__(self, rule, title):
        self.rule, self.title, self.commits = rule, title, []

    def commit(self, log, *facts, sees=0):
        """The next commit of a log, whose author has applied the first `sees` ones of the other log."""
        sequence = 1 + sum(made.log == log for made in self.commits)
        other = BOB if log == ANN else ANN
        self.commits.append(
            Made(log, sequence, CLOCK + len(self.commits) + 1, {other: sees} if sees else {}, list(facts)))
        return self


def data(item, size):
    """A content of so many zeros."""
    return Content(size, item, b"\1\0" + u64(size) + item + b"\0")


def stored(item, size, pack):
    """A content of one extent, which begins a pack."""
    entry = u64(0) + u32(size) + u64(0) + u32(size) + identifier(pack) + u32(48) + bytes(16) + u32(1) + bytes(32)
    return Content(size, item, b"\1\0" + u64(size) + item + b"\1" + entry)


def new_file(number, entry, directory, name, size=None):
    item = identifier(number)
    facts = [kind(item, FILE), placed(identifier(entry), item, directory, name)]
    return facts + ([content(item, data(item, size))] if size is not None else [])


def new_directory(number, entry, directory, name):
    item = identifier(number)
    return [kind(item, DIRECTORY), placed(identifier(entry), item, directory, name)]


def examples(root):
    file, entry = identifier(0x21), identifier(0xE1)
    yield Example(1, "a file is removed, and written by somebody else: it stays").commit(
        ANN, *new_file(0x21, 0xE1, root, b"a.txt", 1)
    ).commit(
        BOB, removed(entry, file, root, b"a.txt", ((ANN, 1),), ((ANN, 1),)), sees=1
    ).commit(ANN, content(file, data(file, 2), ((ANN, 1),)))

    yield Example(1, "a content is given up, which puts no value in its place: the removed file is gone").commit(
        ANN, *new_file(0x21, 0xE1, root, b"a.txt", 1)
    ).commit(
        BOB, removed(entry, file, root, b"a.txt", ((ANN, 1),), ((ANN, 1),)), sees=1
    ).commit(ANN, content(file, None, ((ANN, 1),)))

    first, second = identifier(0xE1), identifier(0xE2)
    x, y = identifier(0xD1), identifier(0xD2)
    yield Example(2, "two directories are moved into each other: the later move is undone").commit(
        ANN, *new_directory(0xD1, 0xE1, root, b"x"), *new_directory(0xD2, 0xE2, root, b"y")
    ).commit(
        ANN, placed(first, x, y, b"x", ((ANN, 1),), Place(root, b"x"))
    ).commit(BOB, placed(second, y, x, b"y", ((ANN, 1),), Place(root, b"y")), sees=1)

    z, third = identifier(0xD3), identifier(0xE3)
    yield Example(2, "the place before lies in a cycle, too: the directory goes into the root").commit(
        ANN, *new_directory(0xD1, 0xE1, root, b"x"), *new_directory(0xD2, 0xE2, x, b"y"),
        *new_directory(0xD3, 0xE3, root, b"z")
    ).commit(
        ANN, placed(second, y, root, b"y", ((ANN, 1),), Place(x, b"y")),
        placed(first, x, y, b"x", ((ANN, 1),), Place(root, b"x")),
        placed(third, z, y, b"z", ((ANN, 1),), Place(root, b"z"))
    ).commit(BOB, placed(second, y, z, b"w", ((ANN, 1),), Place(x, b"y")), sees=1)

    yield Example(3, "a directory is removed, and something made in it; an entry lies in a file").commit(
        ANN, *new_directory(0xD1, 0xE1, root, b"x")
    ).commit(
        ANN, removed(first, x, root, b"x", ((ANN, 1),))
    ).commit(
        BOB, *new_file(0x21, 0xE2, x, b"a.txt"), *new_file(0x22, 0xE3, file, b"lost"), sees=1)

    yield Example(4, "two files of one name: the later keeps it").commit(
        ANN, *new_file(0x21, 0xE1, root, b"a.txt", 1)
    ).commit(BOB, *new_file(0x22, 0xE2, root, b"a.txt", 2))

    yield Example(4, "two directories of one name are one").commit(
        ANN, *new_directory(0xD1, 0xE1, root, b"x"), *new_file(0x21, 0xE2, x, b"a")
    ).commit(BOB, *new_directory(0xD2, 0xE3, root, b"x"), *new_file(0x22, 0xE4, y, b"b"))

    yield Example(4, "a directory and a later file of one name: the directory keeps it").commit(
        ANN, *new_directory(0xD1, 0xE1, root, b"x")
    ).commit(BOB, *new_file(0x21, 0xE2, root, b"x", 1))

    yield Example(5, "a file is written by two: the earlier content is a copy").commit(
        ANN, *new_file(0x21, 0xE1, root, b"a.txt", 1)
    ).commit(
        ANN, content(file, data(file, 2), ((ANN, 1),))
    ).commit(BOB, content(file, data(file, 3), ((ANN, 1),)), sees=1)

    lies_first, lies_now = stored(file, 2, 0xF1), stored(file, 2, 0xF2)
    yield Example(5, "a content moves, and is changed by somebody else: only the change counts").commit(
        ANN, *new_file(0x21, 0xE1, root, b"a.txt"), content(file, lies_first)
    ).commit(
        BOB, moved(file, (ANN, 1), lies_now.value), sees=1
    ).commit(ANN, content(file, stored(file, 3, 0xF3), ((ANN, 1),)))

    yield Example(5, "a file is written by two, and the earlier content moves: the copy is the same").commit(
        ANN, *new_file(0x21, 0xE1, root, b"a.txt", 1)
    ).commit(
        ANN, content(file, lies_first, ((ANN, 1),))
    ).commit(BOB, content(file, stored(file, 3, 0xF3), ((ANN, 1),)), sees=1).commit(
        ANN, moved(file, (ANN, 2), lies_now.value))

    yield Example(6, "two lose a name, and a number is taken by a fact").commit(
        ANN, *new_file(0x21, 0xE1, root, b"a.txt"), *new_file(0x22, 0xE2, root, b"a.txt"),
        *new_file(0x23, 0xE3, root, b"a (conflict, Ann's laptop, 2026-11-20) 2.txt")
    ).commit(BOB, *new_file(0x24, 0xE4, root, b"a.txt"))


def merges(key, root):
    """What docs/values.json has of the examples."""
    return [told(example, key, root) for example in examples(root)]


def told(example, key, root):
    registers, commits = Registers(), []
    for made in example.commits:
        body = write_body(made.facts)
        require(FactReader(body).read() == made.facts, "the facts of an example")
        registers.apply(made)
        commits.append({
            "log": made.log, "sequence": made.sequence, "clock": made.clock, "label": LABELS[made.log],
            "versions": {log.hex(): sequence for log, sequence in made.versions.items()}, "facts": body})
    tree = Tree(registers, LABELS, root)
    shown = {}
    for path, item in sorted(tree.paths.items()):
        size = "" if item.kind == DIRECTORY else f", {item.content.size if item.content else 0} bytes"
        shown[b"/".join(path).decode()] = item.id.hex() + size
    return {"rule": example.rule, "title": example.title, "commits": commits, "shown": shown,
            "state hash": tree.state_hash(key)}
