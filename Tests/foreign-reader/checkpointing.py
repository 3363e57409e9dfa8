#!/usr/bin/env python3
"""Checkpoints with one fault each, in copies of a real vault: docs/protocol.md, "Checkpoints".

usage: checkpointing.py OWNER WRITER OTHER_WRITER READER PASSPHRASE_FILE REMOTE

The first four are profiles. The vault has a checkpoint that one of the writers made and the other one has confirmed,
and all commits.
checkpoints.py must say what is wrong; the worked reader of docs/reader.md must refuse it, too.
"""

import contextlib
import io
import os
import shutil
import sys
import tempfile

from checkpoints import CheckpointSearch
from local import read, write
from primitives import Invalid, derive, purpose_hash, require, u16, u32, u64
from profiles import open_profile
from reader import Person, SharedVault, read_file
from worked import worked_reader
from writing import group, kind, mode, moved, padded, pieces, placed, removed, seal_record, stated, write_record

worked = worked_reader()
NONCE = bytes(range(24))


class Place:
    """A copy of the vault, in which things are changed."""

    def __init__(self, shared, people, folder, whole):
        self.shared, self.people, self.folder, self.whole = shared, people, folder, whole
        self.real = shared.checkpoint
        self.record = self.path(self.real.place)
        self.piece = self.record + "-00000000"

    def path(self, place, kind="checkpoints"):
        return os.path.join(self.folder, kind, place[0].hex(), f"{place[1]:016x}")

    def restore(self):
        shutil.rmtree(self.folder)
        shutil.copytree(self.whole, self.folder, copy_function=os.link)

    # What they make themselves

    def log_of(self, who):
        """Their log, and the number of its last commit."""
        log = self.people[who].profile.shares[self.shared.vault].log
        numbers = os.listdir(os.path.join(self.folder, "log", log.hex())) if log in self.shared.shown else []
        return log, max((int(number, 16) for number in numbers), default=0)

    def make(self, who="owner", groups=None, **changes):
        """A checkpoint like the real one, in the place of that one; puts it, and the commit that announces it."""
        shutil.rmtree(os.path.dirname(self.record))
        place, signer = changes.get("place") or self.log_of(who), self.people[changes.get("signer", who)]
        real, members = self.real, self.shared.members
        groups = list(pieces(real.registers())) if groups is None else groups
        epoch, last = changes.get("epoch", real.epoch), len(members.links) - 1
        key = self.shared.keys[real.epoch]
        written = []
        for number, of_piece in enumerate(groups):
            header = b"COFFERCC" + u32(1) + self.shared.vault + place[0] + u64(place[1]) + u32(epoch)
            header += u32(changes.get("number", number))
            subkey = derive(key, b"checkpoint", self.shared.vault + u32(epoch))
            piece = header + seal_record(subkey, NONCE, header, padded(of_piece))
            write(self.new(f"{self.path(place)}-{number:08x}"), piece)
            of_piece = changes.get("claimed", of_piece)
            written.append((purpose_hash(b"checkpoint piece", piece), purpose_hash(b"checkpoint facts", of_piece),
                            len(piece)))
        body = self.body(changes.get("state_hash", real.state_hash), written, changes)
        arguments = "checkpoint", self.shared.vault, place, epoch, key, body, self.people[who].identity.id
        link = changes.get("link", last)
        record = write_record(*arguments, link, members.links[last].hash, True, signer.profile.signing_seed)
        write(self.new(self.path(place)), record)
        if changes.get("is_announced", True):
            self.announce(who, place, purpose_hash(b"checkpoint", record))

    def body(self, state_hash, written, changes):
        """A body, as the real one has it ("Body of a checkpoint")."""
        real = self.real.open_body(self.shared.keys[self.real.epoch])
        body = bytearray(real.record)
        at = len(body) - 68 * len(self.real.pieces) - 4
        body[8:40] = state_hash
        logs = bytes(body[:at])
        for old, new in changes.get("logs", ()):
            require(old in logs, "what is to be changed is not there")
            logs = logs.replace(old, new)
        written = [(a, b, changes.get("length", n)) for a, b, n in written]
        return logs + u32(len(written)) + b"".join(a + b + u32(n) for a, b, n in written) + changes.get("more", b"")

    def announce(self, who, place, record_hash):
        """A commit that announces a checkpoint, after the last one of its log."""
        log, last = place
        before = self.shared.history_of_all[log][last - 1]
        heads = [(other, found.sequence, found.hash) for other, found in self.real.logs.items() if other != log]
        body = before.hash + u64(self.real.clock) + bytes(32) + u16(len(heads))
        body += b"".join(other + u64(sequence) + found for other, sequence, found in sorted(heads))
        body += b"\0\1\1" + u64(place[1]) + record_hash + u32(0)
        link = len(self.shared.members.links) - 1
        write(self.new(self.path((log, last + 1), "log")), write_record(
            "commit", self.shared.vault, (log, last + 1), self.real.epoch, self.shared.keys[self.real.epoch], body,
            self.people[who].identity.id, link, self.shared.members.links[link].hash, True,
            self.people[who].profile.signing_seed))

    @staticmethod
    def new(path):
        """Where something else is put: what is there is a link to the vault itself."""
        os.makedirs(os.path.dirname(path), exist_ok=True)
        if os.path.exists(path):
            os.remove(path)
        return path


def change(path, at):
    content = bytearray(read(path))
    content[at] ^= 1
    write(Place.new(path), bytes(content))


# MARK: Faults of the real one


def nothing(place):
    """No fault."""


def a_byte_of_the_record_is_flipped(place):
    change(place.record, 100)


def a_byte_of_the_seal_is_flipped(place):
    change(place.record, -1)


def a_byte_of_the_piece_is_flipped(place):
    change(place.piece, 200)


def a_piece_is_missing(place):
    os.remove(place.piece)


def the_record_has_another_name(place):
    log, number = place.real.place
    os.rename(place.record, place.path((log, number + 1)))


def the_announcement_is_missing(place):
    log, number = place.real.place
    os.remove(place.path((log, number + 1), "log"))


def the_announcement_is_changed(place):
    log, number = place.real.place
    change(place.path((log, number + 1), "log"), 100)


def nobody_has_confirmed_it(place):
    for log, last in place.real.logs.items():
        path = place.path((log, last.sequence + 1), "log")
        if log != place.real.log and os.path.exists(path):
            os.remove(path)


def its_author_makes_it_again(place):
    """With other bytes than were announced and confirmed."""
    place.make("writer", place=place.real.place, is_announced=False)


def its_author_makes_it_again_with_other_facts(place):
    place.make("writer", place=place.real.place, is_announced=False, groups=[])


# MARK: Made by others


def an_owner_makes_one(place):
    """No fault: it counts at once."""
    place.make()


def a_reader_makes_one(place):
    place.make("reader")


def a_writer_makes_one_alone(place):
    """The writer's own next one: nobody has confirmed it."""
    log, _ = place.real.place
    last = place.shared.history_of_all[log][-1]
    old = u64(place.real.sequence) + place.real.logs[log].hash
    place.make("writer", place=(log, last.sequence), logs=[(old, u64(last.sequence) + last.hash)])


def an_owner_announces_none(place):
    place.make(is_announced=False)


def somebody_else_signs_it(place):
    place.make(signer="reader")


def it_is_of_another_epoch(place):
    place.make(epoch=2)


def it_is_of_an_unknown_epoch(place):
    place.make(epoch=3)


def it_names_a_link_that_is_not_there(place):
    place.make(link=99)


def it_covers_another_end_of_its_own_log(place):
    log, last = place.log_of("owner")
    old = u64(last) + place.real.logs[log].hash
    place.make(logs=[(old, u64(last - 1) + place.real.logs[log].hash)])


def it_covers_a_commit_that_names_another_link(place):
    found = next(iter(place.real.logs.values()))
    old = found.hash + u64(found.link) + found.link_hash
    place.make(logs=[(old, found.hash + u64(found.link) + bytes(32))])


def it_covers_a_log_of_somebody_who_was_no_member_then(place):
    log, _ = place.real.place
    found = place.real.logs[log]
    old = found.hash + u64(found.link) + found.link_hash
    place.make(logs=[(old, found.hash + u64(0) + place.shared.members.links[0].hash)])


def its_logs_are_in_another_order(place):
    first, second = list(place.real.logs)[:2]
    place.make(logs=[(first, b"\xfe" * 16), (second, first), (b"\xfe" * 16, second)])


def a_piece_may_be_too_long(place):
    place.make(length=(4 << 20) + 1)


def there_is_something_behind_its_body(place):
    place.make(more=b"\0")


def a_piece_has_another_number(place):
    place.make(number=1)


def the_groups_of_a_piece_are_others(place):
    """Only a device that confirms a checkpoint has to look at that, too."""
    place.make(claimed=b"")


def with_facts(place, facts, stamp=None):
    """The groups of the real one, and one more."""
    groups, = pieces(place.real.registers())
    stamp = stamp or place.real.groups[-1][0]
    return [groups + group(stamp, facts)]


NEW_ITEM = bytes([0xFE] * 16)


def it_has_a_group_of_a_commit_that_it_does_not_cover(place):
    stamp = place.real.groups[-1][0]
    place.make(groups=with_facts(place, [mode(NEW_ITEM, 0o600)], stamp._replace(sequence=1 << 40)))


def it_has_a_group_that_replaces_something(place):
    log, _ = place.real.place
    place.make(groups=with_facts(place, [mode(NEW_ITEM, 0o600, replaces=((log, 1),))]))


def it_has_a_fact_about_the_root(place):
    place.make(groups=with_facts(place, [kind(place.shared.vault, 1)]))


def it_has_an_entry_inside_of_itself(place):
    place.make(groups=with_facts(place, [placed(NEW_ITEM, NEW_ITEM, NEW_ITEM, b"x")]))


def a_removal_saw_what_no_longer_counts(place):
    """No fault: the commit of a removed member may be one that nobody covers."""
    place.make(groups=with_facts(place, [removed(
        NEW_ITEM, NEW_ITEM, place.shared.vault, b"x", (), seen=((bytes([0xFD] * 16), 7),))]))


def it_has_a_move_of_what_it_covers(place):
    """No fault: it is put in as it stands."""
    log, _ = place.real.place
    place.make(groups=with_facts(place, [moved(NEW_ITEM, (log, 1), b"value")]))


def it_has_a_move_of_what_it_does_not_cover(place):
    place.make(groups=with_facts(place, [moved(NEW_ITEM, (bytes([0xFD] * 16), 7), b"value")]))


def its_facts_are_cut_otherwise(place):
    """Only a device that confirms a checkpoint has to look at that."""
    registers = place.real.registers()
    place.make(groups=[b"".join(group(value.stamp, [fact]) for fact, value in single(registers))])


def single(registers):
    """Each value as a fact of its own."""
    for register in sorted(registers.values, key=repr):
        for value in registers[register]:
            yield stated(register, value), value


def it_shows_something_else_than_it_says(place):
    """That is named, and it is used all the same."""
    place.make(state_hash=bytes([1] * 32))


ACCEPTED = {
    nothing: "writer", an_owner_makes_one: "owner", it_shows_something_else_than_it_says: "owner",
    a_removal_saw_what_no_longer_counts: "owner", it_has_a_move_of_what_it_covers: "owner", its_facts_are_cut_otherwise: "owner",
    the_groups_of_a_piece_are_others: "owner"}
REFUSED = {
    a_byte_of_the_record_is_flipped: "not signed by its author", a_byte_of_the_seal_is_flipped: "does not open",
    a_byte_of_the_piece_is_flipped: "the hash of piece 0", a_piece_is_missing: "piece 0 is missing",
    the_record_has_another_name: "in another's place",
    the_announcement_is_missing: "the commit that announces it is missing",
    the_announcement_is_changed: "the commit that announces it does not count: it is not authentic",
    nobody_has_confirmed_it: "nobody has confirmed it",
    its_author_makes_it_again: "does not announce it",
    its_author_makes_it_again_with_other_facts: "does not announce it",
    a_reader_makes_one: "could only read", a_writer_makes_one_alone: "nobody has confirmed it",
    an_owner_announces_none: "the commit that announces it is missing",
    somebody_else_signs_it: "not signed by its author",
    it_is_of_another_epoch: "its epoch is not that of link",
    it_is_of_an_unknown_epoch: "the key of epoch 3",
    it_names_a_link_that_is_not_there: "a link of the members that is not there",
    it_covers_another_end_of_its_own_log: "its own log",
    it_covers_a_commit_that_names_another_link: "which does not count: it names another link",
    it_covers_a_log_of_somebody_who_was_no_member_then: "was no member at link 0",
    its_logs_are_in_another_order: "the order of logs", a_piece_may_be_too_long: "the length of a piece",
    there_is_something_behind_its_body: "behind the end", a_piece_has_another_number: "piece 0 is another",
    it_has_a_group_of_a_commit_that_it_does_not_cover: "a commit that it does not cover",
    it_has_a_group_that_replaces_something: "a group that replaces", it_has_a_fact_about_the_root: "about the root",
    it_has_an_entry_inside_of_itself: "inside its item",
    it_has_a_move_of_what_it_does_not_cover: "had not applied",
}


def author_by_worked(place):
    """The author of the checkpoint that the worked reader takes, if it takes one."""
    store = worked["Store"](place.folder, place.shared.vault)
    store.folder = place.folder
    identities = {}
    for user in store.names("identities"):
        identity = worked["Identity"]([store.load(f"identities/{user}/chain/{n}") for n in store.names(
            f"identities/{user}/chain")])
        identities[identity.id] = identity
    members = worked["Members"]([store.load("members/" + n) for n in store.names("members")], place.shared.vault,
                                identities)
    with contextlib.redirect_stderr(io.StringIO()):
        found, _ = worked["newest_checkpoint"](store, place.shared.vault, members, place.shared.keys)
    return found and found.author


def check(place, fault, wanted, words):
    title = fault.__name__.replace("_", " ")
    place.restore()
    fault(place)
    search = CheckpointSearch(place.folder, place.shared.verifier)
    found = search.newest(place.shared.keys[1])
    said = "; ".join(why for _, why in search.refused)
    author = author_by_worked(place)
    if words:
        require(not found, f"{title}: it is used")
        require(words in said, f"{title}: {said or 'nothing is said'}")
        require(not author, f"{title}: the worked reader uses it")
        return
    expected = place.people[wanted].identity.id
    require(found and found.author == expected, f"{title}: {said or 'another one is used'}")
    require(author == expected, f"{title}: the worked reader")
    require(bool(found.doubt) == (fault is it_shows_something_else_than_it_says), f"{title}: {found.doubt}")
    is_whole = fault in (nothing, an_owner_makes_one, it_shows_something_else_than_it_says)
    require(found.is_cut_as_told == is_whole, f"{title}: how it is cut")


def main(owner, writer, other_writer, reader, passphrase_file, remote):
    passphrase = read_file(passphrase_file).removesuffix(b"\n")
    people = {}
    for name, profile in (("owner", owner), ("writer", writer), ("other", other_writer), ("reader", reader)):
        people[name] = Person(open_profile(read_file(profile, "profile"), passphrase))
    vault = next(iter(people["writer"].profile.shares))
    whole = os.path.join(remote, "vaults", vault.hex())
    with contextlib.redirect_stderr(io.StringIO()):
        shared = SharedVault(people["writer"], vault, whole)
        require(shared.checkpoint, "there is no checkpoint")
        if shared.checkpoint.author == people["other"].identity.id:
            people["writer"] = people["other"]
        require(shared.checkpoint.author == people["writer"].identity.id, "whose checkpoint it is")
        shared.history_of_all = shared.read_all(shared.shown, {}, None)[0]
    shared.keys[2] = shared.keys[1]  # for one that is of another epoch
    # Beside the remote, as links lead nowhere else.
    with tempfile.TemporaryDirectory(dir=os.path.dirname(os.path.abspath(remote))) as folder:
        place = Place(shared, people, os.path.join(folder, "vault"), whole)
        os.mkdir(place.folder)
        for fault, wanted in ACCEPTED.items():
            check(place, fault, wanted, None)
        for fault, words in REFUSED.items():
            check(place, fault, None, words)
    print(f"{len(ACCEPTED)} checkpoints are used, {len(REFUSED)} are not")


if __name__ == "__main__":
    try:
        main(*sys.argv[1:])
    except (Invalid, OSError) as error:
        sys.exit(f"checkpointing.py: {type(error).__name__}: {error}")
