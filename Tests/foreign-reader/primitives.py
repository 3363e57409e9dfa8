"""Bytes, hashes and ciphers: docs/format.md, "Conventions", "Primitives", "Key derivation"."""

import ctypes
import hashlib


class Invalid(Exception):
    """Something is not as the documents say."""


class Waits(Invalid):
    """Why a log waits in front of a commit, or a checkpoint is not used ("Order of checks")."""


class OfLostSide(Waits):
    """A commit is of the side of a fork of the members that does not count."""


class Ends(Invalid):
    """Why a log ends in front of a commit, for everybody ("Order of checks")."""


def require(condition, what):
    if not condition:
        raise Invalid(what)


def load_libsodium():
    for name in ("libsodium.so.23", "libsodium.so.26", "libsodium.so"):
        try:
            library = ctypes.CDLL(name)
        except OSError:
            continue
        require(library.sodium_init() >= 0, "libsodium does not start")
        return library
    raise Invalid("there is no libsodium")


sodium = load_libsodium()


class Cursor:
    """Reads a record from its first byte to its last ("Conventions")."""

    def __init__(self, record):
        self.record = record
        self.position = 0

    @property
    def left(self):
        return len(self.record) - self.position

    def take(self, count):
        require(count <= self.left, "a record ends too early")
        self.position += count
        return self.record[self.position - count : self.position]

    def number(self, byte_count):
        return int.from_bytes(self.take(byte_count), "little")

    def u8(self):
        return self.number(1)

    def u16(self):
        return self.number(2)

    def u32(self):
        return self.number(4)

    def u64(self):
        return self.number(8)

    def time(self):
        return int.from_bytes(self.take(8), "little", signed=True)

    def identifier(self):
        return self.take(16)

    def text(self):
        return self.take(self.u16()).decode("utf-8")

    def header(self, magic):
        require(self.take(8) == magic, f"this is no {magic.decode()}")
        require(self.u32() == 1, f"another version of {magic.decode()}")

    def end(self):
        require(self.left == 0, "there are bytes behind the end of a record")


def u16(number):
    return number.to_bytes(2, "little")


def u32(number):
    return number.to_bytes(4, "little")


def u64(number):
    return number.to_bytes(8, "little")


def order(identifier):
    """An identifier as the number by which it is compared ("Facts")."""
    return int.from_bytes(identifier, "little")


def blake2b(message, key=b""):
    return hashlib.blake2b(message, key=key, digest_size=32).digest()


def derive(parent, purpose, context=b""):
    """The subkey of a key ("Key derivation")."""
    return blake2b(b"coffer/1/" + purpose + b"\0" + context, key=parent)


def purpose_hash(purpose, message):
    """hash(purpose, message) ("Primitives")."""
    return blake2b(b"coffer/1/" + purpose + b"\0" + message)


LEAF = 16 * 4112


def leaf_hashes(sealed):
    """The hashes of a sealed extent's leaves ("Hash of an extent")."""
    leaves = [sealed[start : start + LEAF] for start in range(0, len(sealed), LEAF)]
    return [tree_node(leaf, 0, number, number == len(leaves) - 1) for number, leaf in enumerate(leaves)]


def extent_hash(hashes):
    """The root above the hashes of leaves ("Hash of an extent")."""
    return tree_node(b"".join(hashes), 1, 0, True)


def tree_node(message, depth, offset, is_last):
    return hashlib.blake2b(
        message, digest_size=32, fanout=16, depth=2, leaf_size=LEAF, node_offset=offset, node_depth=depth,
        inner_size=32, last_node=is_last, person=b"coffer/1/extent\0").digest()


def argon2id(passphrase, salt, passes, kibibytes):
    output = ctypes.create_string_buffer(32)
    failed = sodium.crypto_pwhash(
        output, ctypes.c_ulonglong(32), passphrase, ctypes.c_ulonglong(len(passphrase)), salt,
        ctypes.c_ulonglong(passes), ctypes.c_size_t(kibibytes * 1024), ctypes.c_int(2))
    require(not failed, "Argon2id fails")
    return output.raw


def open_sealed(key, nonce, associated, sealed):
    """open: the reverse of seal ("Primitives")."""
    require(len(sealed) >= 16, "what is sealed is too short")
    output = ctypes.create_string_buffer(max(1, len(sealed) - 16))
    failed = sodium.crypto_aead_xchacha20poly1305_ietf_decrypt(
        output, None, None, sealed, ctypes.c_ulonglong(len(sealed)),
        associated, ctypes.c_ulonglong(len(associated)), nonce, key)
    require(not failed, "what is sealed does not open")
    return output.raw[: len(sealed) - 16]


def open_record(key, associated, record):
    """Opens a sealed record ("Primitives")."""
    return open_sealed(key, record[:24], associated, record[24:])


def verify(public_key, purpose, message, signature):
    """Checks a signature (docs/trust.md, "Purposes")."""
    signed = b"coffer/1/" + purpose + b"\0" + message
    length = ctypes.c_ulonglong(len(signed))
    failed = sodium.crypto_sign_verify_detached(signature, signed, length, public_key)
    require(not failed, f"the signature of a {purpose.decode()} is wrong")


def signing_public_key(seed):
    public_key, secret_key = ctypes.create_string_buffer(32), ctypes.create_string_buffer(64)
    sodium.crypto_sign_seed_keypair(public_key, secret_key, seed)
    return public_key.raw


def agreement_public_key(secret):
    public_key = ctypes.create_string_buffer(32)
    sodium.crypto_scalarmult_base(public_key, secret)
    return public_key.raw


def agree(secret, public_key):
    """X25519; a shared secret of zeros is refused (docs/trust.md, "Wraps")."""
    shared = ctypes.create_string_buffer(32)
    require(sodium.crypto_scalarmult(shared, secret, public_key) == 0, "a public key of low order")
    return shared.raw
