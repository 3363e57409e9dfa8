"""Commits: docs/format.md, "Commits"; their order: docs/protocol.md, "Order of checks", "Causal order"."""

from facts import FactReader, Registers
from primitives import Cursor, derive, open_record, purpose_hash, require, u32, verify


def padded_length(count):
    """PADMÉ ("Signed record")."""
    if count <= 512:
        return 512
    exponent = count.bit_length() - 1
    step = 1 << (exponent - exponent.bit_length())
    return -(-count // step) * step


def unpadded(padded):
    cursor = Cursor(padded)
    body = cursor.take(cursor.u32())
    require(len(padded) == padded_length(4 + len(body)), "the length of what is padded")
    require(not any(cursor.take(cursor.left)), "what is behind a body")
    return body


class Commit:
    """A commit, whose signature is checked with `check` ("Signed record", "Body of a commit")."""

    def __init__(self, record, vault, keys):
        require(len(record) <= 16 << 20, "a commit that is too long")
        cursor = Cursor(record)
        cursor.header(b"COFFERCM")
        require(cursor.identifier() == vault, "a commit of another vault")
        self.log, self.sequence, self.epoch = cursor.identifier(), cursor.u64(), cursor.u32()
        require(1 <= self.sequence <= 1 << 62, "the number of a commit")
        body = cursor.take(cursor.u32())
        sealed_seal = cursor.take(177)
        cursor.end()
        require(self.epoch in keys, "a commit of an epoch whose key is not known")
        header = record[:60]
        key = derive(keys[self.epoch], b"log", vault + u32(self.epoch))
        seal = open_record(key, header + b"\1", sealed_seal)
        self.signed = header + body + seal[:73]
        self.hash = purpose_hash(b"commit", record)
        self.read_seal(Cursor(seal))
        self.read_body(Cursor(unpadded(open_record(key, header, body))))

    def read_seal(self, cursor):
        self.author = cursor.take(32)
        self.link, self.link_hash = cursor.u64(), cursor.take(32)
        self.writes = cursor.u8() == 1
        self.signature = cursor.take(64)
        cursor.end()

    def read_body(self, cursor):
        self.previous, self.clock, self.state_hash = cursor.take(32), cursor.u64(), cursor.take(32)
        self.heads = {}
        last = b""
        for _ in range(cursor.u16()):
            log = cursor.identifier()
            require(log > last and log != self.log, "the order of heads")
            last = log
            self.heads[log] = (cursor.u64(), cursor.take(32))
        has_introduction = cursor.u8()
        require(has_introduction == (self.sequence == 1), "the introduction")
        self.label = (cursor.text(), cursor.text())[1] if has_introduction else None
        count = cursor.u8()
        for _ in range(count):
            code = cursor.u8()
            require(code in (1, 2, 3, 4), "a notice of a newer version")
            if code < 3:
                cursor.take(40 if code == 1 else 56)
                continue
            has_all = code == 4 and (cursor.take(24), cursor.u8())[1]
            require(has_all in (False, 0, 1), "the kind of an answer")
            packs = [] if has_all else [cursor.take(16) for _ in range(cursor.u16())]
            numbers = [int.from_bytes(pack, "little") for pack in packs]
            require(len(packs) <= 4096 and numbers == sorted(set(numbers)), "the packs of a notice")
        body = cursor.take(cursor.u32())
        self.facts = FactReader(body).read() if body else []
        cursor.end()
        require(self.writes == bool(self.facts or count), "whether a commit changes anything")

    def counts(self, members):
        """Whether it counts ("Order of checks", 7 to 10)."""
        key = members.author_key(self)
        if key is None:
            return False
        verify(key, b"commit", self.signed, self.signature)
        return True


class History:
    """Commits in the order in which they are applied."""

    def __init__(self, commits, ends):
        """Takes the commits of each log, by their numbers, and where logs ended ("Causal order")."""
        self.ends = ends
        self.applied = []
        self.labels = {}
        self.last = {}  # of each log
        waiting = {log: list(commits) for log, commits in commits.items()}
        while any(waiting.values()):
            count = len(self.applied)
            for log in waiting:
                while waiting[log] and self.is_next(waiting[log][0]):
                    self.apply(waiting[log].pop(0))
            require(len(self.applied) > count, "commits wait for others that are not there")

    def is_next(self, commit):
        for log, (sequence, _) in commit.heads.items():
            needed = min(sequence, self.ends.get(log, sequence))
            if needed and (log not in self.last or self.last[log].sequence < needed):
                return False
        return True

    def names_what_counts(self, commit):
        """Whether all that it names counts: if not, nobody can check its state hash."""
        return all(sequence <= self.ends.get(log, sequence) for log, (sequence, _) in commit.heads.items())

    def apply(self, commit):
        before = self.last.get(commit.log)
        require(commit.sequence == (before.sequence + 1 if before else 1), "a commit is missing")
        require(commit.previous == (before.hash if before else bytes(32)), "a commit follows another one")
        if before:
            require(commit.author == before.author, "two authors of a log")
            require(commit.clock >= before.clock and commit.link >= before.link, "a commit goes back")
        else:
            self.labels[commit.log] = commit.label
        hashes = {(other.log, other.sequence): other.hash for other in self.applied}
        for log, (sequence, commit_hash) in commit.heads.items():
            if sequence <= self.ends.get(log, sequence):
                require(hashes[(log, sequence)] == commit_hash, "a commit names another one than is there")
        self.applied.append(commit)
        self.last[commit.log] = commit

    def registers(self, seen=None):
        """What all commits say; or those up to a number in each log."""
        registers = Registers()
        for commit in self.applied:
            if seen is None or commit.sequence <= seen.get(commit.log, 0):
                registers.apply(commit)
        return registers

    def registers_in_front_of(self, commit):
        """What its author had applied."""
        seen = {log: sequence for log, (sequence, _) in commit.heads.items()}
        seen[commit.log] = commit.sequence - 1
        return self.registers(seen)
