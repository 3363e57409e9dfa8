#!/usr/bin/env python3
"""Reads shared vaults from a remote folder, and lists what is in them: docs/*.md alone say how.

usage: reader.py PROFILE PASSPHRASE_FILE REMOTE

Prints a line for each name of each vault, as listing.py does of a directory, and to standard error what else
it found. It checks what it reads, the hash of what each author showed included, and ends with code 1 where
anything is not as it should be. It reads no checkpoints, and nothing of sides of forks that were lost.
"""

import os
import sys

import facts
from chains import Identity, Members, TransientKey, open_epochs, open_wrap, read_wrap_set
from commits import Commit, History
from contents import Contents
from listing import file_detail, line
from merge import Tree
from primitives import Invalid, agreement_public_key, purpose_hash, require, signing_public_key
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
    require([int(name, 16) for name in files] == list(range(len(files))), "a link is missing")
    return list(files.values())


class Person:
    """Who reads: a profile, and its public identity (docs/format.md, "Profile body")."""

    def __init__(self, profile):
        self.profile = profile
        self.identity = Identity(profile.identity_links)
        keys = (signing_public_key(profile.signing_seed), agreement_public_key(profile.agreement_secret))
        require(self.identity.keys[-1] == keys, "the keys of the identity")
        self.transient_keys = {}
        for record, secret in profile.transient_keys:
            key = TransientKey(record, self.identity)
            require(agreement_public_key(secret) == key.public_key, "a transient key")
            self.transient_keys[key.id] = (key, secret)


class SharedVault:
    """A vault on a remote (docs/protocol.md, "Objects")."""

    def __init__(self, person, vault, folder):
        self.person, self.vault, self.folder = person, vault, folder
        require(read_file(folder, "format") == b"COFFERRV\1\0\0\0" + vault, "the object “format”")
        identities = {}
        for user in sorted(os.listdir(os.path.join(folder, "identities"))):
            identity = Identity(read_chain(folder, "identities", user, "chain"))
            require(identity.user.hex() == user, "an identity in another's place")
            TransientKey(read_file(folder, "identities", user, "transient"), identity)
            identities[identity.id] = identity
        self.members = Members(read_chain(folder, "members"), vault, identities)
        self.keys = self.open_keys()
        self.history = History(*self.read_commits())
        self.tree = Tree(self.history.registers(), self.history.labels, vault)

    def open_keys(self):
        """The keys of all epochs (docs/trust.md, "Wraps", "Epochs")."""
        for epoch, set_hash, signer in reversed(self.members.wrap_sets):
            record = read_file(self.folder, "wraps", f"{epoch:016x}", set_hash.hex())
            require(purpose_hash(b"wrap set", record) == set_hash, "the hash of a wrap set")
            set_epoch, set_signer, wraps = read_wrap_set(record, self.vault)
            require((set_epoch, set_signer) == (epoch, signer), "a wrap set of another link")
            suite, wrap = wraps.get(self.person.identity.id, (None, None))
            if wrap:
                require(suite == 1, "a wrap of another suite")
                profile = self.person.profile
                key = open_wrap(
                    wrap, self.vault, epoch, self.person.identity, profile.agreement_secret,
                    self.person.transient_keys)
                keys = open_epochs(self.members, self.vault, epoch, key)
                for known, key in profile.keyrings[self.vault].items():
                    require(keys.get(known, key) == key, f"the key of epoch {known}")
                return keys
        raise Invalid("there is no wrap for this person")

    def read_commits(self):
        """The commits of each log that count, and where logs ended (docs/protocol.md, "Order of checks")."""
        require(not os.path.isdir(os.path.join(self.folder, "checkpoints")), "there are checkpoints")
        commits, ends = {}, {}
        for name in sorted(os.listdir(os.path.join(self.folder, "log"))):
            log = bytes.fromhex(name)
            commits[log] = []
            for number, record in read_files(self.folder, "log", name).items():
                commit = Commit(record, self.vault, self.keys)
                is_there = (commit.log, commit.sequence) == (log, int(number, 16))
                require(is_there, "a commit in another's place")
                if not commit.counts(self.members):
                    tell(f"log {name} ends in front of commit {commit.sequence}, which does not count")
                    ends[log] = commit.sequence - 1
                    break
                commits[log].append(commit)
        return commits, ends

    def check_state_hashes(self):
        """Compares what each author showed with what the facts give (docs/merge.md, "The state hash")."""
        count = 0
        for commit in self.history.applied:
            if any(commit.state_hash) and self.history.names_what_counts(commit):
                registers = self.history.registers_in_front_of(commit)
                tree = Tree(registers, self.history.labels, self.vault)
                is_right = tree.state_hash(self.keys[1]) == commit.state_hash
                require(is_right, f"the state hash of commit {commit.log.hex()}/{commit.sequence}")
                count += 1
        return count

    def list(self):
        contents, first_paths, lines = Contents(self.folder, self.vault, self.keys), {}, {}
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


def main(profile, passphrase_file, remote):
    passphrase = read_file(passphrase_file).removesuffix(b"\n")
    person = Person(open_profile(read_file(profile, "profile"), passphrase))
    for vault in person.profile.shares:
        folder = os.path.join(remote, "vaults", vault.hex())
        if not os.path.isdir(folder):
            continue
        shared = SharedVault(person, vault, folder)
        tell(f"members: {len(shared.members.members)}")
        tell(f"epochs: {shared.members.epoch}")
        tell(f"commits: {len(shared.history.applied)}")
        tell(f"state hashes that are right: {shared.check_state_hashes()}")
        for described in shared.list():
            print(described)


if __name__ == "__main__":
    try:
        main(*sys.argv[1:])
    except (Invalid, KeyError, OSError) as error:
        sys.exit(f"reader.py: {type(error).__name__}: {error}")
