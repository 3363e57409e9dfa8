/// One page of a listing, made by walking the directories in the order of names.
///
/// A server lists a directory in no particular order, and only as a whole. So each page reads again the
/// directories that it is in, and keeps the smallest names that follow.
struct SFTPListing {
    /// The number of entries in a page.
    static let entryCountMax = 10_000

    private struct Member {
        /// The name of a file, or that of a directory followed by "/", which sorts it as the objects in it.
        let key: String
        let attributes: SFTPAttributes
    }

    private let files: SFTPFiles
    private let after: RemoteName?
    private let entryCountMax: Int
    private var directoryCount = 0
    private var nameCount = 0
    private(set) var entries: [RemotePage.Entry] = []
    /// When each entry was last changed, as far as the server says so.
    private(set) var times: [Int64] = []
    /// Whether more names follow the page.
    private(set) var isFull = false
    /// Whether a directory was gone by the time at which it was to be read.
    private(set) var isIncomplete = false

    init(_ files: SFTPFiles, after: RemoteName?, entryCountMax: Int = Self.entryCountMax) {
        self.files = files
        self.after = after
        self.entryCountMax = entryCountMax
    }

    /// Adds the contents of a prefix; returns whether there is room for more.
    @discardableResult
    mutating func walk(_ prefix: RemotePrefix) throws(RemoteError) -> Bool {
        if let after, !prefix.contains(after), prefix.text < after.text { return true }
        let rest = after.flatMap { prefix.contains($0) ? $0.text.dropFirst(prefix.text.count) : nil }
        var bound = rest.map(String.init) ?? ""
        var isFirst = true
        while true {
            let batch = try smallest(in: prefix) { key in
                key > bound || (isFirst && key.hasSuffix("/") && bound.hasPrefix(key))
            }
            for member in batch where try !add(member, prefix) { return false }
            guard batch.count > entryCountMax, let last = batch.last?.key else { return true }
            bound = last
            isFirst = false
        }
    }

    /// Adds a file, or the contents of a directory.
    private mutating func add(_ member: Member, _ prefix: RemotePrefix) throws(RemoteError) -> Bool {
        if member.key.hasSuffix("/") {
            guard let inner = prefix.appending(String(member.key.dropLast())) else { return true }
            return try walk(inner)
        }
        guard let name = prefix.name(member.key), let byteCount = member.attributes.byteCount else {
            return true
        }
        if entries.count == entryCountMax {
            isFull = true
            return false
        }
        entries.append(RemotePage.Entry(name: name, byteCount: byteCount))
        times.append(member.attributes.modified ?? 0)
        return true
    }

    /// The members of a directory with the smallest wanted keys.
    private mutating func smallest(
        in prefix: RemotePrefix, where isWanted: (String) -> Bool
    ) throws(RemoteError) -> [Member] {
        directoryCount += 1
        let server = files.session.server
        guard directoryCount <= server.directoryCountMax, nameCount <= 2 * server.nameCountMax else {
            throw .failed("\(files.path(prefix.text)) has more names than any vault")
        }
        var count = 0
        defer { nameCount += count }
        let countMax = entryCountMax + 1
        var members: [Member] = []
        func prune() {
            members.sort { $0.key < $1.key }
            // A server that lists a name twice is not believed twice.
            var last: String?
            members.removeAll { member in
                defer { last = member.key }
                return member.key == last
            }
            members.removeSubrange(min(countMax, members.count)...)
        }
        let isThere = try files.forEachEntry(in: String(prefix.text.dropLast())) {
            entry throws(RemoteError) in
            count += 1
            guard RemoteName.isSegment(entry.name) else { return true }
            var attributes = entry.attributes
            if attributes.kind == nil || attributes.byteCount == nil {
                guard let status = try files.linkStatus(prefix.text + entry.name) else { return true }
                attributes = status
            }
            guard let kind = attributes.kind, kind != .other else { return true }
            let key = kind == .directory ? entry.name + "/" : entry.name
            guard isWanted(key) else { return true }
            members.append(Member(key: key, attributes: attributes))
            if members.count / 4 >= countMax { prune() }
            return true
        }
        if !isThere { isIncomplete = true }
        prune()
        return members
    }
}

extension SFTPFiles {
    /// Passes what is in a directory to `body`, until that returns false; returns false if there is no directory.
    ///
    /// - Throws: `.failed` if it vanishes meanwhile, as a part is not all of it.
    func forEachEntry(
        in directory: String, _ body: (SFTPEntry) throws(RemoteError) -> Bool
    ) throws(RemoteError) -> Bool {
        let handle: SFTPHandle
        do throws(RemoteError) { handle = try openDirectory(directory) } catch {
            if error == .absent { return false }
            // A file is no directory; OpenSSH calls that absent, and others say it in words.
            guard case .failed = error, let kind = try linkStatus(directory)?.kind, kind != .directory else {
                throw error
            }
            return false
        }
        defer { discard(handle) }
        var count = 0
        while true {
            switch try ask(.readDirectory(handle)) {
            case .names(let entries):
                count += entries.count
                guard !entries.isEmpty else { throw unexpected }
                guard count <= session.server.nameCountMax else {
                    throw .failed("\(path(directory)) has more than \(session.server.nameCountMax) names")
                }
                for entry in entries where try !body(entry) { return true }
            case .status(let status):
                if status.code == SFTPStatus.end { return true }
                let error = error(status) ?? unexpected
                throw error == .absent ? .failed("\(path(directory)) vanished while it was listed") : error
            default: throw unexpected
            }
        }
    }
}

extension SFTPTree {
    func list(
        _ prefix: RemotePrefix, after: RemoteName?, _ call: SFTPCall
    ) throws(RemoteError) -> RemotePage {
        let files = try files(call)
        let format = RemoteName.vaultFormat(prefix.segments)
        try checkVault(format, files)
        var listing = SFTPListing(files, after: after)
        try listing.walk(prefix)
        try check(listing, format, files)
        return RemotePage(
            entries: listing.entries, next: listing.isFull ? listing.entries.last?.name : nil)
    }

    /// How many objects a look for changes considers.
    private static var digestEntryCountMax: Int { 50_000 }

    /// A hash of what is below a prefix.
    func digest(_ prefix: RemotePrefix, _ call: SFTPCall) throws(RemoteError) -> [UInt8] {
        let files = try files(call)
        var listing = SFTPListing(files, after: nil, entryCountMax: Self.digestEntryCountMax)
        try listing.walk(prefix)
        try check(listing, RemoteName.vaultFormat(prefix.segments), files)
        var digest = ListingDigest()
        for (entry, time) in zip(listing.entries, listing.times) {
            digest.add(entry.name, byteCount: entry.byteCount, tag: "\(time)")
        }
        return digest.finish()
    }

    /// Looks again whether all is there, if a directory was missing: perhaps the server's disk is.
    private func check(
        _ listing: SFTPListing, _ format: RemoteName?, _ files: SFTPFiles
    ) throws(RemoteError) {
        guard listing.isIncomplete else { return }
        if let format { return try checkVault(format, again: true, files) }
        guard try files.linkStatus("") != nil else {
            throw .unreachable("there is no directory \(files.root) on \(files.session.server.name)")
        }
    }
}
