package import CofferFormat
internal import CofferStore
internal import CofferSystem

extension History {
    /// Whose change something is.
    ///
    /// What is not recorded is a change by this device.
    package enum Author: Hashable, Sendable {
        case thisDevice
        /// Another device, by its log.
        case device(LogID)

        /// For changes that several devices, or nobody knows which, may have made.
        package static let unknown = Author.device(LogID(low: 0, high: 0))

        init(_ log: LogID?) {
            self = log.map { .device($0) } ?? .thisDevice
        }

        var log: LogID? {
            switch self {
            case .thisDevice: nil
            case .device(let log): log
            }
        }
    }
}

// Who changes what. Only what other devices do is recorded, and what this one does to the same items.
extension ItemTree {
    /// Makes the changes from now on those of another device; call it before the first one, and `endActing` after the last.
    mutating func beginActing(as author: History.Author) throws(FileSystemError) {
        guard history != nil else { return }
        // What is not stored yet is this device's.
        try storeItems()
        history?.author = author
    }

    /// Makes the changes from now on those of this device.
    mutating func endActing() throws(FileSystemError) {
        guard history != nil else { return }
        try storeItems()
        history?.author = .thisDevice
    }

    /// Notes that the present author changes an item that there was at the moment, or is newer.
    ///
    /// - Parameter isFirst: Whether nobody has changed the item in the moment's time until now.
    mutating func noteAuthor(
        of item: Int64, in moment: MomentRow, isFirst: Bool, isCreation: Bool = false
    ) throws(FileSystemError) {
        guard let recorder = history else { return }
        let known = recorder.authors[item]
        if recorder.author == .thisDevice, known == nil { return }
        if known?.contains(recorder.author) == true { return }
        // What is done to an item that had lost its last name is no change that anybody sees.
        if let known, !known.isEmpty, recorder.author == .thisDevice, try isNameless(item) { return }
        if known == nil, !isFirst { try record(.thisDevice, of: item, in: moment, isCreation: false) }
        try record(recorder.author, of: item, in: moment, isCreation: isCreation)
    }

    /// Notes who has changed an item of which another one is a new version from now on.
    ///
    /// An item that is newer than the moment leaves nothing behind. Without this, what others put into it would count as
    /// the work of whoever replaced it.
    mutating func passAuthors(of item: Int64, to version: Int64) throws(FileSystemError) {
        guard let recorder = history, !recorder.isDue, let moment = recorder.moment, item >= moment.nextItem
        else {
            return
        }
        for author in recorder.authors[item] ?? [] {
            try record(author, of: version, in: moment, isCreation: true)
        }
    }

    /// Whether an item has no name, and had none at the last time that it was stored.
    private func isNameless(_ item: Int64) throws(FileSystemError) -> Bool {
        guard try index.item(item).map({ $0.links == 0 }) ?? true else { return false }
        return try row(item).map { $0.links == 0 } ?? true
    }

    private mutating func record(
        _ author: History.Author, of item: Int64, in moment: MomentRow, isCreation: Bool
    ) throws(FileSystemError) {
        try index.insert(
            AuthorRow(moment: moment.number, item: item, log: author.log, isCreation: isCreation))
        history?.authors[item, default: []].insert(author)
    }
}
