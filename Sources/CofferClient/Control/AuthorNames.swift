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
        /// What its owner calls it.
        let label: String

        /// As text: “Ann on laptop”, “Ann's laptop”.
        var place: String { name.map { LogAuthor.place(label, of: $0) } ?? label }
    }

    private(set) var devices: [Device] = []

    /// Adds a log, or this device.
    mutating func add(_ author: History.Author, _ identity: IdentityID?, _ name: String?, _ label: String) {
        let known = devices.firstIndex {
            $0.identity == identity && $0.name == name && $0.label.hasSameBytes(as: label)
        }
        if let known {
            devices[known].authors.insert(author)
        } else {
            devices.append(Device(authors: [author], identity: identity, name: name, label: label))
        }
    }

    /// What to show for authors, sorted by text.
    func reports(_ authors: Set<History.Author>) -> [AuthorReport] {
        let named = devices.filter { !$0.authors.isDisjoint(with: authors) }
        var reports = named.map {
            AuthorReport(
                text: text($0), name: $0.name, device: $0.label, identity: $0.identity?.description)
        }
        if !authors.isSubset(of: named.reduce(into: Set()) { $0.formUnion($1.authors) }) {
            reports.append(
                AuthorReport(text: "an unknown device", name: nil, device: nil, identity: nil))
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
}

extension ControlHandler {
    /// The people and the devices that have changed a vault, as far as this device knows.
    func authorNames(of mounted: MountedVault) -> AuthorNames {
        let profile = vaults.profile
        var names = AuthorNames()
        let share = try? shared.named(mounted.name)
        names.add(.thisDevice, share?.ownIdentity, profile.name, profile.device)
        var known: Set<LogID> = []
        // Without the state of sync, there are still the labels.
        for log in (try? share?.knownLogs()) ?? [] {
            known.insert(log.author.log)
            names.add(
                .device(log.author.log), log.identity,
                share?.shownName(of: log.identity, log.author.name), log.author.label ?? "an unknown device")
        }
        let labels = (try? mounted.vault.facts.labels()) ?? [:]
        for (log, label) in labels where !known.contains(log) { names.add(.device(log), nil, nil, label) }
        return names
    }
}
