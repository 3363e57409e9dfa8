/// One statement of a commit: a value that holds from now on, and the values that it replaces.
package struct Fact: Hashable, Sendable {
    /// The commits whose values of the same register the author had seen; ascending.
    package var replaces: [Dot]
    /// The value that holds from now on.
    package var assertion: Assertion

    package init(_ assertion: Assertion, replaces: [Dot] = []) {
        self.assertion = assertion
        self.replaces = replaces
    }

    /// The register that the fact is about.
    package var register: Register { assertion.register }

    /// Whether it states another place of a content.
    package var isMove: Bool { if case .moved = assertion { true } else { false } }

    /// An entity, an attribute of it, and the value.
    package enum Assertion: Hashable, Sendable {
        /// The kind of an item; it never changes.
        case kind(ItemID, Kind)
        /// Permissions: the lower 12 bits of st_mode.
        case mode(ItemID, UInt16)
        /// When the content last changed, in nanoseconds since 1970.
        case modified(ItemID, Int64)
        /// An extended attribute; nil if it was removed. Name of 1 to 255 bytes, value of up to 65,536.
        case extendedAttribute(ItemID, name: [UInt8], value: [UInt8]?)
        /// The content of a file; nil only states that the values that it replaces are no longer wanted.
        case content(ItemID, Content?)
        /// Another place of the bytes of a content, which the commit `of` stated: an encoded content value of the
        /// same extents in other packs.
        case moved(ItemID, of: Dot, bytes: [UInt8])
        /// The place of an entry.
        case place(EntryID, Placement)
    }

    /// The kind of an item.
    package enum Kind: Hashable, Sendable {
        case file, directory, fifo, socket
        /// A symbolic link with its target: 1 to 4095 bytes without NUL.
        case symlink(target: [UInt8])
        /// A device node with its number, as st_rdev.
        case characterDevice(UInt64), blockDevice(UInt64)
    }

    /// The content of a file, as facts describe it.
    package struct Content: Hashable, Sendable {
        /// The largest size of `bytes`.
        package static let byteCountMax = 65_535
        /// The largest size of a file, in bytes.
        package static let sizeMax = UInt64(1) << 62

        /// The encoded content value; this target only stores it.
        package var bytes: [UInt8]
        /// The size of the file, in bytes.
        package var size: UInt64
        /// The item for which the content is sealed; nil means the file itself.
        package var origin: ItemID?

        package init(bytes: [UInt8], size: UInt64, origin: ItemID? = nil) {
            self.bytes = bytes
            self.size = size
            self.origin = origin
        }
    }

    /// The place of an entry, or its removal.
    package struct Placement: Hashable, Sendable {
        /// The item that the entry leads to; the same in every fact about the entry.
        package var item: ItemID
        /// Where the entry lies; nil if it was removed.
        package var place: Place?
        /// Where the author saw the entry before; nil if it is new.
        package var previous: Place?
        /// For a removal that leaves the item without entries, the contents that its author had seen;
        /// ascending.
        package var seenContents: [Dot]

        package init(item: ItemID, place: Place?, previous: Place?, seenContents: [Dot] = []) {
            self.item = item
            self.place = place
            self.previous = previous
            self.seenContents = seenContents
        }
    }
}

/// An entity and one of its attributes, which values are put into.
///
/// Values of concurrent facts coexist in a register.
package enum Register: Hashable, Sendable {
    case kind(ItemID)
    case mode(ItemID)
    case modified(ItemID)
    case extendedAttribute(ItemID, name: [UInt8])
    case content(ItemID)
    case place(EntryID)
}

extension Fact.Assertion {
    /// The register that the assertion is about.
    package var register: Register {
        switch self {
        case .kind(let item, _): .kind(item)
        case .mode(let item, _): .mode(item)
        case .modified(let item, _): .modified(item)
        case .extendedAttribute(let item, let name, _): .extendedAttribute(item, name: name)
        case .content(let item, _), .moved(let item, _, _): .content(item)
        case .place(let entry, _): .place(entry)
        }
    }

    /// The item that the assertion is about, or to which its entry leads.
    package var item: ItemID {
        switch self {
        case .kind(let item, _), .mode(let item, _), .modified(let item, _), .content(let item, _): item
        case .extendedAttribute(let item, _, _), .moved(let item, _, _): item
        case .place(_, let placement): placement.item
        }
    }
}
