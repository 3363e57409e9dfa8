internal import CofferFormat
internal import CofferStore
internal import CofferSystem
internal import Glibc

/// Makes items like those of an earlier state, and compares them.
struct PastCopies {
    private static let pieceByteCount = 1 << 20

    let vault: Vault
    private let buffer = AlignedBuffer(count: pieceByteCount)
    private let presentBuffer = AlignedBuffer(count: pieceByteCount)

    init(_ vault: Vault) {
        self.vault = vault
    }

    // MARK: Comparing

    /// Whether an item is as it was, as far as a restore would change it; may fetch contents.
    ///
    /// - Parameter isAwaited: Called often; returns whether the caller still waits.
    /// - Throws: As `HistoryView.read` and `Contents.read`; `.system` if the caller no longer waits.
    func isSame(
        _ past: Attributes, in view: HistoryView, _ present: Attributes, isAwaited: () -> Bool
    ) throws(FileSystemError) -> Bool {
        // No program can set the time of change.
        if past.number == present.number, past.changed == present.changed { return true }
        guard past.hasSameRights(as: present), past.size == present.size, past.modified == present.modified,
            past.links == 1, present.links == 1,
            try hasSameContent(past, in: view, present, isAwaited)
        else { return false }
        return try hasSameExtendedAttributes(past, in: view, present)
    }

    /// Whether the extended attributes of an item are those that it had.
    func hasSameExtendedAttributes(
        _ past: Attributes, in view: HistoryView, _ present: Attributes
    ) throws(FileSystemError) -> Bool {
        var attributes: [[UInt8]: [UInt8]] = [:]
        for (name, value) in try view.extendedAttributes(of: past.number) { attributes[name] = value }
        let others = try vault.reading { state throws(FileSystemError) -> [[UInt8]: [UInt8]] in
            try state.index.attributes(of: present.number).reduce(into: [:]) { others, attribute in
                if ExtendedAttributeName.isKept(attribute.name) { others[attribute.name] = attribute.value }
            }
        }
        return attributes == others
    }

    private func hasSameContent(
        _ past: Attributes, in view: HistoryView, _ present: Attributes, _ isAwaited: () -> Bool
    ) throws(FileSystemError) -> Bool {
        if past.type == .symbolicLink {
            return try view.readLink(past.number) == vault.readLink(present.number)
        }
        guard past.type == .regular else { return past.device == present.device }
        var offset: Int64 = 0
        while offset < past.size {
            if !isAwaited() { throw .system(SystemError("compare", code: EINTR)) }
            let count = try view.read(
                past.number, at: offset, count: Self.pieceByteCount, into: buffer,
                isInterrupted: { !isAwaited() })
            let other = try vault.contents.read(
                present.number, at: offset, count: Self.pieceByteCount, into: presentBuffer)
            guard count == other, count > 0,
                buffer.withBytes(0..<count, { $0.array }) == presentBuffer.withBytes(0..<count, { $0.array })
            else { return false }
            offset += Int64(count)
        }
        return true
    }

    // MARK: Making

    /// Makes an item like a past one, without its content and most of its attributes.
    ///
    /// - Returns: Its number.
    /// - Throws: As `Vault.create`.
    func make(
        _ past: Attributes, in view: HistoryView, named name: [UInt8], in parent: Int64
    ) throws(FileSystemError) -> Int64 {
        var new = Vault.NewItem(mode: past.mode & ~ModeBits.setUser & ~ModeBits.setGroup)
        new.device = past.device
        if past.type == .symbolicLink { new.target = try view.readLink(past.number) }
        return try vault.changeElsewhere { changes throws(FileSystemError) in
            changes.append(.entry(Vault.Name(name, in: parent)))
            return try vault.create(
                new, named: name, in: parent, by: Caller(user: past.user, group: past.group, umask: 0)
            ).number
        }
    }

    /// Writes the content of a past file to one that is empty.
    ///
    /// - Parameter isAwaited: Called often; returns whether the caller still waits.
    /// - Throws: As `HistoryView.read` and `Contents.write`; `.system` if the caller no longer waits.
    func copyContent(
        of past: Attributes, in view: HistoryView, to number: Int64,
        isAwaited: () -> Bool
    ) throws(FileSystemError) {
        var offset: Int64 = 0
        while offset < past.size {
            let count = try view.read(
                past.number, at: offset, count: Self.pieceByteCount, into: buffer,
                isInterrupted: { !isAwaited() })
            if count == 0 { break }
            try buffer.withBytes(0..<count) { bytes throws(FileSystemError) in
                if bytes.array.allSatisfy({ $0 == 0 }) { return }
                try vault.contents.write(
                    bytes, to: number, at: offset, touches: false, dropsPrivileges: false)
            }
            offset += Int64(count)
            if !isAwaited() { throw .system(SystemError("copy", code: EINTR)) }
        }
        var size = AttributeChanges()
        size.size = past.size
        _ = try vault.setAttributes(of: number, size)
    }

    /// Gives an item the owner, the permissions, the extended attributes and the time of a past one.
    func setAttributes(
        of number: Int64, like past: Attributes, in view: HistoryView
    ) throws(FileSystemError) {
        for change in past.rightsChanges { _ = try vault.setAttributes(of: number, change) }
        let attributes = try view.extendedAttributes(of: past.number)
        for name in try vault.extendedAttributeNames(of: number)
        where ExtendedAttributeName.isKept(name) && !attributes.contains(where: { $0.name == name }) {
            try vault.removeExtendedAttribute(name, of: number)
        }
        for (name, value) in attributes {
            try vault.setExtendedAttribute(name, of: number, to: value, .any)
        }
        var times = AttributeChanges()
        times.modified = .at(past.modified)
        _ = try vault.setAttributes(of: number, times)
    }
}
