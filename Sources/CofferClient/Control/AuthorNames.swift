internal import CofferFUSE
internal import CofferFormat
internal import CofferSync
internal import CofferVault

/// The people and the devices that have changed a vault.
struct AuthorNames {
    /// A device, with all its logs.
    struct Device {
        /// Who it is in the history.
        var authors: Set<History.Author>
        /// The identity of its owner; nil if that is not known.
        let identity: IdentityID?
        /// The name of its owner; nil if that is not known.
        let name: String?
        /// What its owner calls it; nil if that is not known.
        let label: String?

        /// As text: “Ann on laptop”, “Ann's laptop”.
        var place: String {
            let label = label ?? AuthorNames.unknown
            return name.map { LogAuthor.place(label, of: $0) } ?? label
        }
    }

    /// What stands for a device of which nothing is known.
    private static let unknown = "an unknown device"

    /// The vault.
    let vault: String
    /// The devices; this one comes first.
    private(set) var devices: [Device] = []

    init(vault: String) { self.vault = vault }

    /// Adds a log, or this device.
    ///
    /// - Parameter label: What its owner calls the device; nil if that is not known.
    mutating func add(
        _ author: History.Author, _ identity: IdentityID?, _ name: String?, _ label: String?
    ) {
        let known = devices.firstIndex {
            guard let label, identity != nil, let known = $0.label else { return false }
            return $0.identity == identity && $0.name == name && known.hasSameBytes(as: label)
        }
        if let known {
            devices[known].authors.insert(author)
        } else {
            devices.append(Device(authors: [author], identity: identity, name: name, label: label))
        }
    }

    // MARK: To text

    /// What to show for authors, sorted by text.
    func reports(_ authors: Set<History.Author>) -> [AuthorReport] {
        let named = devices.filter { !$0.authors.isDisjoint(with: authors) }
        var reports = named.map {
            AuthorReport(
                text: text($0), name: $0.name, device: $0.label, identity: $0.identity?.description)
        }
        if !authors.isSubset(of: named.reduce(into: Set()) { $0.formUnion($1.authors) }) {
            reports.append(
                AuthorReport(text: Self.unknown, name: nil, device: nil, identity: nil))
        }
        return reports.sorted { $0.text < $1.text }
    }

    /// A device as text, with its owner's identity if another device has the same text.
    private func text(_ device: Device) -> String {
        let isAlone = devices.count { $0.place.hasSameBytes(as: device.place) } == 1
        return isAlone ? device.place : "\(device.place) (\(Self.text(device.identity)))"
    }

    private static func text(_ identity: IdentityID?) -> String {
        identity.map { "identity \($0.description.prefix(16))" } ?? "identity unknown"
    }

    // MARK: From text

    /// The devices that a text stands for: a device as `reports` shows it, or its label; or a person, by name or by the
    /// beginning of the identity.
    ///
    /// People choose their own names, and the labels of their devices. A text that fits more than one of them stands for
    /// none.
    ///
    /// - Throws: `.noSuchAuthor`, `.ambiguousAuthor`.
    func authors(called text: String) throws(ContentError) -> Set<History.Author> {
        var found: [(authors: Set<History.Author>, text: String)] = []
        func add(_ authors: Set<History.Author>, _ text: String) {
            if !found.contains(where: { $0.authors == authors }) { found.append((authors, text)) }
        }
        for device in devices
        where device.label?.hasSameBytes(as: text) == true
            || self.text(device).hasSameBytes(as: text) && (device.label ?? device.name) != nil
        {
            add(device.authors, self.text(device))
        }
        for (identity, name) in people where MemberChoice(text, among: [(identity, name)]) == .one(0) {
            let authors = devices.filter { $0.identity == identity }.map(\.authors)
            add(
                authors.reduce(into: Set()) { $0.formUnion($1) },
                "\(name ?? "somebody") (\(Self.text(identity)))")
        }
        // A person without an identity, in a vault that only this device has.
        for device in devices
        where device.identity == nil && device.name?.hasSameBytes(as: text) == true {
            add(device.authors, self.text(device))
        }
        switch found.count {
        case 0: throw .noSuchAuthor(name: text, vault: vault, known: devices.map(self.text).sorted())
        case 1: return found[0].authors
        default: throw .ambiguousAuthor(name: text, vault: vault, fitting: found.map(\.text).sorted())
        }
    }

    private var people: [(identity: IdentityID, name: String?)] {
        var people: [(identity: IdentityID, name: String?)] = []
        for device in devices {
            guard let identity = device.identity else { continue }
            // A person may have several names; each of them counts.
            let isKnown = people.contains { $0.identity == identity && $0.name == device.name }
            if !isKnown { people.append((identity, device.name)) }
        }
        return people
    }
}

extension ControlHandler {
    /// The people and the devices that have changed a vault, as far as this device knows.
    func authorNames(of mounted: MountedVault) throws(ClientError) -> AuthorNames {
        let profile = vaults.profile
        var names = AuthorNames(vault: mounted.name)
        let share = try? shared.named(mounted.name)
        names.add(.thisDevice, share?.ownIdentity, profile.name, profile.device)
        var known: Set<LogID> = []
        for log in try share?.knownLogs() ?? [] {
            known.insert(log.author.log)
            names.add(
                .device(log.author.log), log.identity,
                share?.shownName(of: log.identity, log.author.name), log.author.label)
        }
        let labels: [LogID: String]
        do throws(FileSystemError) { labels = try mounted.vault.facts.labels() } catch { throw .vault(error) }
        for (log, label) in labels where !known.contains(log) { names.add(.device(log), nil, nil, label) }
        return names
    }
}
