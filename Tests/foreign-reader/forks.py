"""Two histories of the members, or of a log: docs/trust.md, "Forks"; docs/protocol.md, "Forks and rollbacks"."""

from chains import OPERATIONS, Members
from devices import where_they_part
from facts import MOVED
from primitives import Cursor, Invalid, require


class Fork:
    """Two histories of the members, and which of them counts."""

    def __init__(self, known, records, vault, identities):
        """Takes the members as they are known, and the links that are shown now."""
        self.sequence = where_they_part([link.record for link in known.links], records)
        require(self.sequence is not None, "there is no fork")
        require(self.sequence > 0, "another vault: link 0 is another")
        # The other link must be valid where it stands; what follows it is checked if it counts.
        other = Members(records[: self.sequence + 1], vault, identities)
        self.known, self.other = known.links[self.sequence], other.links[-1]
        before = known.states[self.sequence - 1][0]
        self.known_signer = self.signer(before, self.known)
        self.other_signer = self.signer(before, self.other)
        since = known.states[self.sequence :]
        if self.other_signer and any(self.has_lost(self.other_signer, members) for members, _ in since):
            self.takes_other, self.why = False, "it takes something from the signer of the other link"
        elif self.removes_signer(before, known.links[self.sequence :]):
            self.takes_other, self.why = True, "it removes the signer of the known link and of all after it"
        else:
            self.takes_other, self.why = False, "it was seen first, and no rule decides"

    @staticmethod
    def signer(members, link):
        return next((m for m in members.values() if m.keys and m.keys[0] == link.signer), None)

    @staticmethod
    def has_lost(member, members):
        """Whether a member is none any more, or has fewer rights, or other keys or none."""
        now = members.get(member.identity.id)
        return not now or now.keys != member.keys or now.role > member.role

    def removes_signer(self, before, known):
        if self.other.operation != 4:
            return False
        removed = before.get(Cursor(self.other.fields).take(32))
        return bool(removed and removed.keys) and all(link.signer == removed.keys[0] for link in known)

    def tell(self, name):
        def describe(link, signer):
            by = name(signer.identity.id) if signer else "nobody"
            return f"{OPERATIONS[link.operation]} by {by}"
        yield (f"the members are forked at link {self.sequence}: known is {describe(self.known, self.known_signer)}, "
               f"the other one is {describe(self.other, self.other_signer)}")
        yield f"the {'other' if self.takes_other else 'known'} side counts: {self.why}"


class LostSide:
    """Commits that name links of the side of a fork that does not count ("The lost side of a fork")."""

    def __init__(self, verifier):
        self.verifier, self.commits = verifier, {}

    def add(self, record):
        try:
            commit = self.verifier.lost(record)
        except Invalid:  # no commit at all
            return
        if commit:
            self.commits.setdefault((commit.place, commit.hash), commit)

    def tell(self, counting, name):
        """What became of each: its author made it again in the same place, or it counts nowhere."""
        for commit in sorted(self.commits.values(), key=lambda commit: commit.place):
            text = f"commit {commit.sequence} of {name(commit.author)} is on the lost side: "
            again = counting.get(commit.place)
            if not again:
                yield text + "it counts nowhere"
                continue
            require(again.clock == commit.clock, "a commit that was made again has another clock")
            require(not any(again.state_hash) and not again.notices, "a commit that was made again says too much")
            require(is_made_again(commit, again), "a commit that was made again says something else")
            yield text + "it was made again"


def is_made_again(lost, again):
    """The same facts, but for what they replace that no longer counts, and for moves of what no longer counts."""
    def without(fact):
        return fact.attribute, fact.item, fact.register, fact.value
    kept = [fact for fact in lost.facts if fact.attribute != MOVED or fact in again.facts]
    if [without(fact) for fact in kept] != [without(fact) for fact in again.facts]:
        return False
    return all(set(new.replaces) <= set(old.replaces) for old, new in zip(kept, again.facts))


def difference(records, known, verifier):
    """How what is shown now of a log differs from what is known: a text, or None ("Forks and rollbacks").

    `known` are the commits of the log that are known, `records` what is shown, by number.
    """
    for commit in known:
        record = records.get(commit.sequence)
        if record is None or record == commit.record:
            continue
        try:
            other = verifier.authentic(record, commit.place, commit.author)
        except Invalid as error:
            return f"waits at commit {commit.sequence}: {error}"
        return (f"is forked at commit {commit.sequence}: known is {commit.hash.hex()[:16]}, "
                f"the other one is {other.hash.hex()[:16]}; the log waits")
    if known and known[-1].sequence not in records and max(records, default=0) < known[-1].sequence:
        return f"shows less: commit {max(records, default=0)} is the last one, {known[-1].sequence} is known"
    return None
