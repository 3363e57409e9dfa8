#!/usr/bin/env python3
"""Chains of members that both readers accept or refuse: docs/trust.md, "Member chain".

usage: memberships.py

The readers are the one in chains.py, and the worked reader of docs/reader.md as it stands there.
"""

import json
import os
import sys

import chains
from primitives import Invalid, purpose_hash, signing_public_key, u16, u32, u64
from values import vectors
from worked import worked_reader
from writing import sign

VAULT = bytes(range(0x10, 0x20))
OWNER, ADMIN, WRITER, READER = 1, 2, 3, 4
NO_BOUNDS = u16(0)


def write_link(kind, chain, before, operation, fields, seed):
    """A link ("Links"); `before` are the links in front of it."""
    previous = before[-1][-96:-64] if before else bytes(32)
    link = b"COFFERLK" + u32(1) + bytes([kind]) + chain + u64(len(before)) + previous + u64(0)
    link += u16(operation) + u32(len(fields)) + fields + signing_public_key(seed)
    link_hash = purpose_hash(b"link", link)
    return link + link_hash + sign(seed, b"link", link_hash)


class Person:
    """A person with an identity chain of one link."""

    def __init__(self, number):
        self.seed = bytes([number] * 32)
        keys = signing_public_key(self.seed) + bytes([9]) + bytes(31)
        self.links = [write_link(2, bytes([number] * 16), [], 1, keys, self.seed)]
        self.id = self.links[0][-96:-64]
        self.head = u64(0) + self.id

    def roll(self):
        """Links with other keys; gives the head, which they have then."""
        old, self.seed = self.seed, bytes([self.seed[0] + 100] * 32)
        keys = signing_public_key(self.seed) + bytes([10]) + bytes(31)
        chain = self.links[0][13:29]
        proof = sign(self.seed, b"identity keys", chain + self.head + keys)
        return self.link(chain, 2, keys + proof, old)

    def revoke(self):
        return self.link(self.links[0][13:29], 3, b"", self.seed)

    def link(self, chain, operation, fields, seed):
        self.links.append(write_link(2, chain, self.links, operation, fields, seed))
        self.head = u64(len(self.links) - 1) + self.links[-1][-96:-64]
        return self.head


class Chain:
    """A member chain of Ann's, with Bob, an admin, and Carol, a writer."""

    def __init__(self):
        self.ann, self.bob, self.carol, self.dan = map(Person, (1, 2, 3, 4))
        self.links, self.epoch = [], 1
        self.say(1, self.ann, self.ann.id + self.ann.head + bytes(64))
        self.add(self.bob, ADMIN)
        self.add(self.carol, WRITER)

    def say(self, operation, by, fields):
        self.links.append(write_link(3, VAULT, self.links, operation, fields, by.seed))

    def add(self, who, role, by=None):
        self.say(2, by or self.ann, who.id + who.head + bytes([role]) + bytes(48))

    def change(self, who, role, by=None):
        self.say(3, by or self.ann, who.id + bytes([role]) + NO_BOUNDS)

    def remove(self, who, by=None):
        self.say(4, by or self.ann, who.id + self.next_epoch() + NO_BOUNDS)

    def rotate(self, by=None):
        self.say(5, by or self.ann, self.next_epoch())

    def record_keys(self, who, by):
        self.say(6, by, who.id + who.head + NO_BOUNDS)

    def leave(self, who, successor=None):
        self.say(8, who, (b"\1" + successor.id if successor else b"\0") + NO_BOUNDS)

    def keep(self, seconds, by=None):
        self.say(9, by or self.ann, u64(seconds % 2**64))

    def next_epoch(self):
        self.epoch += 1
        return u32(self.epoch) + bytes(136)


# MARK: What is accepted


def a_member_leaves_and_is_bounded(chain):
    chain.leave(chain.carol)
    chain.remove(chain.carol, by=chain.bob)


def a_member_who_was_bounded_is_added_again(chain):
    a_member_leaves_and_is_bounded(chain)
    chain.add(chain.carol, READER)


def the_last_owner_leaves_and_its_successor_bounds_it(chain):
    chain.leave(chain.ann, successor=chain.carol)
    chain.remove(chain.ann, by=chain.carol)


def an_owner_leaves_and_an_admin_rotates(chain):
    chain.change(chain.carol, OWNER)
    chain.leave(chain.ann)
    chain.rotate(by=chain.bob)


def keys_are_rolled_and_the_member_is_removed(chain):
    chain.carol.roll()
    chain.record_keys(chain.carol, by=chain.carol)
    chain.change(chain.carol, READER)
    chain.remove(chain.carol)


def a_revoked_owner_is_removed_by_an_admin(chain):
    chain.change(chain.carol, OWNER)
    chain.carol.revoke()
    chain.record_keys(chain.carol, by=chain.bob)
    chain.remove(chain.carol, by=chain.bob)


def an_admin_acts_where_no_owner_has_keys(chain):
    chain.ann.revoke()
    chain.record_keys(chain.ann, by=chain.bob)
    chain.change(chain.carol, OWNER, by=chain.bob)


def the_past_is_kept_for_other_times(chain):
    for seconds in (1, 10_000_000_000, -1, 0):
        chain.keep(seconds, by=chain.bob)


ACCEPTED = [
    a_member_leaves_and_is_bounded, a_member_who_was_bounded_is_added_again,
    the_last_owner_leaves_and_its_successor_bounds_it, an_owner_leaves_and_an_admin_rotates,
    keys_are_rolled_and_the_member_is_removed, a_revoked_owner_is_removed_by_an_admin,
    an_admin_acts_where_no_owner_has_keys, the_past_is_kept_for_other_times,
]

# MARK: What is refused: the last link of each


def a_member_who_left_is_added_unbounded(chain):
    chain.leave(chain.carol)
    chain.add(chain.carol, WRITER)


def a_member_who_left_is_bounded_twice(chain):
    a_member_leaves_and_is_bounded(chain)
    chain.remove(chain.carol)


def a_stranger_is_removed(chain):
    chain.remove(chain.dan)


def an_owner_who_left_is_bounded_by_an_admin(chain):
    chain.change(chain.carol, OWNER)
    chain.leave(chain.carol)
    chain.remove(chain.carol, by=chain.bob)


def a_writer_bounds_a_member_who_left(chain):
    chain.leave(chain.bob)
    chain.remove(chain.bob, by=chain.carol)


def a_member_who_left_signs(chain):
    chain.leave(chain.bob)
    chain.rotate(by=chain.bob)


def the_last_owner_leaves_alone(chain):
    chain.leave(chain.ann)


def a_member_names_a_successor(chain):
    chain.leave(chain.bob, successor=chain.carol)


def a_former_member_returns_with_older_keys(chain):
    older = chain.carol.head
    chain.carol.roll()
    chain.record_keys(chain.carol, by=chain.carol)
    chain.remove(chain.carol)
    chain.carol.head = older
    chain.add(chain.carol, WRITER)


def the_old_key_signs_after_it_was_rolled(chain):
    old = Person(3)
    chain.carol.roll()
    chain.record_keys(chain.carol, by=chain.carol)
    chain.leave(old)


def the_old_key_records_the_new_one(chain):
    chain.carol.roll()
    chain.record_keys(chain.carol, by=Person(3))


def an_admin_adds_an_admin(chain):
    chain.add(chain.dan, ADMIN, by=chain.bob)


def a_role_that_is_the_same(chain):
    chain.change(chain.bob, ADMIN)


def the_last_owner_becomes_a_reader(chain):
    chain.change(chain.ann, READER)


def a_writer_ends_the_past(chain):
    chain.keep(0, by=chain.carol)


def the_past_is_kept_as_before(chain):
    chain.keep(60)
    chain.keep(60, by=chain.bob)


def the_past_is_kept_for_too_long(chain):
    chain.keep(10_000_000_001)


def the_past_is_kept_for_a_negative_time(chain):
    chain.keep(-2)


REFUSED = [
    a_member_who_left_is_added_unbounded, a_member_who_left_is_bounded_twice, a_stranger_is_removed,
    an_owner_who_left_is_bounded_by_an_admin, a_writer_bounds_a_member_who_left, a_member_who_left_signs,
    the_last_owner_leaves_alone, a_member_names_a_successor, a_former_member_returns_with_older_keys,
    the_old_key_signs_after_it_was_rolled, the_old_key_records_the_new_one, an_admin_adds_an_admin,
    a_role_that_is_the_same, the_last_owner_becomes_a_reader, a_writer_ends_the_past, the_past_is_kept_as_before,
    the_past_is_kept_for_too_long, the_past_is_kept_for_a_negative_time,
]

# MARK: Both readers

worked = worked_reader()
READERS = {
    "chains.py": (chains.Identity, chains.Members),
    "the worked reader of docs/reader.md": (worked["Identity"], worked["Members"]),
}
WRONG = (Invalid, *worked["WRONG"])


def read(reader, vault, identity_chains, links):
    make_identity, make_members = READERS[reader]
    identities = [make_identity(chain) for chain in identity_chains]
    return make_members(links, vault, {identity.id: identity for identity in identities})


def check(story, is_accepted):
    chain = Chain()
    story(chain)
    people = [person.links for person in (chain.ann, chain.bob, chain.carol, chain.dan)]
    for reader in READERS:
        title = f"{reader}: {story.__name__.replace('_', ' ')}"
        try:
            read(reader, VAULT, people, chain.links if is_accepted else chain.links[:-1])
        except WRONG as error:
            sys.exit(f"{title}: {type(error).__name__}: {error}")
        if is_accepted:
            continue
        try:
            read(reader, VAULT, people, chain.links)
        except WRONG:
            continue
        sys.exit(f"{title}: it was accepted")


def check_vector():
    """The chains with every operation that Coffer's own tests have."""
    with open(os.path.join(vectors, "member-chain.json"), encoding="utf-8") as file:
        stored = json.load(file)
    people = [[bytes.fromhex(link) for link in links] for links in stored["identity chains"]]
    links = [bytes.fromhex(link) for link in stored["links"]]
    for reader in READERS:
        if read(reader, bytes.fromhex(stored["vault"]), people, links).epoch != 3:
            sys.exit(f"{reader}: the epoch of member-chain.json")
    with open(os.path.join(vectors, "kept-history.json"), encoding="utf-8") as file:
        stored = json.load(file)
    people = [[bytes.fromhex(link) for link in links] for links in stored["identity chains"]]
    links = [bytes.fromhex(link) for link in stored["links"]]
    for reader in READERS:
        for count, seconds in ((2, 1_209_600), (3, 2**64 - 1), (4, 0)):
            if read(reader, bytes.fromhex(stored["vault"]), people, links[:count]).history != seconds:
                sys.exit(f"{reader}: link {count - 1} of kept-history.json")


def main():
    for story in ACCEPTED:
        check(story, True)
    for story in REFUSED:
        check(story, False)
    check_vector()
    print(f"{len(ACCEPTED)} chains of members are accepted, {len(REFUSED)} are refused")


if __name__ == "__main__":
    main()
