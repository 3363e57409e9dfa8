#!/usr/bin/env python3
"""Device chains, forks of the members and forks of logs that both readers take or refuse, each with what they say.

usage: histories.py

docs/trust.md, "Device chain", "Forks"; docs/protocol.md, "Order of checks". The readers are devices.py, forks.py and
commits.py, and the worked reader of docs/reader.md as it stands there.
"""

import json
import os
import sys
from dataclasses import replace

import chains
from commits import Verifier
from devices import Devices, check_continues
from forks import Fork, LostSide, difference
from memberships import OWNER, READER, VAULT, WRITER, Chain, write_link
from primitives import Ends, Invalid, Waits, agreement_public_key, signing_public_key, u16, u32, u64
from values import vectors
from worked import worked_reader
from writing import kind, mode, moved, placed, sign, text, write_body, write_record

USER = bytes(range(0x30, 0x40))
LOG = bytes(range(0x40, 0x50))
KEY, LOST_KEY = bytes([7] * 32), bytes([8] * 32)
worked = worked_reader()
WRONG = (Invalid, *worked["WRONG"], worked["Waits"], worked["Ends"])
count = 0


def expect(title, reader, run, words=None):
    """Runs one reader on one case: with words it must refuse it, and say them."""
    global count
    count += 1
    try:
        run()
    except WRONG as error:
        if words is None or words not in str(error) and reader != "worked":
            sys.exit(f"{title}: {reader} says: {type(error).__name__}: {error}")
        return
    if words is not None:
        sys.exit(f"{title}: {reader} accepts it")


# MARK: Device chains


class DeviceChain:
    """A chain that adds a laptop and a phone."""

    def __init__(self):
        self.links = []
        self.add(1, by=1)
        self.add(2, by=1)

    @staticmethod
    def fields(number, identifier=None, seed=None, name=None, agreement=None, chain=USER):
        seed = bytes([seed or number] * 32)
        fields = bytes([identifier or number] * 16) + signing_public_key(seed)
        fields += agreement or agreement_public_key(bytes([9] * 32))
        fields += text(name or f"device {number}") + text("model")
        return fields + sign(seed, b"device keys", chain + fields)

    def add(self, number, by, **changes):
        self.say(1, self.fields(number, **changes), by)

    def revoke(self, number, by):
        self.say(2, bytes([number] * 16), by)

    def say(self, operation, fields, by, chain=USER, kind=1):
        self.links.append(write_link(kind, chain, self.links, operation, fields, bytes([by] * 32)))

    def change(self, sequence, at, byte=0xFF):
        link = bytearray(self.links[sequence])
        link[at] ^= byte
        self.links[sequence] = bytes(link)


def devices_that_come_and_go(chain):
    chain.add(3, by=2)
    chain.revoke(2, by=3)
    chain.revoke(3, by=3)
    chain.add(4, by=1)


def a_byte_is_flipped(chain):
    chain.change(1, 90)


def the_signature_is_another(chain):
    chain.change(1, -1)


def a_link_is_missing(chain):
    chain.add(3, by=1)
    del chain.links[1]


def the_last_links_are_of_another_history(chain):
    other = DeviceChain()
    other.links.pop()
    other.add(4, by=1)
    other.revoke(4, by=1)
    chain.links.append(other.links[2])


def link_0_is_missing(chain):
    del chain.links[0]


def there_are_no_links(chain):
    chain.links.clear()


def a_link_has_another_number(chain):
    chain.change(1, 29, 1)


def a_chain_is_of_another_person(chain):
    chain.say(1, chain.fields(3), 1, chain=bytes(16))


def a_link_is_of_another_kind(chain):
    chain.say(1, chain.fields(3), 1, kind=2)


def a_stranger_adds_a_device(chain):
    chain.add(3, by=3)


def a_revoked_device_adds_another(chain):
    chain.revoke(2, by=1)
    chain.add(3, by=2)


def a_revoked_device_revokes(chain):
    chain.add(3, by=1)
    chain.revoke(2, by=1)
    chain.revoke(3, by=2)


def a_device_comes_back(chain):
    chain.revoke(2, by=1)
    chain.add(3, by=1, identifier=2)


def a_key_comes_back(chain):
    chain.revoke(2, by=1)
    chain.add(3, by=1, seed=2)


def a_device_is_revoked_twice(chain):
    chain.add(3, by=1)
    chain.revoke(2, by=1)
    chain.revoke(2, by=1)


def the_last_device_is_revoked(chain):
    chain.revoke(2, by=1)
    chain.revoke(1, by=1)


def link_0_is_signed_by_another_device(chain):
    chain.links.clear()
    chain.add(1, by=2)


def link_0_revokes(chain):
    chain.links.clear()
    chain.revoke(1, by=1)


def a_new_key_does_not_sign(chain):
    chain.add(3, by=1, chain=bytes(16))


def a_key_is_of_low_order(chain):
    chain.add(3, by=1, agreement=bytes(32))


def a_name_is_too_long(chain):
    chain.add(3, by=1, name="a" * 256)


def a_name_has_a_line_break(chain):
    chain.add(3, by=1, name="a\nb")


def an_operation_is_unknown(chain):
    chain.say(3, bytes(16), 1)


def a_link_is_too_long(chain):
    chain.say(2, bytes([2] * 17), 1)


DEVICES_REFUSED = {
    a_byte_is_flipped: "the hash of a link", the_signature_is_another: "the signature of a link",
    a_link_is_missing: "a link at another place", the_last_links_are_of_another_history: "a link at another place",
    link_0_is_missing: "a link at another place", there_are_no_links: "a chain without links",
    a_link_has_another_number: "the hash of a link", a_chain_is_of_another_person: "a link of another chain",
    a_link_is_of_another_kind: "a link of another chain", a_stranger_adds_a_device: "signed by no device",
    a_revoked_device_adds_another: "signed by no device", a_revoked_device_revokes: "signed by no device",
    a_device_comes_back: "a device was added before", a_key_comes_back: "the key of a device was added before",
    a_device_is_revoked_twice: "who is revoked", the_last_device_is_revoked: "the last device",
    link_0_is_signed_by_another_device: "link 0 is not signed", link_0_revokes: "link 0 revokes",
    a_new_key_does_not_sign: "the signature of a device keys", a_key_is_of_low_order: "low order",
    a_name_has_a_line_break: "a character", a_name_is_too_long: "the length of a name",
    an_operation_is_unknown: "unknown operation",
    a_link_is_too_long: "behind the end",
}
NOT_WORKED = {a_name_has_a_line_break, a_name_is_too_long}  # it does not check names


def check_devices():
    readers = {"devices.py": Devices, "worked": worked["Devices"]}
    for story, words in {devices_that_come_and_go: None, **DEVICES_REFUSED}.items():
        chain = DeviceChain()
        story(chain)
        for reader, read in readers.items():
            if reader != "worked" or story not in NOT_WORKED:
                expect(story.__name__, reader, lambda: read(chain.links, USER), words)
    chain = DeviceChain()
    devices_that_come_and_go(chain)
    found = Devices(chain.links, USER)
    if list(found.tell()) != ["device device 1: link 0", "device device 2: link 1, revoked by device 3 with link 3",
                              "device device 3: link 2, revoked by device 3 with link 4", "device device 4: link 5"]:
        sys.exit(f"devices that come and go: {list(found.tell())}")
    if sorted(worked["Devices"](chain.links, USER).revoked.values()) != [(3, "device 2"), (4, "device 3")]:
        sys.exit("devices that come and go: the worked reader")
    with open(os.path.join(vectors, "device-chain.json"), encoding="utf-8") as file:
        stored = json.load(file)
    links = [bytes.fromhex(link) for link in stored["links"]]
    for reader, read in readers.items():
        expect("device-chain.json", reader, lambda: read(links, links[0][13:29]))


def check_continuity():
    """A chain that is known, and another one."""
    one, other = DeviceChain(), DeviceChain()
    one.revoke(2, by=1)
    other.add(3, by=2)
    what = "the device chain"
    expect("a chain that goes on", "devices.py", lambda: check_continues(one.links[:2], one.links, what))
    expect("a forked chain", "devices.py", lambda: check_continues(one.links, other.links, what), "is forked at link 2")
    expect("a chain with a gap", "devices.py", lambda: check_continues(one.links, one.links[:2], what),
           "ends before link 2")
    chain, keys = Devices(one.links, USER), (signing_public_key(bytes([3] * 32)), agreement_public_key(bytes([9] * 32)))
    expect("a profile of no device", "devices.py", lambda: chain.check_own(bytes([3] * 16), *keys), "not in its chain")
    expect("a device with other keys", "devices.py", lambda: chain.check_own(bytes([1] * 16), *keys), "the keys of")


# MARK: Forks of the members


def fork(title, known, other, takes_other, before=lambda chain: None):
    """Two stories after the same beginning, the second with one link."""
    one, another = Chain(), Chain()
    before(one)
    before(another)
    start = len(one.links)
    known(one)
    other(another)
    people = [max(pair, key=len) for pair in zip(identities_of(one), identities_of(another))]
    links = another.links[: start + 1]

    def settle():
        identities = {identity.id: identity for identity in map(chains.Identity, people)}
        return Fork(chains.Members(one.links, VAULT, identities), links, VAULT, identities).takes_other

    def settle_worked():
        identities = {identity.id: identity for identity in map(worked["Identity"], people)}
        members = [worked["Members"](records, VAULT, identities) for records in (one.links, links)]
        return worked["takes_other"](*members)
    for reader, run in (("forks.py", settle), ("the worked reader", settle_worked)):
        global count
        count += 1
        if run() != takes_other:
            sys.exit(f"a fork of the members: {title}: {reader} takes the {'known' if takes_other else 'other'} side")


def identities_of(chain):
    return [person.links for person in (chain.ann, chain.bob, chain.carol, chain.dan)]


def then(*steps):
    def story(chain):
        for step in steps:
            step(chain)
    return story


def removes(who, by):
    return lambda chain: chain.remove(getattr(chain, who), by=getattr(chain, by))


def adds_dan(by):
    return lambda chain: chain.add(chain.dan, WRITER, by=getattr(chain, by))


def rolls(who):
    def story(chain):
        getattr(chain, who).roll()
        chain.record_keys(getattr(chain, who), by=getattr(chain, who))
    return story


def check_member_forks():
    fork("a removal stands against what the removed member did", removes("carol", "bob"), removes("bob", "ann"), True)
    fork("the same, and all that it did after that", then(adds_dan("bob"), removes("carol", "bob")),
         removes("bob", "ann"), True)
    fork("not if somebody else has gone on", then(adds_dan("bob"), removes("carol", "ann")), removes("bob", "ann"),
         False)
    fork("a removal of somebody else", adds_dan("bob"), removes("carol", "ann"), False)
    fork("an owner's removal of the other owner, who has removed it", removes("ann", "bob"), removes("bob", "ann"),
         False, lambda chain: chain.change(chain.bob, OWNER))
    fork("what a removed member does is nothing against its removal", removes("bob", "ann"), removes("carol", "bob"),
         False)
    fork("nor against a lower role", lambda chain: chain.change(chain.bob, READER), removes("carol", "bob"), False)
    fork("nor against other keys of it", rolls("bob"), removes("carol", "bob"), False)
    fork("an old key removes who has other keys now", rolls("carol"), removes("carol", "bob"), False)
    one, another = Chain(), Chain()
    another.links = [write_link(3, VAULT, [], 1, one.ann.id + one.ann.head + bytes(63) + b"\1", one.ann.seed)]
    identities = {identity.id: identity for identity in map(chains.Identity, identities_of(one))}
    expect("another link 0", "forks.py", lambda: Fork(
        chains.Members(one.links, VAULT, identities), another.links, VAULT, identities), "another vault")
    fork("no removal", removes("carol", "bob"), lambda chain: chain.rotate(), False)


# MARK: Logs


class Writer:
    """Makes commits of a log of Carol's, a writer."""

    def __init__(self, chain, key=KEY, who="carol"):
        self.chain, self.key, self.who = chain, key, getattr(chain, who)
        self.commits, self.link = [], None

    def say(self, facts=(), **changes):
        sequence = len(self.commits) + 1
        link = self.chain.links[-1] if self.link is None else self.chain.links[self.link]
        values = {
            "previous": self.hash(-1) if self.commits else bytes(32), "clock": 1000 * sequence, "heads": b"\0\0",
            "introduction": b"\1" + text("Carol") + text("desk") if sequence == 1 else b"\0", "sequence": sequence,
            "author": self.who.id, "seed": self.who.seed, "epoch": self.chain.epoch, "facts": facts, "writes": None,
            "link": int.from_bytes(link[29:37], "little"), "link_hash": link[-96:-64], "log": LOG,
            "vault": VAULT, "notices": b"\0", "key": self.key, **changes}
        written = write_body(values["facts"]) if values["facts"] else b""
        body = values["previous"] + u64(values["clock"]) + bytes(32) + values["heads"] + values["introduction"]
        body += values["notices"] + u32(len(written)) + written
        writes = bool(written) if values["writes"] is None else values["writes"]
        self.commits.append(write_record(
            "commit", values["vault"], (values["log"], values["sequence"]), values["epoch"], values["key"], body,
            values["author"],
            values["link"], values["link_hash"], writes, values["seed"]))

    def hash(self, place):
        return chains.purpose_hash(b"commit", self.commits[place])


ITEM = bytes(range(0x50, 0x60))
FACTS = [kind(ITEM, 1), mode(ITEM, 0o600)]


def a_log(writer):
    writer.say(FACTS)
    writer.say()


def a_commit_has_a_flipped_byte(writer):
    writer.say()
    writer.commits[1] = writer.commits[1][:80] + bytes([writer.commits[1][80] ^ 1]) + writer.commits[1][81:]


def a_seal_has_a_flipped_byte(writer):
    writer.say()
    writer.commits[1] = writer.commits[1][:-1] + bytes([writer.commits[1][-1] ^ 1])


def a_commit_is_cut(writer):
    writer.say()
    writer.commits[1] = writer.commits[1][:-1]


def a_commit_has_another_number(writer):
    writer.say(sequence=3)


def a_commit_is_of_another_log(writer):
    writer.say(log=bytes(16))


def a_commit_is_missing(writer):
    writer.say()
    writer.say()
    writer.commits[1] = None


def a_commit_is_of_an_unknown_epoch(writer):
    writer.say(epoch=3)


def a_commit_is_of_another_author(writer):
    writer.say(author=writer.chain.bob.id, seed=writer.chain.bob.seed)


def a_commit_is_signed_by_somebody_else(writer):
    writer.say(seed=writer.chain.bob.seed)


def a_commit_names_a_link_that_is_not_there(writer):
    writer.say(link=7)


def a_commit_names_another_link(writer):
    writer.say(link_hash=bytes(32))


def a_reader_writes(writer):
    writer.chain.say(3, writer.chain.ann, writer.who.id + bytes([READER]) + u16(1) + LOG + u64(1) + writer.hash(0))
    writer.say(FACTS)


def a_removed_member_writes(writer):
    writer.chain.remove(writer.who)
    writer.say(epoch=1, link=2, link_hash=writer.chain.links[2][-96:-64])


def a_commit_with_an_old_key_comes_after_the_new_one(writer):
    old, links = writer.who.seed, writer.chain.links
    writer.who.roll()
    writer.chain.say(6, writer.who, writer.who.id + writer.who.head + u16(1) + LOG + u64(1) + writer.hash(0))
    writer.say(seed=old, link=2, link_hash=links[2][-96:-64])


def a_commit_at_the_bound_is_another(writer):
    writer.chain.say(4, writer.chain.ann, writer.who.id + writer.chain.next_epoch() + u16(1) + LOG + u64(1) + bytes(32))


def a_commit_is_of_an_older_epoch(writer):
    writer.chain.rotate()
    writer.say(epoch=1)


def a_commit_says_that_it_writes(writer):
    writer.say(writes=True)


def a_commit_follows_another_one(writer):
    writer.say(previous=bytes(32))


def a_clock_goes_back(writer):
    writer.say(clock=1)


def a_commit_names_an_earlier_link(writer):
    writer.chain.add(writer.chain.dan, WRITER)
    writer.say()
    writer.say(link=2, link_hash=writer.chain.links[2][-96:-64])


def a_commit_introduces_its_author_again(writer):
    writer.say(introduction=b"\1" + text("Carol") + text("desk"))


def a_commit_is_about_the_root(writer):
    writer.say([kind(VAULT, 1)])


def a_commit_replaces_what_it_had_not_seen(writer):
    writer.say([mode(ITEM, 0o600, replaces=((bytes(16), 1),))])


def a_commit_is_of_another_vault(writer):
    writer.say(vault=bytes(16))


def a_seal_has_another_flag(writer):
    writer.say(writes=2)


def heads_are_in_another_order(writer):
    writer.say(heads=u16(2) + b"".join(log * 16 + u64(1) + bytes(32) for log in (b"\2", b"\1")))


def a_commit_names_its_own_log(writer):
    writer.say(heads=u16(1) + LOG + u64(1) + bytes(32))


def an_entry_lies_in_its_own_item(writer):
    writer.say([placed(bytes([3] * 16), ITEM, ITEM, b"x")])


def somebody_else_signs_for_a_member_who_was_removed(writer):
    writer.chain.remove(writer.who)
    writer.commits.clear()
    writer.say(FACTS, epoch=1, link=2, link_hash=writer.chain.links[2][-96:-64], seed=writer.chain.bob.seed)


def a_commit_has_a_notice_of_a_newer_version(writer):
    writer.say(notices=b"\1\5", writes=True)


def a_fact_has_a_kind_of_a_newer_version(writer):
    writer.say([kind(ITEM, 8)])


def a_content_moves(writer, dot=(LOG, 1)):
    writer.say([moved(ITEM, dot, b"value")])


def a_writer_moves_a_content(writer):
    a_content_moves(writer)


def an_admin_moves_a_content(writer):
    a_content_moves(writer)


def a_former_admin_names_the_link_before(writer):
    writer.link = len(writer.chain.links) - 1
    writer.chain.change(writer.who, WRITER)
    a_content_moves(writer)


def a_former_admin_names_the_link(writer):
    writer.chain.change(writer.who, WRITER)
    a_content_moves(writer)


def an_admin_moves_what_it_had_not_applied(writer):
    a_content_moves(writer, (LOG, 2))


def an_admin_moves_the_root(writer):
    writer.say([moved(VAULT, (LOG, 1), b"value")])


def an_admin_moves_and_replaces(writer):
    writer.say([replace(moved(ITEM, (LOG, 1), b"value"), replaces=((LOG, 1),))])


BY_AN_ADMIN = {
    an_admin_moves_a_content, a_former_admin_names_the_link_before, a_former_admin_names_the_link,
    an_admin_moves_what_it_had_not_applied, an_admin_moves_the_root, an_admin_moves_and_replaces,
}
LOGS_ACCEPTED = [a_log, an_admin_moves_a_content, a_former_admin_names_the_link_before]
LOGS = {  # what the log does, and the words
    a_commit_has_a_flipped_byte: (Waits, "is not authentic"), a_seal_has_a_flipped_byte: (Waits, "is not authentic"),
    a_commit_is_cut: (Waits, "damaged"), a_commit_has_another_number: (Waits, "in another's place"),
    a_commit_is_of_another_log: (Waits, "in another's place"), a_commit_is_missing: (Waits, "is missing"),
    a_commit_is_of_an_unknown_epoch: (Waits, "the key of epoch 3"),
    a_commit_is_of_another_author: (Waits, "another author"),
    a_commit_is_signed_by_somebody_else: (Waits, "not authentic"),
    a_commit_names_a_link_that_is_not_there: (Waits, "link 7 of the members, which is not there"),
    a_commit_names_another_link: (Waits, "it names another link 2 of the members"),
    a_reader_writes: (Ends, "could only read"), a_removed_member_writes: (Ends, "bounds the log at commit 0"),
    a_commit_with_an_old_key_comes_after_the_new_one: (Ends, "MemberKeysRolled, link 3, bounds the log at commit 1"),
    a_commit_at_the_bound_is_another: (Ends, "RemoveMember, link 3, bounds the log at commit 1"),
    a_commit_is_of_an_older_epoch: (Ends, "its epoch is not"), a_commit_says_that_it_writes: (Ends, "changes anything"),
    a_commit_follows_another_one: (Waits, "forked"), a_clock_goes_back: (Ends, "clock goes back"),
    a_commit_names_an_earlier_link: (Ends, "an earlier link"),
    a_commit_introduces_its_author_again: (Ends, "the introduction"),
    a_commit_is_about_the_root: (Ends, "about the root"),
    a_commit_replaces_what_it_had_not_seen: (Ends, "had not applied"),
    a_commit_is_of_another_vault: (Waits, "a record of another vault"),
    a_seal_has_another_flag: (Waits, "neither changes nor acknowledges"),
    heads_are_in_another_order: (Ends, "the order of heads"), a_commit_names_its_own_log: (Ends, "the order of heads"),
    an_entry_lies_in_its_own_item: (Ends, "an entry inside its item"),
    somebody_else_signs_for_a_member_who_was_removed: (Waits, "its author did not sign it"),
    a_commit_has_a_notice_of_a_newer_version: (Waits, "a newer version"),
    a_fact_has_a_kind_of_a_newer_version: (Waits, "a kind of a newer version"),
    a_writer_moves_a_content: (Ends, "no right to move contents at link 2"),
    a_former_admin_names_the_link: (Ends, "no right to move contents at link 3"),
    an_admin_moves_what_it_had_not_applied: (Ends, "had not applied"),
    an_admin_moves_the_root: (Ends, "about the root"),
    an_admin_moves_and_replaces: (Waits, "a flag of a newer version"),
}


def check_logs():
    for story, (error_class, words) in {**dict.fromkeys(LOGS_ACCEPTED, (None, None)), **LOGS}.items():
        chain = Chain()
        writer = Writer(chain, who="bob" if story in BY_AN_ADMIN else "carol")
        if story is not a_log:
            writer.say(FACTS)
        story(writer)
        people = identities_of(chain)
        keys = {1: KEY, 2: KEY}

        def read():
            identities = {identity.id: identity for identity in map(chains.Identity, people)}
            verifier, before = Verifier(VAULT, chains.Members(chain.links, VAULT, identities), keys), None
            for number, record in enumerate(writer.commits, start=1):
                if record:
                    commit = verifier.authentic(record, (LOG, number), before and before.author)
                    verifier.follows(commit, before)
                    before = commit

        def read_worked():
            identities = {identity.id: identity for identity in map(worked["Identity"], people)}
            members, before = worked["Members"](chain.links, VAULT, identities), None
            for number, record in enumerate(writer.commits, start=1):
                if record:
                    commit = worked["check_commit"](record, (LOG, number), before, VAULT, members, keys, [])
                    worked["check_order"](commit, before, VAULT)
                    before = commit
        expect(story.__name__, "commits.py", read, words)
        expect(story.__name__, "worked", read_worked, words)
        for run, kinds in ((read, (Waits, Ends)), (read_worked, (worked["Waits"], worked["Ends"]))):
            try:
                run()
            except kinds as error:
                if isinstance(error, kinds[0]) != (error_class is Waits):
                    sys.exit(f"{story.__name__}: {type(error).__name__}, not {error_class.__name__}")


def check_two_histories():
    """A log of which two histories are shown, one after the other."""
    chain = Chain()
    one, other = Writer(chain), Writer(chain)
    for writer, facts in ((one, FACTS), (other, FACTS[:1])):
        writer.say(FACTS)
        writer.say(facts)
    one.say()
    people = identities_of(chain)
    identities = {identity.id: identity for identity in map(chains.Identity, people)}
    verifier = Verifier(VAULT, chains.Members(chain.links, VAULT, identities), {1: KEY})
    known = [verifier.authentic(record, (LOG, number)) for number, record in enumerate(one.commits, start=1)]

    def check(title, commits, words):
        global count
        count += 1
        said = difference(dict(enumerate(commits, start=1)), known, verifier)
        if words not in (said or "nothing"):
            sys.exit(f"{title}: {said}")
    check("the same", one.commits, "nothing")
    check("a commit is another", other.commits, "is forked at commit 2")
    check("the log is shorter", one.commits[:2], "commit 2 is the last one, 3 is known")
    check("a commit is damaged", [one.commits[0], one.commits[1][:-1], one.commits[2]], "waits at commit 2")


def check_lost_side():
    """Carol has written under an epoch that Bob began, and makes her commit again under the one that Ann began."""
    one, other = Chain(), Chain()
    one.rotate(by=one.bob)
    other.rotate(by=other.ann)
    writer, again = Writer(one), Writer(other)
    writer.say(FACTS, epoch=1, link=2, link_hash=one.links[2][-96:-64])
    writer.say(FACTS[:1], key=LOST_KEY)
    people, keys, lost_keys = identities_of(one), {1: KEY, 2: bytes([6] * 32)}, [(2, LOST_KEY)]
    identities = {identity.id: identity for identity in map(chains.Identity, people)}
    verifier = Verifier(VAULT, chains.Members(other.links, VAULT, identities), keys, lost_keys)
    stranger = Verifier(VAULT, verifier.members, keys)
    place, record = (LOG, 2), writer.commits[1]
    expect("a lost commit", "commits.py", lambda: verifier.authentic(record, place), "the lost side")
    expect("a lost commit without its key", "commits.py", lambda: stranger.authentic(record, place), "not authentic")
    own = {identity.id: identity for identity in map(worked["Identity"], people)}
    members = worked["Members"](other.links, VAULT, own)
    expect("a lost commit", "the worked reader", lambda: worked["check_commit"](
        record, place, None, VAULT, members, keys, lost_keys), "of a lost side")

    def tell(record=record, **changes):
        again.commits[:] = writer.commits[:1]
        facts = changes.pop("facts", FACTS[:1])
        again.say(facts, key=keys[2], **changes)
        side = LostSide(verifier)
        side.add(record)
        return list(side.tell({place: verifier.authentic(again.commits[1], place)}, lambda author: "Carol"))
    if tell() != ["commit 2 of Carol is on the lost side: it was made again"]:
        sys.exit(f"a commit that was made again: {tell()}")
    expect("made again with another clock", "forks.py", lambda: tell(clock=5000), "another clock")
    expect("made again with other facts", "forks.py", lambda: tell(facts=FACTS), "something else")
    writer.commits.pop()
    writer.say([*FACTS[:1], moved(ITEM, (LOG, 1), b"value")], key=LOST_KEY)
    if tell(writer.commits[1]) != ["commit 2 of Carol is on the lost side: it was made again"]:
        sys.exit("a commit that was made again without its move")
    expect("made again without more", "forks.py", lambda: tell(writer.commits[1], facts=FACTS[1:]), "something else")
    notice = b"\1\1" + u64(1) + bytes(32)
    expect("made again with a notice", "forks.py", lambda: tell(notices=notice), "says too much")


def main():
    check_lost_side()
    check_devices()
    check_continuity()
    check_member_forks()
    check_logs()
    check_two_histories()
    print(f"{count} readings of device chains, forks and logs are right")


if __name__ == "__main__":
    main()
