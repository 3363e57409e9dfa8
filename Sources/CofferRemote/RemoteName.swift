/// The name of an object on a remote: segments of a-z, 0-9, ".", "_", and "-", separated by "/".
///
/// All kinds of storage take these names unchanged: a file system that folds case or strips trailing dots, a
/// URL, a shell. A segment has 1 to 128 bytes, begins with a letter, a digit, "_", or "-", and does not end
/// with "."; a name has 1 to 8 segments and up to 512 bytes. Segments that begin with "." or contain
/// ".sync-conflict-" are left to file systems and other tools (".syncthing.….tmp", ".nfs0001"). No name may
/// equal the leading segments of another. Names are ordered by their bytes.
package struct RemoteName: Hashable, Sendable, Comparable, CustomStringConvertible {
    /// The longest segment, in bytes.
    package static let segmentByteCountMax = 128
    /// The longest name, in bytes.
    package static let byteCountMax = 512
    /// The maximum number of segments in a name.
    package static let segmentCountMax = 8

    /// The name as the remote has it.
    package let text: String

    /// Checks a name; nil if it is invalid.
    package init?(_ text: String) {
        guard text.utf8.count <= Self.byteCountMax else { return nil }
        let segments = text.utf8.split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false)
        guard segments.count <= Self.segmentCountMax,
            segments.allSatisfy({ Self.isSegment(String(Substring($0))) })
        else { return nil }
        self.text = text
    }

    init(checked text: String) {
        self.text = text
    }

    /// Whether a text can be one segment of a name.
    package static func isSegment(_ text: String) -> Bool {
        let bytes = text.utf8
        guard let first = bytes.first, let last = bytes.last, bytes.count <= segmentByteCountMax,
            first != UInt8(ascii: "."), last != UInt8(ascii: ".")
        else { return false }
        return bytes.allSatisfy(isAllowed) && !text.contains(".sync-conflict-")
    }

    private static func isAllowed(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "0")...UInt8(ascii: "9"): true
        case UInt8(ascii: "."), UInt8(ascii: "_"), UInt8(ascii: "-"): true
        default: false
        }
    }

    /// The parts of the name.
    package var segments: [Substring] { text.split(separator: "/") }

    /// The prefix up to the last "/".
    package var parent: RemotePrefix {
        guard let slash = text.lastIndex(of: "/") else { return .all }
        return RemotePrefix(checked: String(text[...slash]))
    }

    /// The part after the last "/".
    package var last: String { segments.last.map(String.init) ?? text }

    package var description: String { text }

    package static func < (left: Self, right: Self) -> Bool { left.text < right.text }
}

/// The beginning of names: whole segments, each followed by "/"; the empty prefix begins all names.
package struct RemotePrefix: Hashable, Sendable, CustomStringConvertible {
    /// The prefix of all names.
    package static let all = RemotePrefix(checked: "")

    /// Empty, or ends with "/".
    package let text: String

    /// Checks a prefix; nil if no name can begin with it.
    package init?(_ text: String) {
        if !text.isEmpty {
            guard text.hasSuffix("/"), let name = RemoteName(String(text.dropLast())),
                name.segments.count < RemoteName.segmentCountMax
            else { return nil }
        }
        self.text = text
    }

    init(checked text: String) {
        self.text = text
    }

    /// The parts of the prefix.
    package var segments: [Substring] { text.split(separator: "/") }

    /// Whether a name begins with it.
    package func contains(_ name: RemoteName) -> Bool { name.text.hasPrefix(text) }

    /// Whether every name with the other prefix also has this one.
    package func contains(_ other: RemotePrefix) -> Bool { other.text.hasPrefix(text) }

    /// The prefix, one segment longer; nil if the segment is invalid, or no name is that deep.
    package func appending(_ segment: String) -> RemotePrefix? { RemotePrefix("\(text)\(segment)/") }

    /// The name of one more segment below this prefix; nil if it is invalid.
    package func name(_ segment: String) -> RemoteName? { RemoteName(text + segment) }

    package var description: String { text }
}
