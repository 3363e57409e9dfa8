internal import CFilesystemCalls
internal import Glibc

/// A short digest of bytes: their number and a hash (FNV-1a).
func digest(_ bytes: [UInt8]) -> String {
    "\(bytes.count) bytes, hash \(String(hash_bytes(bytes, bytes.count), radix: 16))"
}

/// Times before this are set explicitly by random operations, later ones are set by the clock.
private let clockStart: Int64 = 1_200_000_000

/// What must be equal in both directories, as text; sizes and links of directories may differ, and whether
/// use of a fifo changes its times.
func summary(_ status: FileStatus) -> String {
    let isByClock = status.modified.seconds >= clockStart || status.kind == S_IFIFO
    let time = isByClock ? "of the clock" : "\(status.modified)"
    let common =
        "type \(String(status.kind, radix: 8)), mode \(String(status.permissions, radix: 8)), "
        + "owner \(status.owner), group \(status.group), modified \(time)"
    return status.kind == S_IFDIR ? common : common + ", size \(status.size), links \(status.links)"
}

/// Compares two trees name by name.
struct TreeComparison {
    let reference: Sandbox
    let subject: Sandbox

    /// The first difference at or below a name; nil when there is none.
    func difference(at name: String = "") -> String? {
        do {
            return try findDifference(name)
        } catch {
            return "\(name): cannot be compared: \(error)"
        }
    }

    private func findDifference(_ name: String) throws -> String? {
        let status = try reference.linkStatus(name)
        let other = try subject.linkStatus(name)
        if !name.isEmpty, let found = differing(name, "status", summary(status), summary(other)) {
            return found
        }
        if let found = try attributeDifference(name, status) { return found }
        switch status.kind {
        case S_IFREG: return try contentsDifference(name)
        case S_IFLNK:
            return differing(name, "target", try reference.readLink(name), try subject.readLink(name))
        case S_IFDIR: return try directoryDifference(name, status, other)
        default: return nil
        }
    }

    private func directoryDifference(_ name: String, _ status: FileStatus, _ other: FileStatus) throws
        -> String?
    {
        let names = try reference.names(name)
        if let found = differing(name, "names", "\(names)", "\(try subject.names(name))") { return found }
        // One link means that a filesystem does not count subdirectories.
        if status.links > 1, other.links > 1,
            let found = differing(name, "links", "\(status.links)", "\(other.links)")
        {
            return found
        }
        for child in names {
            if let found = try findDifference(name.isEmpty ? child : "\(name)/\(child)") { return found }
        }
        return nil
    }

    private func attributeDifference(_ name: String, _ status: FileStatus) throws -> String? {
        guard status.kind == S_IFREG || status.kind == S_IFDIR else { return nil }
        let (attributes, others) = (userAttributes(reference, name), userAttributes(subject, name))
        if let found = differing(name, "attributes", "\(attributes)", "\(others)") { return found }
        for attribute in attributes {
            let value = try reference.attribute(name, attribute)
            let other = try subject.attribute(name, attribute)
            if let found = differing(name, attribute, digest(value), digest(other)) { return found }
        }
        return nil
    }

    /// Empty if the filesystem has no attributes at all: setting one would have failed before.
    private func userAttributes(_ box: Sandbox, _ name: String) -> [String] {
        (try? box.userAttributes(name)) ?? []
    }

    private func contentsDifference(_ name: String) throws -> String? {
        let bytes = try reference.contents(name)
        let others = try subject.contents(name)
        guard bytes != others else { return nil }
        let offset = zip(bytes, others).enumerated().first { $0.element.0 != $0.element.1 }?.offset
        let first = offset ?? min(bytes.count, others.count)
        return "\(name): contents differ from byte \(first) of \(bytes.count) and \(others.count)"
    }

    private func differing(_ name: String, _ what: String, _ first: String, _ second: String) -> String? {
        first == second ? nil : "\(name): \(what): reference \(first), subject \(second)"
    }
}
