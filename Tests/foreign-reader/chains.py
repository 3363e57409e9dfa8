"""Who may what, and the keys of a vault: docs/trust.md."""

from primitives import Cursor, Ends, Waits, agree, agreement_public_key, blake2b, derive, open_record
from primitives import purpose_hash, require, u32, u64, verify

OWNER, ADMIN, WRITER, READER = 1, 2, 3, 4
OPERATIONS = [
    None, "CreateVault", "AddMember", "ChangeRole", "RemoveMember", "RotateKey", "MemberKeysRolled",
    "RestoreFromBackup", "Leave"]


class Link:
    """A link of a chain ("Links")."""

    def __init__(self, record):
        require(len(record) <= 262_144, "a link that is too long")
        self.record = record
        cursor = Cursor(record)
        cursor.header(b"COFFERLK")
        self.kind, self.chain, self.sequence = cursor.u8(), cursor.identifier(), cursor.u64()
        self.previous = cursor.take(32)
        cursor.time()
        self.operation = cursor.u16()
        self.fields = cursor.take(cursor.u32())
        self.signer = cursor.take(32)
        hashed = record[: cursor.position]
        self.hash, signature = cursor.take(32), cursor.take(64)
        cursor.end()
        require(purpose_hash(b"link", hashed) == self.hash, "the hash of a link")
        verify(self.signer, b"link", self.hash, signature)


def read_links(records, kind, chain):
    """The links of a chain, which follow each other ("Links")."""
    links = [Link(record) for record in records]
    previous = bytes(32)
    for sequence, link in enumerate(links):
        require((link.kind, link.chain) == (kind, chain), "a link of another chain")
        require((link.sequence, link.previous) == (sequence, previous), "a link at another place")
        previous = link.hash
    return links


class Identity:
    """An identity chain ("Identity chain")."""

    def __init__(self, records):
        self.user = Link(records[0]).chain
        self.links = read_links(records, 2, self.user)
        self.id = self.links[0].hash
        self.keys = []  # after each link: Ed25519 and X25519 key; None once revoked
        used = set()
        for link in self.links:
            current = self.keys[-1] if self.keys else None
            fields = Cursor(link.fields)
            if link.sequence == 0:
                require(link.operation == 1, "a chain begins with InitialKeys")
                keys = (fields.take(32), fields.take(32))
                require(link.signer == keys[0], "InitialKeys is signed by its key")
            else:
                require(current and link.signer == current[0], "a link is signed by the current key")
                keys = self.rolled(link, fields) if link.operation == 2 else None
                require(link.operation in (2, 3), "an unknown operation")
            fields.end()
            require(not keys or used.isdisjoint(keys), "a key that was there before")
            if keys:
                agree(bytes(32), keys[1])  # throws for a key of low order
            used.update(keys or ())
            self.keys.append(keys)

    def rolled(self, link, fields):
        keys = (fields.take(32), fields.take(32))
        message = self.user + u64(link.sequence - 1) + link.previous + keys[0] + keys[1]
        verify(keys[0], b"identity keys", message, fields.take(64))
        return keys


class TransientKey:
    """A transient key, by the current key of its identity ("Transient keys")."""

    def __init__(self, record, identity):
        cursor = Cursor(record)
        cursor.header(b"COFFERTK")
        require(cursor.take(32) == identity.id, "a transient key of somebody else")
        self.id, self.public_key = cursor.identifier(), cursor.take(32)
        begins, ends = cursor.time(), cursor.time()
        require(0 <= begins < ends <= begins + 30 * 86_400 * 10**9, "the times of a transient key")
        signer, signature = cursor.take(32), cursor.take(64)
        cursor.end()
        require(identity.keys[-1] and signer == identity.keys[-1][0], "the signer of a transient key")
        verify(signer, b"transient key", record[:140], signature)


class Member:
    """A role, and a head of an identity chain."""

    def __init__(self, role, identity, head):
        self.role, self.identity, self.head = role, identity, head
        self.keys = identity.keys[head]


class Bound:
    """Which commits of an author count in front of a link ("Which commits count")."""

    def __init__(self, link, identity, only_changes, logs):
        self.link, self.identity, self.only_changes, self.logs = link, identity, only_changes, logs


class Members:
    """A member chain ("Member chain")."""

    def __init__(self, records, vault, identities):
        self.links = read_links(records, 3, vault)
        self.identities = identities
        self.members = {}  # now
        self.left = {}  # who has left by itself, and whom nobody has bounded yet
        self.heads = {}  # the last ones of all who are or were members
        self.invites = set()  # those that were used
        self.states = []  # after each link: members, epoch
        self.epoch = 0
        self.commitments = {}  # by epoch
        self.sealed_keys = {}  # by epoch: the key of the one before
        self.wrap_sets = []  # epoch, hash, signer
        self.bounds = []
        self.history = None  # how long the past is kept, in seconds
        for link in self.links:
            fields = Cursor(link.fields)
            signer = self.signer(link) if link.operation not in (1, 6) else None
            self.apply(link, fields, signer)
            fields.end()
            keys = [member.keys[0] for member in self.members.values() if member.keys]
            require(len(keys) == len(set(keys)), "two members with one key")
            require(len(self.members) <= 4096, "too many members")
            self.states.append((dict(self.members), self.epoch))

    def signer(self, link):
        with_keys = [member for member in self.members.values() if member.keys]
        signers = [member for member in with_keys if member.keys[0] == link.signer]
        require(len(signers) == 1, "the signer of a link is no member")
        return signers[0]

    def apply(self, link, fields, signer):
        operation = link.operation
        if operation == 1:  # CreateVault
            require(link.sequence == 0, "CreateVault is link 0")
            member = self.read_member(fields, OWNER)
            require(member.keys and link.signer == member.keys[0], "CreateVault is signed by the creator")
            self.members[member.identity.id] = member
            self.begin_epoch(1, fields.take(32))
            self.wrap_sets.append((1, fields.take(32), link.signer))
        elif operation == 2:  # AddMember
            member = self.read_member(fields, None)
            member.role = read_role(fields)
            require(member.identity.id not in self.members, "who is added is a member already")
            require(member.identity.id not in self.left, "who is added has left, and nobody has bounded it")
            require(member.keys, "who is added is revoked")
            self.check_right(signer, OWNER if member.role <= ADMIN else ADMIN)
            invite = fields.identifier()
            require(invite not in self.invites, "an invite that was used")
            self.invites |= {invite} - {bytes(16)}
            self.members[member.identity.id] = member
            self.wrap_sets.append((self.epoch, fields.take(32), link.signer))
        elif operation == 3:  # ChangeRole
            member, role = self.members[fields.take(32)], read_role(fields)
            self.check_right(signer, OWNER if min(role, member.role) <= ADMIN else ADMIN)
            require(member.keys and role != member.role, "a role that cannot change")
            require(self.owners() != [member], "the last owner stays one")
            logs, is_silenced = read_bounds(fields), member.role <= WRITER < role
            require(is_silenced or not logs, "bounds of one that may write as before")
            if is_silenced:
                self.bounds.append(Bound(link.sequence, member.identity.id, True, logs))
            self.members[member.identity.id] = Member(role, member.identity, member.head)
        elif operation == 4:  # RemoveMember
            identity_id = fields.take(32)
            # Also of one that has left: then this says which of its commits count.
            member = self.members.get(identity_id) or self.left[identity_id]
            require(member is not signer, "nobody removes itself")
            # One whose identity is revoked counts as a writer.
            self.check_right(signer, OWNER if member.role == OWNER and member.keys else ADMIN)
            self.members.pop(identity_id, None)
            self.left.pop(identity_id, None)
            self.read_epoch_start(fields, link)
            self.bounds.append(Bound(link.sequence, member.identity.id, False, read_bounds(fields)))
        elif operation == 5:  # RotateKey
            self.check_right(signer, ADMIN)
            self.read_epoch_start(fields, link)
        elif operation == 6:  # MemberKeysRolled
            identity = self.identities[fields.take(32)]
            old = self.members[identity.id]
            member = Member(old.role, identity, self.read_head(fields, identity))
            require(member.head > old.head, "a head that goes back")
            if not member.keys or link.signer != member.keys[0]:
                require(self.signer(link).identity is not identity, "the old key signs no rolled keys")
                needs_owner = old.role == OWNER and member.keys
                self.check_right(self.signer(link), OWNER if needs_owner else ADMIN)
            self.bounds.append(Bound(link.sequence, identity.id, False, read_bounds(fields)))
            self.members[identity.id] = member
        elif operation == 7:  # RestoreFromBackup
            self.check_right(signer, ADMIN)
            read_bounds(fields)
        elif operation == 8:  # Leave
            flag = fields.u8()
            require(flag == (self.owners() == [signer]), "the last owner, and nobody else, names a successor")
            successor = self.members[fields.take(32)] if flag else None
            require(not successor or (successor is not signer and successor.keys), "a successor who cannot be owner")
            self.left[signer.identity.id] = self.members.pop(signer.identity.id)
            self.bounds.append(Bound(link.sequence, signer.identity.id, False, read_bounds(fields)))
            if successor:
                self.members[successor.identity.id] = Member(OWNER, successor.identity, successor.head)
        elif operation == 9:  # KeepHistory
            self.check_right(signer, ADMIN)
            seconds = fields.u64()
            require(seconds <= 10_000_000_000 or seconds == 2**64 - 1, "a time that the past cannot be kept for")
            require(seconds != self.history, "a time that the past is kept for already")
            self.history = seconds
        else:
            require(False, "an unknown operation")

    def check_right(self, signer, role):
        """Whether somebody has what this role has ("Rights"); admins have all where no owner has keys."""
        require(signer.role <= (role if self.owners() else ADMIN), "somebody may not do that")

    def owners(self):
        return [member for member in self.members.values() if member.role == OWNER and member.keys]

    def read_member(self, fields, role):
        identity = self.identities[fields.take(32)]
        return Member(role, identity, self.read_head(fields, identity))

    def read_head(self, fields, identity):
        sequence, link_hash = fields.u64(), fields.take(32)
        require(sequence < len(identity.links), "a head that is not in the identity chain")
        require(identity.links[sequence].hash == link_hash, "a head of another history")
        require(sequence >= self.heads.get(identity.id, 0), "a head that goes back")
        self.heads[identity.id] = sequence
        return sequence

    def begin_epoch(self, epoch, commitment):
        require(epoch == self.epoch + 1, "an epoch that is not the next one")
        self.epoch = epoch
        self.commitments[epoch] = commitment

    def read_epoch_start(self, fields, link):
        self.begin_epoch(fields.u32(), fields.take(32))
        self.sealed_keys[self.epoch] = fields.take(72)
        self.wrap_sets.append((self.epoch, fields.take(32), link.signer))

    def has(self, link, link_hash):
        return link < len(self.links) and self.links[link].hash == link_hash

    def author_key(self, commit):
        """The key that must have signed a commit; throws if it does not count ("Which commits count")."""
        if commit.link >= len(self.links):
            raise Waits(f"it names link {commit.link} of the members, which is not there")
        if not self.has(commit.link, commit.link_hash):
            raise Waits(f"it names another link {commit.link} of the members")
        author = self.states[commit.link][0].get(commit.author)
        if not author or not author.keys:
            raise Ends(f"its author was no member at link {commit.link}")
        if commit.writes and author.role == READER:
            raise Ends(f"its author could only read at link {commit.link}")
        for bound in self.bounds:
            if bound.link <= commit.link or bound.identity != commit.author:
                continue
            if bound.only_changes and not commit.writes:
                continue
            sequence, commit_hash = bound.logs.get(commit.log, (0, None))
            if commit.sequence > sequence or (commit.sequence == sequence and commit.hash != commit_hash):
                operation = OPERATIONS[self.links[bound.link].operation]
                raise Ends(f"{operation}, link {bound.link}, bounds the log at commit {sequence}")
        return author.keys[0]

    def keys_ever(self, identity_id):
        """The keys that somebody signed with while it was a member."""
        members = [state[identity_id] for state, _ in self.states if identity_id in state]
        return {member.keys[0] for member in members if member.keys}

    def is_admin(self, identity_id):
        """Whether somebody is an owner or admin with valid keys now."""
        member = self.members.get(identity_id)
        return bool(member and member.keys and member.role <= ADMIN)


def read_role(fields):
    role = fields.u8()
    require(OWNER <= role <= READER, "an unknown role")
    return role


def read_bounds(fields):
    """Bounds ("Links"): of each log the last commit that counts, with its hash."""
    bounds, last = {}, b""
    for _ in range(fields.u16()):
        log = fields.identifier()
        require(log > last and len(bounds) < 4096, "the order of bounds")
        last = log
        bounds[log] = (fields.u64(), fields.take(32))
    return bounds


def read_wrap_set(record, vault):
    """The epoch, the signer, and the wraps by identity id ("Wraps")."""
    cursor = Cursor(record)
    cursor.header(b"COFFERWS")
    require(cursor.identifier() == vault, "a wrap set of another vault")
    epoch, wraps, last = cursor.u32(), {}, b""
    for _ in range(cursor.u32()):
        identity = cursor.take(32)
        require(identity > last, "the order of wraps")
        last = identity
        suite = cursor.u16()
        wraps[identity] = (suite, cursor.take(cursor.u16()))
    signer = cursor.take(32)
    signed = record[: cursor.position]
    verify(signer, b"wrap set", signed, cursor.take(64))
    cursor.end()
    return epoch, signer, wraps


def open_wrap(wrap, vault, epoch, identity, secret, transients):
    """The key of an epoch: suite 1 ("Wraps"); `transients` are public keys and secrets by id."""
    require(len(wrap) == 120, "the length of a wrap")
    fresh, transient_id, sealed = wrap[:32], wrap[32:48], wrap[48:]
    require(transient_id in transients, "a wrap for a transient key that the profile does not have")
    transient, transient_secret = transients[transient_id]
    shared = agree(secret, fresh) + agree(transient_secret, fresh)
    public = agreement_public_key(secret)
    context = fresh + public + transient + vault + u32(epoch) + identity
    key = blake2b(b"coffer/1/wrap 1\0" + shared + context)
    return open_record(key, b"coffer/1/wrap 1\0" + context, sealed)


def open_epochs(members, vault, newest, key):
    """The keys of all epochs up to the newest one whose key is known ("Epochs")."""
    keys = {newest: key}
    for epoch in range(newest, 0, -1):
        context = vault + u32(epoch)
        committed = derive(keys[epoch], b"commitment", context)
        require(committed == members.commitments[epoch], f"the commitment of epoch {epoch}")
        if epoch > 1:
            sealing = derive(keys[epoch], b"previous epoch", context)
            keys[epoch - 1] = open_record(sealing, context, members.sealed_keys[epoch])
    return keys
