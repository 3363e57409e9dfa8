internal import CofferFormat
internal import CofferSystem
internal import CofferVault

/// The trash of all vaults as one folder, `.Trash-UID`, at the top of the mount.
///
/// Programs look for the trash of a file at the top of its file system (freedesktop.org trash specification), which they
/// know by its device number; a mount has one. But a file must not leave its vault, so each vault keeps a trash of its
/// own, of the same form. This folder shows them together, and moves each item into the trash of its own vault. The
/// folder belongs to the user who mounted; there is none for others.
///
/// All but reads of info files use one thread (`Session.trashThread`), as an operation takes several steps in a vault.
struct TrashFolder: Sendable {
    /// The directories in a trash.
    enum Part: String, CaseIterable {
        case files, info
        /// Where GNOME moves what it is about to delete; the specification does not know it.
        case expunged

        var name: [UInt8] { Array(rawValue.utf8) }

        /// The directory of the folder.
        var node: Node {
            switch self {
            case .files: .trashFiles
            case .info: .trashInfos
            case .expunged: .trashExpunged
            }
        }

        /// The part with a directory of the folder; nil for other nodes.
        init?(_ node: Node) {
            guard let part = Part.allCases.first(where: { $0.node == node }) else { return nil }
            self = part
        }

        /// The part with a name.
        init?(named name: [UInt8]) { self.init(rawValue: String(decoding: name, as: UTF8.self)) }
    }

    let root: any VaultDirectory
    let notifier: Notifier
    let drafts: TrashDrafts
    /// The name of the folder, and of each vault's trash.
    let name: [UInt8]

    init(_ root: any VaultDirectory, _ notifier: Notifier) {
        self.root = root
        self.notifier = notifier
        drafts = TrashDrafts(owner: root.owner)
        name = Array(".Trash-\(root.owner.user)".utf8)
    }

    // MARK: The trash of a vault

    /// The directories of a vault's trash that are the user's.
    struct Place {
        let mounted: MountedVault
        let directories: [Part: Int64]

        var slot: UInt16 { mounted.slot }
    }

    /// The trash of each vault that has one and can be read, ordered by slot.
    func places() -> [Place] {
        root.vaults.compactMap { mounted in
            guard mounted.slot < Node.firstPastSlot, let trash = item([name], in: mounted), isOwn(trash)
            else { return nil }
            var directories: [Part: Int64] = [:]
            for part in Part.allCases {
                guard let directory = item([name, part.name], in: mounted), isOwn(directory) else { continue }
                directories[part] = directory.number
            }
            return Place(mounted: mounted, directories: directories)
        }
    }

    private func isOwn(_ attributes: Attributes) -> Bool {
        attributes.type == .directory && attributes.user == root.owner.user
    }

    /// What a path in a vault leads to; nil if it leads nowhere, or cannot be followed.
    ///
    /// To the vault, this is no lookup by a program.
    private func item(_ path: [[UInt8]], in mounted: MountedVault) -> Attributes? {
        let path = Array(path.joined(separator: [UInt8(ascii: "/")]))
        guard let number = try? mounted.vault.number(atPath: path) else { return nil }
        return try? mounted.vault.attributes(of: number)
    }

    private func item(_ name: [UInt8], _ part: Part, of place: Place) -> Attributes? {
        place.directories[part] == nil ? nil : item([self.name, part.name, name], in: place.mounted)
    }

    // MARK: Names

    /// The name of a trashed item to which a name in a part belongs; nil for a file in `info` that is no info file.
    static func base(_ name: [UInt8], _ part: Part) -> [UInt8]? {
        guard part == .info else { return name }
        let suffix = TrashInfo.suffix
        return name.count > suffix.count && name.suffix(suffix.count).elementsEqual(suffix)
            ? Array(name.dropLast(suffix.count)) : nil
    }

    private static func name(of base: [UInt8], _ part: Part) -> [UInt8] {
        part == .info ? base + TrashInfo.suffix : base
    }

    /// Whether a vault's trash has a name; an item and its info file have one name.
    private func has(_ base: [UInt8], _ part: Part, _ place: Place) -> Bool {
        if part == .expunged { return item(base, part, of: place) != nil }
        return item(base, .files, of: place) != nil
            || item(Self.name(of: base, .info), .info, of: place) != nil
    }

    /// What the names of trashed items end with if several vaults have them.
    private static func mark(_ place: Place) -> [UInt8] { Array(" (\(place.mounted.name))".utf8) }

    /// The vaults whose trash has an item with a name, as programs see it, and its name there.
    ///
    /// With the mark of a vault, a name leads to this vault alone.
    private func holders(of base: [UInt8], _ part: Part) -> (base: [UInt8], places: [Place]) {
        let places = places()
        let exact = places.filter { has(base, part, $0) }
        if !exact.isEmpty { return (base, exact) }
        for place in places {
            let mark = Self.mark(place)
            guard base.count > mark.count, base.suffix(mark.count).elementsEqual(mark) else { continue }
            let base = Array(base.dropLast(mark.count))
            if has(base, part, place) { return (base, [place]) }
        }
        return (base, [])
    }

    /// Refuses a name that leads to something in the trash of any vault.
    ///
    /// - Parameter slot: The slot of a vault whose trash may have it.
    func checkFree(_ base: [UInt8], _ part: Part, except slot: UInt16? = nil) throws(FileSystemError) {
        if holders(of: base, part).places.contains(where: { $0.slot != slot }) { throw .alreadyExists }
    }

    /// An item in the trash of a vault.
    struct Found {
        let mounted: MountedVault
        let directory: Int64
        /// The name in the directory.
        let name: [UInt8]
        let attributes: Attributes

        var node: Node { Node(slot: mounted.slot, item: attributes.number) }
    }

    /// What a name in a part of the folder leads to.
    ///
    /// - Throws: `.notFound`, also if it could be an item of several vaults: then only a name with a mark leads to one.
    func find(_ name: [UInt8], _ part: Part) throws(FileSystemError) -> Found {
        guard name.count <= Vault.nameByteCountMax else { throw .nameTooLong }
        guard let base = Self.base(name, part) else { throw .notFound }
        let holders = holders(of: base, part)
        let keptName = Self.name(of: holders.base, part)
        guard holders.places.count == 1, let directory = holders.places[0].directories[part],
            let attributes = item(keptName, part, of: holders.places[0])
        else { throw .notFound }
        return Found(
            mounted: holders.places[0].mounted, directory: directory, name: keptName, attributes: attributes)
    }

    /// The names in a part of a vault's trash after a cookie, as the folder shows them.
    func entries(
        _ part: Part, of place: Place, among places: [Place], after cookie: Int64, limit: Int
    ) throws(FileSystemError) -> [Vault.Entry] {
        guard let directory = place.directories[part] else { return [] }
        let others = places.filter { $0.slot != place.slot }
        var shown: [Vault.Entry] = []
        var cookie = cookie
        while shown.count < limit {
            let batch = try place.mounted.vault.readDirectory(
                directory, after: cookie, limit: limit, attributes: false)
            for entry in batch where ![[46], [46, 46]].contains(entry.name) {
                guard let base = Self.base(entry.name, part) else { continue }
                let isShared = others.contains { has(base, part, $0) }
                shown.append(
                    Vault.Entry(
                        name: Self.name(of: isShared ? base + Self.mark(place) : base, part),
                        item: entry.item,
                        type: part == .info ? FileType.regular.rawValue : entry.type, cookie: entry.cookie,
                        attributes: nil))
            }
            guard let last = batch.last else { break }
            cookie = last.cookie
        }
        return shown
    }

    // MARK: Info files

    /// The attributes of an info file that an item keeps; does not depend on the content, which may be on a remote.
    func infoAttributes(_ item: Int64, in slot: UInt16) throws(FileSystemError) -> Attributes {
        guard let mounted = root.vault(slot: slot) else { throw .stale }
        var attributes = try mounted.vault.attributes(of: item)
        let isReadable = attributes.type == .regular && attributes.size <= TrashInfo.byteCountMax
        attributes.number = Node.info(of: item, in: slot).item
        attributes.size = Int64(
            TrashInfo.shownByteCount(
                kept: isReadable ? attributes.size : nil, item: item, vault: Array(mounted.name.utf8)))
        // Nothing can be written to what is made from another text.
        attributes.mode = FileType.regular.modeBits | attributes.mode & 0o444
        return attributes
    }

    /// What programs see of an info file that an item keeps; may wait for the remote.
    func infoText(_ item: Int64, in slot: UInt16) throws(FileSystemError) -> [UInt8] {
        guard let mounted = root.vault(slot: slot) else { throw .stale }
        let (vault, limit) = (Array(mounted.name.utf8), TrashInfo.byteCountMax)
        let attributes = try mounted.vault.attributes(of: item)
        guard attributes.type == .regular, attributes.size <= limit else {
            return TrashInfo.fallback(for: item, vault)
        }
        let buffer = AlignedBuffer(count: limit)
        let count = try mounted.vault.contents.read(item, at: 0, count: limit, into: buffer)
        return TrashInfo.shown(buffer.withBytes(0..<count) { $0.array }, item: item, vault: vault)
    }

    /// Tells states of an info file apart, as the kernel keeps the size and the bytes of a file that it knows.
    func generation(of node: Node, _ attributes: Attributes) -> UInt64 {
        guard node.infoItem != nil, let mounted = root.vault(slot: node.slot) else {
            return StatusRecord.generation
        }
        return mounted.name.utf8.reduce(1) { $0 &* 31 &+ UInt64($1) }
            ^ UInt64(bitPattern: attributes.modified) ^ UInt64(bitPattern: attributes.size)
    }

    // MARK: The kernel

    /// Makes the kernel look a name in a vault up again, as it has changed behind the kernel's back.
    func forget(_ name: [UInt8], in directory: Int64, of mounted: MountedVault) {
        notifier.enqueueAtOnce(.entry(Vault.Name(name, in: directory)), in: mounted.vault, mounted.slot)
    }

    /// Makes the kernel look a name in a part of the folder up again.
    ///
    /// A rename keeps the lifetime that the kernel gave the item's name in the vault, and that has no end.
    func forgetShown(_ name: [UInt8], _ part: Part, of mounted: MountedVault) {
        notifier.enqueueAtOnce(
            .entry(Vault.Name(name, in: part.node.item)), in: mounted.vault, part.node.slot)
    }
}
