"""Commits: docs/format.md, "Commits"; their order: docs/protocol.md, "Order of checks", "Causal order"."""

from chains import ADMIN
from facts import CONTENT, KIND, MOVED, PLACE, FactReader, Registers
from primitives import Cursor, Ends, Invalid, OfLostSide, Waits, derive, open_record, purpose_hash, require
from primitives import u32, verify


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


class SignedRecord:
    """A commit or the record of a checkpoint, not checked yet ("Signed record")."""

    magic = derived = signed_purpose = None

    def __init__(self, record, vault):
        require(len(record) <= 16 << 20, "a record that is too long")
        cursor = Cursor(record)
        cursor.header(self.magic)
        require(cursor.identifier() == vault, "a record of another vault")
        self.record, self.vault = record, vault
        self.log, self.sequence, self.epoch = cursor.identifier(), cursor.u64(), cursor.u32()
        require(1 <= self.sequence <= 1 << 62, "the number of a record")
        self.header = record[:60]
        self.body = cursor.take(cursor.u32())
        self.sealed_seal = cursor.take(177)
        cursor.end()
        self.hash = purpose_hash(self.signed_purpose, record)

    @property
    def place(self):
        return self.log, self.sequence

    def subkey(self, key):
        return derive(key, self.derived, self.vault + u32(self.epoch))

    def open_seal(self, key):
        seal = open_record(self.subkey(key), self.header + b"\1", self.sealed_seal)
        cursor = Cursor(seal)
        self.author = cursor.take(32)
        self.link, self.link_hash = cursor.u64(), cursor.take(32)
        flag = cursor.u8()
        require(flag <= 1, "a seal that neither changes nor acknowledges")
        self.writes = flag == 1
        self.signature = cursor.take(64)
        cursor.end()
        self.signed = self.header + self.body + seal[:73]

    def open_body(self, key):
        return Cursor(unpadded(open_record(self.subkey(key), self.header, self.body)))

    def check_signature(self, key):
        verify(key, self.signed_purpose, self.signed, self.signature)

    def is_signed_by_author(self, members):
        """Whether the author signed it by any of the keys that it ever had as a member."""
        for key in members.keys_ever(self.author):
            try:
                self.check_signature(key)
                return True
            except Invalid:
                pass
        return False


class Commit(SignedRecord):
    """A commit ("Signed record", "Body of a commit")."""

    magic, derived, signed_purpose = b"COFFERCM", b"log", b"commit"

    def __init__(self, record, vault, keys=None):
        """With keys, opens all of it, and checks nothing else."""
        super().__init__(record, vault)
        if keys is not None:
            require(self.epoch in keys, "a commit of an epoch whose key is not known")
            self.open_seal(keys[self.epoch])
            self.read_body(self.open_body(keys[self.epoch]))

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
        self.name, self.label = (cursor.text(), cursor.text()) if has_introduction else (None, None)
        self.notices = []  # those about checkpoints: log, number, hash; who makes it, or confirms it
        count = cursor.u8()
        for _ in range(count):
            code = cursor.u8()
            if code not in (1, 2, 3, 4):
                raise Waits("it has a notice of a newer version")
            if code < 3:
                log = self.log if code == 1 else cursor.identifier()
                self.notices.append((code, log, cursor.u64(), cursor.take(32)))
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

    @property
    def seen(self):
        """What its author had applied, its own log included."""
        seen = {log: sequence for log, (sequence, _) in self.heads.items()}
        seen[self.log] = self.sequence - 1
        return seen


def check_facts(facts, root, place, seen, in_checkpoint=False):
    """Check 19: `seen` is what the author had applied of each log."""
    for fact in facts:
        dots = set(fact.replaces)
        if fact.attribute == PLACE:
            # A content that a removal saw need not count any more, so that no checkpoint covers it.
            dots |= set() if in_checkpoint else set(fact.value.seen) - {place}
            require(not fact.value.place or fact.value.place.directory != fact.item, "an entry inside its item")
        dots |= {fact.value.dot} if fact.attribute == MOVED else set()
        require(fact.item != root or fact.attribute not in (KIND, CONTENT, MOVED, PLACE), "a fact about the root")
        for log, sequence in dots:
            require(sequence <= seen.get(log, 0), f"what its author had not applied: {log.hex()}/{sequence}")


class Verifier:
    """Checks commits in their order ("Order of checks")."""

    def __init__(self, vault, members, keys, lost_keys=()):
        self.vault, self.members, self.keys = vault, members, keys
        self.lost_keys = lost_keys  # pairs of epoch and key

    def authentic(self, record, place, author=None, kind=Commit):
        """Checks 1 to 15: all that does not depend on the rest of the log."""
        commit = self.opened(record, place, author, kind)
        try:
            commit.read_body(self.body(commit))
        except Waits:
            raise
        except Invalid as error:
            raise Ends(str(error)) from error
        # Check 14.
        role = self.members.states[commit.link][0][commit.author].role
        if role > ADMIN and any(fact.attribute == MOVED for fact in commit.facts):
            raise Ends(f"its author had no right to move contents at link {commit.link}")
        return commit

    def opened(self, record, place, author, kind):
        try:
            commit = kind(record, self.vault)
        except Invalid as error:
            raise Waits(f"it is damaged: {error}") from error
        if commit.place != place:
            raise Waits(f"it is {commit.log.hex()}/{commit.sequence}, in another's place")
        if commit.epoch not in self.keys:
            raise Waits(f"the key of epoch {commit.epoch} is not known")
        try:
            commit.open_seal(self.keys[commit.epoch])
        except Invalid as error:
            if self.lost(record, kind):
                raise OfLostSide("it is of the lost side of a fork of the members") from error
            raise Waits(f"it is not authentic: {error}") from error
        if author and commit.author != author:
            raise Waits("it has another author than its log")
        self.check_right(commit)
        return commit

    def check_right(self, commit):
        """Checks 7 to 10."""
        try:
            key = self.members.author_key(commit)
        except (Waits, Ends) as error:
            if commit.link >= len(self.members.links) or commit.is_signed_by_author(self.members):
                raise
            raise Waits("it is not authentic: its author did not sign it") from error
        try:
            commit.check_signature(key)
        except Invalid as error:
            raise Waits(f"it is not authentic: {error}") from error
        if commit.epoch != self.members.states[commit.link][1]:
            raise Ends(f"its epoch is not that of link {commit.link}")

    def body(self, commit):
        try:
            return commit.open_body(self.keys[commit.epoch])
        except Invalid as error:
            raise Waits(f"it is not authentic: {error}") from error

    def lost(self, record, kind=Commit):
        """A commit of the lost side of a fork (check 5, 7); None if it is not one."""
        commit = kind(record, self.vault)
        for epoch, key in [*self.keys.items(), *self.lost_keys]:
            try:
                require(epoch == commit.epoch, "another epoch")
                commit.open_seal(key)
                commit.read_body(commit.open_body(key))
            except Invalid:
                continue
            if not self.members.has(commit.link, commit.link_hash) and commit.is_signed_by_author(self.members):
                return commit
        return None

    def follows(self, commit, before):
        """Checks 16 to 19: `before` is the commit before it in its log, or what a checkpoint says of that."""
        if before and commit.sequence != before.sequence + 1 or not before and commit.sequence != 1:
            raise Waits("the commit before it is missing")
        if commit.previous != (before.hash if before else bytes(32)):
            raise Waits("it follows another commit than the known one: the log is forked")
        if before and commit.clock < before.clock:
            raise Ends("its clock goes back")
        if before and commit.link < before.link:
            raise Ends("it names an earlier link than the commit before it")
        try:
            check_facts(commit.facts, self.vault, commit.place, commit.seen)
        except Invalid as error:
            raise Ends(f"its facts: {error}") from error


class History:
    """Commits in the order in which they are applied, after a checkpoint or from the first ones on."""

    def __init__(self, commits, ends, checkpoint=None):
        """Takes the commits of each log, by their numbers, and where logs ended ("Causal order")."""
        self.ends, self.checkpoint = ends, checkpoint
        self.applied, self.others = [], []  # others: commits that name another commit than is there
        self.hashes = {}
        self.last = dict(checkpoint.logs) if checkpoint else {}  # of each log
        self.labels = {log: last.label for log, last in self.last.items()}
        waiting = {log: list(commits) for log, commits in commits.items()}
        while any(waiting.values()):
            count = len(self.applied)
            for log in waiting:
                while waiting[log] and self.is_next(waiting[log][0]):
                    self.apply(waiting[log].pop(0))
            if len(self.applied) == count:
                break
        self.waiting = [log for log in waiting if waiting[log]]  # for commits that are not there

    def is_next(self, commit):
        for log, (sequence, _) in commit.heads.items():
            needed = min(sequence, self.ends.get(log, sequence))
            if needed and (log not in self.last or self.last[log].sequence < needed):
                return False
        return True

    def names_what_counts(self, commit):
        """Whether all that it names counts: if not, nobody can check its state hash."""
        return commit not in self.others and all(
            sequence <= self.ends.get(log, sequence) for log, (sequence, _) in commit.heads.items())

    def apply(self, commit):
        if commit.label is not None:
            self.labels[commit.log] = commit.label
        for log, (sequence, commit_hash) in commit.heads.items():
            if self.hashes.get((log, sequence), commit_hash) != commit_hash and commit not in self.others:
                self.others.append(commit)
        self.applied.append(commit)
        self.hashes[commit.place] = commit.hash
        self.last[commit.log] = commit

    def first_registers(self):
        return self.checkpoint.registers() if self.checkpoint else Registers()

    def registers(self):
        """What all commits say."""
        registers = self.first_registers()
        for commit in self.applied:
            registers.apply(commit)
        return registers

    def registers_in_front_of(self, commit):
        """What its author had applied; None if it had not applied all that the checkpoint covers."""
        if self.checkpoint and any(commit.seen.get(log, 0) < last.sequence for log, last in
                                   self.checkpoint.logs.items()):
            return None
        registers = self.first_registers()
        for other in self.applied:
            if other.sequence <= commit.seen.get(other.log, 0):
                registers.apply(other)
        return registers
