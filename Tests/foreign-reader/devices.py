"""The devices of a person, and the keys that follow from a seed: docs/trust.md, "Device chain", "Seeds"."""

from chains import read_links
from primitives import Cursor, agree, agreement_public_key, derive, require, verify

FORBIDDEN = [
    (0x00, 0x1F), (0x7F, 0x9F), (0xAD, 0xAD), (0x61C, 0x61C), (0x180E, 0x180E), (0x200B, 0x200B), (0x200E, 0x200F),
    (0x2028, 0x202E), (0x2060, 0x206F), (0xFEFF, 0xFEFF), (0xFFF9, 0xFFFB), (0xE0000, 0xE0FFF)]


def check_name(name):
    """A name ("Links")."""
    require(1 <= len(name.encode()) <= 255, "the length of a name")
    forbidden = [c for c in name if any(first <= ord(c) <= last for first, last in FORBIDDEN)]
    require(not forbidden, "a character that a name must not have")


class Device:
    """A device that is or was trusted."""

    def __init__(self, link):
        fields = Cursor(link.fields)
        self.id, self.signing, self.agreement = fields.identifier(), fields.take(32), fields.take(32)
        self.name, self.model = fields.text(), fields.text()
        possessed = link.fields[: fields.position]
        check_name(self.name)
        check_name(self.model)
        agree(bytes(32), self.agreement)  # throws for a key of low order
        verify(self.signing, b"device keys", link.chain + possessed, fields.take(64))
        fields.end()
        self.added = link.sequence
        self.revoked = self.revoked_by = None


class Devices:
    """A device chain ("Device chain")."""

    def __init__(self, records, user):
        require(records, "a chain without links")
        self.links = read_links(records, 1, user)
        self.devices = {}  # all that are or were trusted, by id
        for link in self.links:
            require(link.operation in (1, 2), f"link {link.sequence} has an unknown operation")
            by = self.signer(link)
            if link.operation == 1:
                self.add(link, by)
            else:
                self.revoke(link, by)

    def trusted(self):
        return [device for device in self.devices.values() if device.revoked is None]

    def signer(self, link):
        return next((device for device in self.trusted() if device.signing == link.signer), None)

    def add(self, link, by):
        device = Device(link)
        if link.sequence == 0:
            require(link.signer == device.signing, "link 0 is not signed by the device that it adds")
        else:
            require(by, f"link {link.sequence} is signed by no device that is trusted")
        require(device.id not in self.devices, "a device was added before")
        keys = {other.signing for other in self.devices.values()}
        require(device.signing not in keys, "the key of a device was added before")
        self.devices[device.id] = device

    def revoke(self, link, by):
        require(link.sequence > 0, "link 0 revokes a device")
        require(by, f"link {link.sequence} is signed by no device that is trusted")
        fields = Cursor(link.fields)
        device = self.devices.get(fields.identifier())
        fields.end()
        require(device and device.revoked is None, "who is revoked is no device that is trusted")
        require(len(self.trusted()) > 1, "the last device is revoked")
        device.revoked, device.revoked_by = link.sequence, by

    def check_own(self, device, signing, agreement):
        """What a profile must have: its own device, with its keys."""
        found = self.devices.get(device)
        require(found, "the profile's own device is not in its chain")
        require((found.signing, found.agreement) == (signing, agreement), "the keys of the profile's own device")

    def tell(self):
        for device in self.devices.values():
            revoked = f", revoked by {device.revoked_by.name} with link {device.revoked}" if device.revoked else ""
            yield f"device {device.name}: link {device.added}{revoked}"


def seeded_keys(seed, user):
    """The next transient keys: id, public key, secret ("Seeds")."""
    for _ in range(64):
        secret = derive(seed, b"transient secret", user)
        yield derive(seed, b"transient id", user)[:16], agreement_public_key(secret), secret
        seed = derive(seed, b"transient seed", user)


def where_they_part(known, other):
    """The first place at which two chains differ; None if one is the beginning of the other."""
    for sequence, (one, another) in enumerate(zip(known, other)):
        if one != another:
            return sequence
    return None


def check_continues(known, other, what):
    """Whether a chain continues the known one ("Model"): a fork and a chain that is shorter are refused."""
    place = where_they_part(known, other)
    require(place is None, f"{what} is forked at link {place}")
    require(len(other) >= len(known), f"{what} ends before link {len(other)}, which is known")
