"""Writes records as the documents say, for the values in docs/values.json; only a test may choose nonces."""

import ctypes

from facts import CONTENT, EXTENDED_ATTRIBUTE, KIND, MODE, MODIFIED, MOVED, PLACE, MORE, REPLACES, SAME_ITEM, VALUE
from facts import BLOCK_DEVICE, CHARACTER_DEVICE, SYMLINK, Content, Fact, Moved, Place, Placement
from commits import padded_length
from primitives import derive, order, sodium, u16, u32, u64


def seal(key, nonce, associated, plain):
    """seal (docs/format.md, "Primitives")."""
    output, length = ctypes.create_string_buffer(len(plain) + 16), ctypes.c_ulonglong()
    sodium.crypto_aead_xchacha20poly1305_ietf_encrypt(
        output, ctypes.byref(length), plain, ctypes.c_ulonglong(len(plain)),
        associated, ctypes.c_ulonglong(len(associated)), None, nonce, key)
    return output.raw


def seal_record(key, nonce, associated, plain):
    """A sealed record (docs/format.md, "Primitives")."""
    return nonce + seal(key, nonce, associated, plain)


def sign(seed, purpose, message):
    """sign (docs/trust.md, "Purposes")."""
    public_key, secret_key = ctypes.create_string_buffer(32), ctypes.create_string_buffer(64)
    sodium.crypto_sign_seed_keypair(public_key, secret_key, seed)
    signed, signature = b"coffer/1/" + purpose + b"\0" + message, ctypes.create_string_buffer(64)
    sodium.crypto_sign_detached(signature, None, signed, ctypes.c_ulonglong(len(signed)), secret_key)
    return signature.raw


def padded(body):
    """A padded body (docs/format.md, "Signed record")."""
    return (u32(len(body)) + body).ljust(padded_length(4 + len(body)), b"\0")


def text(string):
    return u16(len(string.encode())) + string.encode()


def place(value):
    return value.directory + bytes([len(value.name)]) + value.name


# MARK: Facts


def kind(item, number, detail=None):
    return Fact(KIND, item, (KIND, item), (), (number, detail))


def mode(item, value, replaces=()):
    return Fact(MODE, item, (MODE, item), replaces, value)


def extended_attribute(item, name, value, replaces=()):
    return Fact(EXTENDED_ATTRIBUTE, item, (EXTENDED_ATTRIBUTE, item, name), replaces, value)


def content(item, value, replaces=()):
    return Fact(CONTENT, item, (CONTENT, item), replaces, value)


def moved(item, dot, value):
    return Fact(MOVED, item, (CONTENT, item), (), Moved(dot, value))


def placed(entry, item, directory, name, replaces=(), previous=None):
    value = Placement(Place(directory, name), previous, ())
    return Fact(PLACE, item, (PLACE, entry), replaces, value)


def removed(entry, item, directory, name, replaces, seen=()):
    return Fact(PLACE, item, (PLACE, entry), replaces, Placement(None, Place(directory, name), seen))


def write_body(facts):
    """A body of facts (docs/format.md, "Facts")."""
    dots = [dot for fact in facts for dot in fact.replaces]
    dots += [dot for fact in facts if isinstance(fact.value, Placement) for dot in fact.value.seen]
    dots += [fact.value.dot for fact in facts if fact.attribute == MOVED]
    logs = sorted({log for log, _ in dots}, key=order)

    def write_dot(dot):
        return u16(logs.index(dot[0])) + u64(dot[1])

    def write_dots(dots):
        return u16(len(dots)) + b"".join(map(write_dot, sorted(dots, key=lambda dot: (order(dot[0]), dot[1]))))

    body, last = b"\1" + u16(len(logs)) + b"".join(logs) + u32(len(facts)), None
    for fact in facts:
        flags, value = shape(fact, write_dot, write_dots)
        flags |= (SAME_ITEM if fact.item == last else 0) | (REPLACES if fact.replaces else 0)
        body += bytes([fact.attribute, flags])
        body += fact.register[1] if fact.attribute == PLACE else b""
        body += b"" if fact.item == last else fact.item
        body += write_dots(fact.replaces) if fact.replaces else b""
        body += value
        last = fact.item
    return body


def shape(fact, write_dot, write_dots):
    """Flags 4 and 8, and the bytes of the value."""
    value = fact.value
    if fact.attribute == KIND:
        number, detail = value
        written = bytes([number])
        if number == SYMLINK:
            written += u16(len(detail)) + detail
        if number in (CHARACTER_DEVICE, BLOCK_DEVICE):
            written += u64(detail)
        return VALUE, written
    if fact.attribute == MODE:
        return VALUE, u16(value)
    if fact.attribute == MODIFIED:
        return VALUE, value.to_bytes(8, "little", signed=True)
    if fact.attribute == EXTENDED_ATTRIBUTE:
        name = fact.register[2]
        written = bytes([len(name)]) + name
        return (0, written) if value is None else (VALUE, written + u32(len(value)) + value)
    if fact.attribute == CONTENT:
        if value is None:
            return 0, b""
        flags = VALUE | MORE if value.origin else VALUE
        return flags, u64(value.size) + (value.origin or b"") + u16(len(value.value)) + value.value
    if fact.attribute == MOVED:
        return VALUE, write_dot(value.dot) + u16(len(value.value)) + value.value
    written = place(value.place) if value.place else b""
    written += place(value.previous) if value.previous else b""
    flags = (VALUE if value.place else 0) | (MORE if value.previous else 0)
    return flags, written + (b"" if value.place else write_dots(value.seen))


def small_content(item, size):
    """A content without entries: as many zeros."""
    return Content(size, item, b"\1\0" + u64(size) + item + b"\0")


# MARK: Checkpoints


def measure(fact):
    """How much a value counts until its group ends (docs/protocol.md, "Checkpoints")."""
    if fact.attribute == EXTENDED_ATTRIBUTE:
        return len(fact.register[2]) + len(fact.value or b"") + 32
    if fact.attribute in (CONTENT, MOVED):
        return len(fact.value.value) + 48
    if fact.attribute == KIND and fact.value[0] == SYMLINK:
        return len(fact.value[1]) + 32
    return 128


def pieces(registers):
    """The groups of each piece of a checkpoint (docs/protocol.md, "Checkpoints")."""

    def entity(register):
        attribute, identifier, *name = register
        return order(identifier), attribute, name

    groups, stamp, facts, size = b"", None, [], 0
    for register in sorted((key for key, values in registers.values.items() if values), key=entity):
        for value in registers[register]:
            if facts and (value.stamp != stamp or size >= 262_144):
                groups += group(stamp, facts)
                facts, size = [], 0
            stamp = value.stamp
            facts.append(stated(register, value))
            size += measure(facts[-1])
        if len(groups) >= 2_097_152:
            yield groups
            groups = b""
    if facts:
        groups += group(stamp, facts)
    if groups:
        yield groups


def stated(register, value):
    """The fact that puts a value into a register, as a checkpoint has it."""
    attribute = MOVED if isinstance(value.value, Moved) else register[0]
    return Fact(attribute, value.item, register, (), value.value)


def group(stamp, facts):
    log, sequence = stamp.dot
    body = write_body(facts)
    return log + u64(sequence) + u64(stamp.clock) + u32(len(body)) + body


# MARK: Signed records


def write_record(kind, vault, place, epoch, key, body, author, link, link_hash, writes, seed, nonce=bytes(24)):
    """A commit or the record of a checkpoint (docs/format.md, "Signed record")."""
    magic, derived = (b"COFFERCM", b"log") if kind == "commit" else (b"COFFERCP", b"checkpoint")
    key, whole = derive(key, derived, vault + u32(epoch)), padded(body)
    header = magic + u32(1) + vault + place[0] + u64(place[1]) + u32(epoch) + u32(len(whole) + 40)
    sealed = seal_record(key, nonce, header, whole)
    unsigned = author + u64(link) + link_hash + bytes([writes])
    signature = sign(seed, kind.encode(), header + sealed + unsigned)
    return header + sealed + seal_record(key, nonce, header + b"\1", unsigned + signature)
