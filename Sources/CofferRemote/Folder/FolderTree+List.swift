internal import CofferSystem

extension FolderTree {
    /// The maximum number of entries in a page.
    static var pageEntryCountMax: Int { 1000 }

    func list(_ prefix: RemotePrefix, after: RemoteName?) throws(RemoteError) -> RemotePage {
        let root = try openRoot()
        if prefix.segments.count >= 2 { try checkVault(prefix.segments, in: root) }
        var listing = FolderListing(after: after, entryCountMax: Self.pageEntryCountMax)
        if listing.mayHave(prefix), let directory = try open(prefix, in: root) {
            try reading { () throws(SystemError) in _ = try listing.walk(directory, prefix) }
        }
        return RemotePage(
            entries: listing.entries, next: listing.isFull ? listing.entries.last?.name : nil)
    }
}

/// One page of a listing, made by walking the directories in the order of names.
///
/// Directories list their names in no particular order, and may have millions. Each directory is read in
/// passes, and each pass takes a batch of the smallest remaining names. So memory is bounded by the batch,
/// and a page costs one pass.
struct FolderListing {
    private let after: RemoteName?
    private let entryCountMax: Int
    private(set) var entries: [RemotePage.Entry] = []
    /// Whether more names follow the page.
    private(set) var isFull = false

    init(after: RemoteName?, entryCountMax: Int) {
        self.after = after
        self.entryCountMax = entryCountMax
    }

    /// Whether any name that begins with the prefix can follow `after`.
    func mayHave(_ prefix: RemotePrefix) -> Bool {
        guard let after else { return true }
        return prefix.contains(after) || prefix.text > after.text
    }

    /// Adds the contents of a directory; returns whether there is room for more.
    mutating func walk(_ directory: OpenDirectory, _ prefix: RemotePrefix) throws(SystemError) -> Bool {
        // The part of `after` inside this directory. If `after` is elsewhere, all names here follow it.
        let rest = after.flatMap { prefix.contains($0) ? $0.text.dropFirst(prefix.text.count) : nil }
        var bound = rest.map(String.init) ?? ""
        var isFirst = true
        while true {
            let batch = try Self.smallest(entryCountMax + 1, in: directory, prefix) { key in
                key > bound || (isFirst && key.hasSuffix("/") && bound.hasPrefix(key))
            }
            for key in batch where try !add(key, directory, prefix) { return false }
            guard batch.count > entryCountMax, let last = batch.last else { return true }
            bound = last
            isFirst = false
        }
    }

    /// Adds a file, or, if the key ends with "/", the contents of a directory.
    private mutating func add(
        _ key: String, _ directory: OpenDirectory, _ prefix: RemotePrefix
    ) throws(SystemError) -> Bool {
        do throws(SystemError) {
            if key.hasSuffix("/") {
                let name = String(key.dropLast())
                guard let inner = prefix.appending(name) else { return true }
                return try walk(try directory.subdirectory(name), inner)
            }
            guard let name = prefix.name(key), let status = try directory.status(of: key),
                status.kind == .regular
            else { return true }
            if entries.count == entryCountMax {
                isFull = true
                return false
            }
            entries.append(RemotePage.Entry(name: name, byteCount: status.byteCount))
            return true
        } catch {
            // It was deleted, or replaced by something else, since the directory was read.
            if error.isMissing || error.isNotDirectory { return true }
            throw error
        }
    }

    /// The smallest wanted keys: the names of files, and the names of directories followed by "/".
    ///
    /// The "/" sorts a directory as the names of the objects in it sort.
    private static func smallest(
        _ count: Int, in directory: OpenDirectory, _ prefix: RemotePrefix, where isWanted: (String) -> Bool
    ) throws(SystemError) -> [String] {
        var keys: [String] = []
        try directory.forEach { entry throws(SystemError) in
            guard RemoteName.isSegment(entry.name) else { return true }
            let said = entry.kind == nil ? try directory.status(of: entry.name)?.kind : entry.kind
            guard let kind = said,
                kind == .regular || kind == .directory
            else { return true }
            let key = kind == .directory ? entry.name + "/" : entry.name
            guard isWanted(key) else { return true }
            keys.append(key)
            if keys.count >= 4 * count {
                keys.sort()
                keys.removeSubrange(count...)
            }
            return true
        }
        keys.sort()
        return Array(keys.prefix(count))
    }
}
