"""Who reads: docs/format.md, "Profile" and "Profile body"."""

from dataclasses import dataclass, field

from primitives import Cursor, Invalid, argon2id, derive, open_record, purpose_hash, require


@dataclass
class Share:
    """Kind 6: a vault that has a remote."""

    url: str
    log: bytes


@dataclass
class Profile:
    """What a reader of shared vaults needs of a profile."""

    name: str = ""
    signing_seed: bytes = b""
    agreement_secret: bytes = b""
    names: dict = field(default_factory=dict)  # of vaults, by id
    keyrings: dict = field(default_factory=dict)  # of each vault: keys by epoch
    identity_links: list = field(default_factory=list)
    transient_keys: list = field(default_factory=list)  # records, each with its secret
    seed: bytes = b""  # of the next transient key
    device: tuple = ()  # id, label, Ed25519 seed, X25519 secret
    device_links: list = field(default_factory=list)
    former_keys: list = field(default_factory=list)  # X25519 secret; secrets of transient keys by id; user id, seed
    lost_keys: dict = field(default_factory=dict)  # of each vault: pairs of epoch and key
    shares: dict = field(default_factory=dict)  # by vault id


def open_profile(file, passphrase):
    """Reads the file `profile` ("Profile")."""
    file, checksum = file[:-32], file[-32:]
    require(checksum == purpose_hash(b"profile", file), "the checksum of the profile")
    cursor = Cursor(file)
    cursor.header(b"COFFERPF")
    identifier = cursor.identifier()
    cursor.time()
    count = cursor.u16()
    require(1 <= count <= 16, "the number of unlock methods")
    profile_key, last = None, 1
    for _ in range(count):
        kind, method = cursor.u16(), cursor.take(cursor.u32())
        require(last <= kind <= 3, "an unlock method of an unknown kind, or in another order")
        last = kind
        if kind == 1:
            profile_key = profile_key or unlock(method, identifier, passphrase)
        elif kind == 2:
            require(len(method) == 98 and method[16:18] == b"\1\0", "a recovery key")
        else:
            require(len(method) == 32, "a revoked recovery key")
    body = cursor.take(cursor.u32())
    cursor.end()
    require(profile_key, "the passphrase is wrong")
    return read_body(open_record(derive(profile_key, b"profile body", identifier), file[:36], body))


def unlock(method, profile, passphrase):
    """The profile key; None if the passphrase is wrong ("Unlock method 1: passphrase")."""
    cursor = Cursor(method)
    salt, passes, kibibytes = cursor.take(16), cursor.u32(), cursor.u32()
    require(cursor.u16() == 1, "another version of the verifier")
    require(2 <= passes <= 64 and 65_536 <= kibibytes <= 4_194_304, "parameters of Argon2id")
    require(passes * kibibytes <= 16_777_216, "parameters of Argon2id")
    cursor.time()
    verifier, wrap = cursor.take(72), cursor.take(72)
    cursor.take(cursor.u16())
    cursor.end()
    associated = profile + method[:34]
    unlock_key = argon2id(passphrase, salt, passes, kibibytes)
    try:
        open_record(derive(unlock_key, b"verifier"), associated, verifier)
    except Invalid:
        return None
    return open_record(derive(unlock_key, b"profile wrap"), associated, wrap)


def read_body(body):
    """Reads the records of the body ("Profile body")."""
    profile, kinds, slots, last_vault = Profile(), set(), set(), None
    cursor = Cursor(body)
    while cursor.left:
        kind = cursor.u16()
        record = Cursor(cursor.take(cursor.u32()))
        require(1 <= kind <= 12 or 16 <= kind <= 17, "a record of an unknown kind")
        kinds.add(kind)
        if kind == 1:
            profile.name = record.text()
            profile.signing_seed, profile.agreement_secret = record.take(32), record.take(32)
            record.end()
        elif kind == 2:
            profile.device = record.identifier(), record.text(), record.take(32), record.take(32)
            record.end()
        elif kind == 3:
            vault, slot = record.identifier(), record.u16()
            require(slot not in slots, "a slot of two vaults")
            slots.add(slot)
            record.time()
            profile.names[vault] = record.text()
            record.take(32)
            epochs = [(record.u32(), record.take(32)) for _ in range(record.u32())]
            require(epochs, "a vault without keys")
            record.end()
            profile.keyrings[vault] = dict(epochs)
            last_vault = vault
        elif kind == 5:
            profile.identity_links = [record.take(record.u32()) for _ in range(record.u32())]
            count = record.u32()
            profile.transient_keys = [(record.take(204), record.take(32)) for _ in range(count)]
            profile.seed = record.take(32) if record.left else b""
            record.end()
        elif kind == 6:
            vault = record.identifier()
            require(vault not in profile.shares, "a second share of a vault")
            profile.shares[vault] = Share(record.text(), record.identifier())
        elif kind == 10:
            vault = record.identifier()
            require(vault == last_vault and vault not in profile.lost_keys, "lost keys of another vault")
            profile.lost_keys[vault] = [(record.u32(), record.take(32)) for _ in range(record.u32())]
            require(profile.lost_keys[vault], "lost keys that are none")
            record.end()
        elif kind == 11:
            profile.device_links = [record.take(record.u32()) for _ in range(record.u32())]
            record.end()
        elif kind == 12:
            record.time()
            secret, count = record.take(32), record.u32()
            transients = {record.identifier(): record.take(32) for _ in range(count)}
            user, seed = (record.identifier(), record.take(32)) if record.left else (b"", b"")
            record.end()
            profile.former_keys.append((secret, transients, user, seed))
    require(kinds >= {1, 2, 4}, "a record is missing")
    return profile
