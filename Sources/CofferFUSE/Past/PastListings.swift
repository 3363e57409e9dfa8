internal import CofferVault

/// The directories of past states that programs list, since a listing takes many requests.
///
/// Those that were used last stay, up to a number of entries in all; at least one stays.
struct PastListings {
    /// The largest number of directories.
    static let countMax = 64
    /// The largest number of entries of several directories.
    static let entryCountMax = 500_000

    /// What a directory has, in the order of reading.
    enum Listing {
        case items([HistoryView.Entry])
        case states([NamedState])

        var count: Int {
            switch self {
            case .items(let items): items.count
            case .states(let states): states.count
            }
        }
    }

    /// A name in the list of states.
    struct NamedState {
        let name: [UInt8]
        let state: History.State
        /// The place in the order of reading.
        let cookie: Int64
    }

    private var listings: [Node: Listing] = [:]
    /// The directories, the one that was used last at the end.
    private var order: [Node] = []
    /// The number of entries of all of them.
    private(set) var entryCount = 0

    /// The number of directories.
    var count: Int { listings.count }

    /// What a directory has, if that is known.
    mutating func use(_ directory: Node) -> Listing? {
        guard let listing = listings[directory] else { return nil }
        order.removeAll { $0 == directory }
        order.append(directory)
        return listing
    }

    /// Adds a directory, in the place of those that were used the longest time ago.
    mutating func add(_ listing: Listing, of directory: Node) {
        remove(directory)
        listings[directory] = listing
        order.append(directory)
        entryCount += listing.count
        while order.count > 1, entryCount > Self.entryCountMax || order.count > Self.countMax {
            remove(order[0])
        }
    }

    /// Drops a directory, as when a program has read all of it.
    mutating func remove(_ directory: Node) {
        guard let listing = listings.removeValue(forKey: directory) else { return }
        entryCount -= listing.count
        order.removeAll { $0 == directory }
    }

    /// Drops the directories of a state.
    mutating func removeAll(in slot: UInt16) {
        for directory in order where directory.slot == slot { remove(directory) }
    }
}
