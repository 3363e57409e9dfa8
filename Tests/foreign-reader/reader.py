#!/usr/bin/env python3
"""Reads shared vaults from a remote folder, and lists what is in them: docs/*.md alone say how.

usage: reader.py PROFILE PASSPHRASE_FILE REMOTE [KNOWN]

Prints a line for each name of each vault, as listing.py does of a directory, and to standard error what else
it found. It checks what it reads, the hash of what each author showed included, and ends with code 1 where
anything is not as it should be. KNOWN is what the remote showed before, a copy of it: from there on, two histories
are told from each other, of the members, of identities and of logs.
"""

import os
import sys

import facts
from chains import Identity, Members, TransientKey, open_epochs, open_wrap, read_wrap_set
from checkpoints import CheckpointSearch
from commits import History, Verifier
from contents import Contents
from devices import Devices, check_continues, seeded_keys, where_they_part
from forks import Fork, LostSide, difference
from listing import file_detail, line
from merge import Tree
from primitives import Ends, Invalid, OfLostSide, Waits, agreement_public_key, purpose_hash, require, signing_public_key
from profiles import open_profile

KIND_NAMES = [None, "file", "directory", "symlink", "fifo", "socket", "character device", "block device"]
MODES = {facts.DIRECTORY: 0o755, facts.SYMLINK: 0o777}


def tell(text):
    print(text, file=sys.stderr)


def read_file(*path):
    with open(os.path.join(*path), "rb") as file:
        return file.read()


def read_files(*path):
    """The objects in a folder, by name (docs/protocol.md, "Objects")."""
    folder = os.path.join(*path)
    return {name: read_file(folder, name) for name in sorted(os.listdir(folder))}


def read_chain(*path):
    """The links of a chain; their names are their numbers."""
    files = read_files(*path)
    missing = [number for number, name in enumerate(files) if int(name, 16) != number]
    require(not missing, f"link {missing[:1]} of {path[1]} is missing")
    return list(files.values())


def read_logs(folder):
    """The records of commits, by log and number."""
    return {bytes.fromhex(name): {int(number, 16): record for number, record in read_files(folder, "log", name).items()}
            for name in sorted(os.listdir(os.path.join(folder, "log")))}


class Person:
    """Who reads: a profile, its public identity and its devices (docs/format.md, "Profile body")."""

    def __init__(self, profile):
        self.profile = profile
        self.identity = Identity(profile.identity_links)
        keys = (signing_public_key(profile.signing_seed), agreement_public_key(profile.agreement_secret))
        require(self.identity.keys[-1] == keys, "the keys of the identity")
        self.devices = Devices(profile.device_links, self.identity.user) if profile.device_links else None
        if self.devices:
            device, _, seed, secret = profile.device
            self.devices.check_own(device, signing_public_key(seed), agreement_public_key(secret))
        transients = {}
        for record, secret in profile.transient_keys:
            key = TransientKey(record, self.identity)
            require(agreement_public_key(secret) == key.public_key, "a transient key")
            transients[key.id] = (key.public_key, secret)
        self.keys = [(profile.agreement_secret, self.with_seed(transients, self.identity.user, profile.seed))]
        for secret, former, user, seed in profile.former_keys:
            transients = {key: (agreement_public_key(private), private) for key, private in former.items()}
            self.keys.append((secret, self.with_seed(transients, user, seed)))

    @staticmethod
    def with_seed(transients, user, seed):
        """Transient keys, and those that another device of the person may have made after them."""
        made = {key: (public, secret) for key, public, secret in seeded_keys(seed, user)} if seed else {}
        return made | transients

    def open(self, wrap, vault, epoch):
        """Opens a wrap with the keys of now, or with former ones."""
        problem = None
        for secret, transients in self.keys:
            try:
                return open_wrap(wrap, vault, epoch, self.identity.id, secret, transients)
            except Invalid as error:
                problem = problem or error
        raise problem


class SharedVault:
    """A vault on a remote (docs/protocol.md, "Objects")."""

    def __init__(self, person, vault, folder, known=None):
        self.person, self.vault, self.folder = person, vault, folder
        self.folders = [folder] + ([known] if known else [])
        self.doubts = []  # what a client would give an alarm for
        for place in self.folders:
            require(read_file(place, "format") == b"COFFERRV\1\0\0\0" + vault, "the object “format”")
        self.names = {}  # of authors, by identity id
        self.read_trust(known)
        self.read_commits(known)
        self.registers = self.history.registers()
        self.tree = Tree(self.registers, self.history.labels, vault)

    # MARK: Trust

    def read_trust(self, known):
        self.identities = {}
        for place in reversed(self.folders):
            self.read_identities(place)
        records = read_chain(self.folder, "members")
        self.fork, self.lost_keys = None, list(self.person.profile.lost_keys.get(self.vault, []))
        if known:
            before = Members(read_chain(known, "members"), self.vault, self.identities)
            if where_they_part([link.record for link in before.links], records) is not None:
                self.fork = Fork(before, records, self.vault, self.identities)
                if not self.fork.takes_other:
                    self.doubts.append("the remote shows another history of the members")
                    records = [link.record for link in before.links]
            elif len(records) < len(before.links):
                self.doubts.append(f"the remote shows {len(records)} links of the members of {len(before.links)}")
                records = [link.record for link in before.links]
        self.members = Members(records, self.vault, self.identities)
        self.keys = self.open_keys(self.members)
        if self.fork and self.fork.takes_other:
            self.lost_keys += [pair for pair in self.open_keys(before).items() if self.keys.get(pair[0]) != pair[1]]
        for epoch, key in self.person.profile.keyrings[self.vault].items():
            require(self.keys.get(epoch, key) == key or (epoch, key) in self.lost_keys, f"the key of epoch {epoch}")

    def name(self, identity):
        return self.names.get(identity, identity.hex()[:16])

    def read_identities(self, folder):
        """Each identity beside the vault; a chain that was known before is kept (docs/trust.md, "Model")."""
        for user in sorted(os.listdir(os.path.join(folder, "identities"))):
            links = read_chain(folder, "identities", user, "chain")
            identity = Identity(links)
            require(identity.user.hex() == user, "an identity in another's place")
            before = self.identities.get(identity.id)
            if before:
                try:
                    check_continues([link.record for link in before.links], links, f"the identity {user}")
                except Invalid as error:
                    self.doubts.append(str(error))
                    continue
            try:
                TransientKey(read_file(folder, "identities", user, "transient"), identity)
            except Invalid as error:
                tell(f"identity {user} has no transient key: {error}")
            self.identities[identity.id] = identity

    def open_keys(self, members):
        """The keys of all epochs (docs/trust.md, "Wraps", "Epochs")."""
        problem = Invalid("there is no wrap for this person")
        for epoch, set_hash, signer in reversed(members.wrap_sets):
            record = next((read_file(*path) for path in self.wrap_set_paths(epoch, set_hash) if os.path.exists(
                os.path.join(*path))), None)
            require(record, f"a wrap set of epoch {epoch} is missing")
            require(purpose_hash(b"wrap set", record) == set_hash, "the hash of a wrap set")
            set_epoch, set_signer, wraps = read_wrap_set(record, self.vault)
            require((set_epoch, set_signer) == (epoch, signer), "a wrap set of another link")
            suite, wrap = wraps.get(self.person.identity.id, (None, None))
            if wrap:
                require(suite == 1, "a wrap of another suite")
                return open_epochs(members, self.vault, epoch, self.person.open(wrap, self.vault, epoch))
        raise problem

    def wrap_set_paths(self, epoch, set_hash):
        return [(folder, "wraps", f"{epoch:016x}", set_hash.hex()) for folder in self.folders]

    # MARK: Commits

    def read_commits(self, known):
        """The commits that count, after a checkpoint, if there is one (docs/protocol.md, "Order of checks")."""
        self.verifier = Verifier(self.vault, self.members, self.keys, self.lost_keys)
        self.search = CheckpointSearch(self.folder, self.verifier)
        self.checkpoint = self.search.newest(self.keys[1])
        shown, before = read_logs(self.folder), read_logs(known) if known else {}
        commits, ends = self.read_all(shown, before, self.checkpoint)
        for text in self.fork.tell(self.name) if self.fork else []:
            tell(text)
        for place, why in self.search.refused:
            tell(f"checkpoint {place[0].hex()}/{place[1]} is not used: {why}")
        if self.checkpoint:
            self.doubts += [f"the checkpoint: {self.checkpoint.doubt}"] if self.checkpoint.doubt else []
            tell(f"begins with the checkpoint of {self.name_log(self.checkpoint.log)}: "
                 f"{sum(self.checkpoint.covered.values())} commits in {len(self.checkpoint.pieces)} pieces, cut "
                 f"{'as the documents say' if self.checkpoint.is_cut_as_told else 'otherwise'}")
            confirmed_by = self.search.confirmed_by.get(self.checkpoint.place)
            if confirmed_by:
                tell(f"the checkpoint is confirmed by {self.name(confirmed_by)}")
        self.history = History(commits, ends, self.checkpoint)
        self.doubts += [f"log of {self.name_log(log)} waits for others" for log in self.history.waiting]
        counting = {commit.place: commit for log in commits.values() for commit in log}
        lost, records = LostSide(self.verifier), {commit.record for commit in counting.values()}
        for logs in (shown, before):
            for record in {record for log in logs.values() for record in log.values()} - records:
                lost.add(record)
        for text in lost.tell(counting, self.name):
            tell(text)
        self.shown, self.before = shown, before

    def read_all(self, shown, before, checkpoint):
        self.log_names = {}
        if checkpoint:
            for log, last in checkpoint.logs.items():
                self.introduce(log, last)
        commits, ends, told = {}, {}, []
        for log in sorted({*shown, *before}):
            last = checkpoint.logs.get(log) if checkpoint else None
            count = []
            known, problem = self.read_log(log, before.get(log, {}), last, [])
            if log in before:
                differs = difference(shown.get(log, {}), known, self.verifier)
                if differs:
                    told.append((log, differs, Waits(differs)))
                    count, problem = known, None
            if not count:
                count, problem = self.read_log(log, shown.get(log, {}), last, known)
            commits[log] = count
            if problem and isinstance(problem[1], Ends):
                ends[log] = problem[0] - 1
                told.append((log, f"ends in front of commit {problem[0]}: {problem[1]}", problem[1]))
            elif problem:
                told.append((log, f"waits at commit {problem[0]}: {problem[1]}", problem[1]))
        for log, text, problem in told:
            tell(f"log of {self.name_log(log)} {text}")
            if isinstance(problem, Waits) and not isinstance(problem, OfLostSide):
                self.doubts.append(f"log of {self.name_log(log)} {text}")
        return commits, ends

    def read_log(self, log, records, last, known):
        """The commits of a log that count, and number and reason where it ends or waits."""
        found, trusted = [], {commit.sequence: commit for commit in known}
        for number in sorted(records):
            if last and number <= last.sequence:
                continue
            try:
                commit = self.verifier.authentic(records[number], (log, number), last and last.author)
                self.verifier.follows(commit, last)
                require(number not in trusted or trusted[number].hash == commit.hash, "another history")
            except (Waits, Ends) as error:
                return found, (number, error)
            found.append(commit)
            self.introduce(log, commit)
            last = commit
        return found, None

    def introduce(self, log, commit):
        if commit.label:
            self.names.setdefault(commit.author, commit.name)
            self.log_names.setdefault(log, commit.label)

    def name_log(self, log):
        return self.log_names.get(log, log.hex())

    def check_from_the_first(self):
        """Replays everything from the first commits on, if they are there, and compares."""
        covered = self.checkpoint.covered
        if not all(set(range(1, last + 1)) <= set(self.shown.get(log, {})) for log, last in covered.items()):
            tell("commits that the checkpoint covers are gone")
            return
        commits, ends = self.read_all(self.shown, self.before, None)
        history = History(commits, ends)
        for log, last in self.checkpoint.logs.items():
            commit = commits[log][last.sequence - 1]
            require((commit.hash, commit.clock, commit.label or history.labels[log]) == (
                last.hash, last.clock, last.label), "what the checkpoint says of a log")
        registers = history.registers()
        same = Tree(registers, history.labels, self.vault).state_hash(self.keys[1])
        require({key: values for key, values in registers.values.items() if values} == {
            key: values for key, values in self.registers.values.items() if values}, "the facts of the checkpoint")
        require(same == self.tree.state_hash(self.keys[1]), "the state from the checkpoint is another one")
        tell(f"the checkpoint and {len(self.history.applied)} commits after it give the state of all "
             f"{len(history.applied)} commits")

    def check_state_hashes(self):
        """Compares what each author showed with what the facts give (docs/merge.md, "The state hash")."""
        count = 0
        for commit in self.history.applied:
            if any(commit.state_hash) and self.history.names_what_counts(commit):
                registers = self.history.registers_in_front_of(commit)
                if registers is None:
                    continue
                tree = Tree(registers, self.history.labels, self.vault)
                is_right = tree.state_hash(self.keys[1]) == commit.state_hash
                require(is_right, f"the state hash of commit {commit.log.hex()}/{commit.sequence}")
                count += 1
        return count

    def list(self):
        contents, first_paths, lines = Contents(self.folders, self.vault, self.keys), {}, {}
        for path, item in sorted(self.tree.paths.items()):
            detail = ""
            if item.kind == facts.FILE:
                detail = file_detail(contents.read(item.content) if item.content else b"")
            elif item.kind == facts.SYMLINK:
                detail = f" to {item.detail!a}"
            elif item.detail is not None:
                detail = f" {item.detail}"
            lines[path] = line(
                path, KIND_NAMES[item.kind], MODES.get(item.kind, 0o644) if item.mode is None else item.mode,
                item.modified, detail, item.extended_attributes, first_paths.setdefault(item.id, path))
        tell(f"pages of contents: {contents.page_count}")
        tell(f"inner pages of contents: {contents.inner_page_count}")
        tell(f"leaves of extents: {contents.leaf_count}")
        return lines.values()


def main(profile, passphrase_file, remote, known=None):
    passphrase = read_file(passphrase_file).removesuffix(b"\n")
    person = Person(open_profile(read_file(profile, "profile"), passphrase))
    for text in person.devices.tell() if person.devices else []:
        tell(text)
    doubts = []
    for vault in person.profile.shares:
        folder = os.path.join(remote, "vaults", vault.hex())
        if not os.path.isdir(folder):
            continue
        shared = SharedVault(person, vault, folder, known and os.path.join(known, "vaults", vault.hex()))
        tell(f"members: {len(shared.members.members)}")
        tell(f"epochs: {shared.members.epoch}")
        tell(f"commits: {len(shared.history.applied)}")
        tell(f"state hashes that are right: {shared.check_state_hashes()}")
        if shared.checkpoint:
            shared.check_from_the_first()
        for described in shared.list():
            print(described)
        doubts += shared.doubts
    if doubts:
        raise Invalid(doubts[0])


if __name__ == "__main__":
    try:
        main(*sys.argv[1:])
    except (Invalid, KeyError, OSError) as error:
        sys.exit(f"reader.py: {type(error).__name__}: {error}")
