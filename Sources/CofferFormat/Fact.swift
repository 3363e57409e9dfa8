/// One thing that a commit says: what is so, and which values this takes the place of.
package struct Fact: Hashable, Sendable {
    /// The commits whose values of the same register the author had seen; ascending.
    package var replaces: [Dot]
    /// What is so from now on.
    package var assertion: Assertion

    package init(_ assertion: Assertion, replaces: [Dot] = []) {
        self.assertion = assertion
        self.replaces = replaces
    }

    /// What it speaks of.
    package var register: Register { assertion.register }

    /// An entity, an attribute of it, and the value.
    package enum Assertion: Hashable, Sendable {
        /// What an item is; it never changes.
        case kind(ItemID, Kind)
        /// Permissions: the lower 12 bits of st_mode.
        case mode(ItemID, UInt16)
        /// When the content last changed, in nanoseconds since 1970.
        case modified(ItemID, Int64)
        /// An extended attribute; nil if it was removed. Name of 1 to 255 bytes, value of up to 65,536.
        case extendedAttribute(ItemID, name: [UInt8], value: [UInt8]?)
        /// The content of a file; nil says no more than that what it replaces is no longer wanted.
        case content(ItemID, Content?)
        /// Where an entry lies.
        case place(EntryID, Placement)
    }

    /// What an item is.
    package enum Kind: Hashable, Sendable {
        case file, directory, fifo, socket
        /// A symbolic link with its target: 1 to 4095 bytes without NUL.
        case symlink(target: [UInt8])
        /// A device node with its number, as st_rdev.
        case characterDevice(UInt64), blockDevice(UInt64)
    }

    /// The content of a file, as those who read and write it know it.
    package struct Content: Hashable, Sendable {
        /// The most bytes that stand for a content in a fact.
        package static let byteCountMax = 65_535
        /// The most bytes of a file.
        package static let sizeMax = UInt64(1) << 62

        /// What leads to the content; up to 65,535 bytes that are nothing but kept here.
        package var bytes: [UInt8]
        /// Bytes of the file.
        package var size: UInt64
        /// The item that the content is sealed for, if it is not the one that has it.
        package var origin: ItemID?

        package init(bytes: [UInt8], size: UInt64, origin: ItemID? = nil) {
            self.bytes = bytes
            self.size = size
            self.origin = origin
        }
    }

    /// Where an entry lies, or that it was removed.
    package struct Placement: Hashable, Sendable {
        /// The item that the entry leads to; the same in every fact about the entry.
        package var item: ItemID
        /// Where it lies; nil if it was removed.
        package var place: Place?
        /// Where the author saw it before; nil if it is new.
        package var previous: Place?
        /// Of a removal that leaves the item without entries: the contents that its author had seen; ascending.
        package var seenContents: [Dot]

        package init(item: ItemID, place: Place?, previous: Place?, seenContents: [Dot] = []) {
            self.item = item
            self.place = place
            self.previous = previous
            self.seenContents = seenContents
        }
    }
}

/// Where values are kept: an entity and one attribute of it.
///
/// Values of concurrent facts stand beside each other in it.
package enum Register: Hashable, Sendable {
    case kind(ItemID)
    case mode(ItemID)
    case modified(ItemID)
    case extendedAttribute(ItemID, name: [UInt8])
    case content(ItemID)
    case place(EntryID)
}

extension Fact.Assertion {
    /// What it speaks of.
    package var register: Register {
        switch self {
        case .kind(let item, _): .kind(item)
        case .mode(let item, _): .mode(item)
        case .modified(let item, _): .modified(item)
        case .extendedAttribute(let item, let name, _): .extendedAttribute(item, name: name)
        case .content(let item, _): .content(item)
        case .place(let entry, _): .place(entry)
        }
    }

    /// The item that it speaks of, or that its entry leads to.
    package var item: ItemID {
        switch self {
        case .kind(let item, _), .mode(let item, _), .modified(let item, _), .content(let item, _): item
        case .extendedAttribute(let item, _, _): item
        case .place(_, let placement): placement.item
        }
    }
}
