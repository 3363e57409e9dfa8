/// The name of an object on a remote: segments of a-z, 0-9, ".", "_" and "-", with "/" between them.
///
/// Every kind of storage takes these names as they are: a file system that folds case or strips dots at the end, a
/// URL, a shell. A segment begins with a letter, a digit, "_" or "-", has 1 to 128 bytes, and does not end with ".";
/// a name has 1 to 8 segments and up to 512 bytes. What begins with "." is left to file systems and to other tools
/// (".syncthing.….tmp", ".nfs0001"), and so is ".sync-conflict-". No name may be the beginning of another, up to a
/// "/" of that one. Names are ordered by their bytes.
package struct RemoteName: Hashable, Sendable, Comparable, CustomStringConvertible {
    /// Bytes in a segment at most.
    package static let segmentByteCountMax = 128
    /// Bytes in a name at most.
    package static let byteCountMax = 512
    /// Segments in a name at most.
    package static let segmentCountMax = 8

    /// The name as the remote has it.
    package let text: String

    /// Checks a name; nil if it is none.
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

    /// The name's parts.
    package var segments: [Substring] { text.split(separator: "/") }

    /// The prefix up to the last "/".
    package var parent: RemotePrefix {
        guard let slash = text.lastIndex(of: "/") else { return .all }
        return RemotePrefix(checked: String(text[...slash]))
    }

    /// What follows the last "/".
    package var last: String { segments.last.map(String.init) ?? text }

    package var description: String { text }

    package static func < (left: Self, right: Self) -> Bool { left.text < right.text }
}

/// The beginning of names: whole segments, each with its "/"; or nothing, with which all names begin.
package struct RemotePrefix: Hashable, Sendable, CustomStringConvertible {
    /// Of all names.
    package static let all = RemotePrefix(checked: "")

    /// Empty, or with "/" at its end.
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

    /// The prefix's parts.
    package var segments: [Substring] { text.split(separator: "/") }

    /// Whether a name begins with it.
    package func contains(_ name: RemoteName) -> Bool { name.text.hasPrefix(text) }

    /// Whether all names that begin with the other begin with this one.
    package func contains(_ other: RemotePrefix) -> Bool { other.text.hasPrefix(text) }

    /// The prefix one segment longer; nil where no name is so deep, or it is no segment.
    package func appending(_ segment: String) -> RemotePrefix? { RemotePrefix("\(text)\(segment)/") }

    /// The name of one segment more.
    package func name(_ segment: String) -> RemoteName? { RemoteName(text + segment) }

    package var description: String { text }
}
