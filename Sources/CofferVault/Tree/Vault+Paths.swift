package import CofferFormat
internal import CofferStore
internal import CofferSystem

// Paths, and walks through the tree, which take the lock for each step.
extension Vault {
    /// The number of names that are read at a time.
    private static let pageCount = 256

    /// The path of an item inside the vault, by one of its names as of the last commit; for messages.
    ///
    /// Reads all names, but without the vault's lock.
    package func path(of number: Int64) -> String {
        let path = try? state.withLock { state throws(FileSystemError) in try state.index.makeReader() }
            .path(of: number, below: Self.rootNumber)
        guard let path, !path.isEmpty else { return number == Self.rootNumber ? "/" : "item \(number)" }
        return path
    }

    /// The paths of items inside the vault, each by one of its names as of the last commit.
    ///
    /// Reads all names, but without the vault's lock.
    package func paths(of numbers: [Int64]) throws(FileSystemError) -> [Int64: String] {
        let reader = try state.withLock { state throws(FileSystemError) in try state.index.makeReader() }
        return try reader.paths(of: Set(numbers), below: Self.rootNumber)
    }

    /// The number of the item that a path in the vault leads to; symbolic links are not followed.
    ///
    /// - Throws: `.notFound`, `.notDirectory`, `.nameTooLong`.
    package func number(atPath path: [UInt8]) throws(FileSystemError) -> Int64 {
        var number = Self.rootNumber
        for name in path.split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: true) {
            let parent = number
            guard name.count <= Self.nameByteCountMax else { throw .nameTooLong }
            number = try reading { state throws(FileSystemError) in
                try state.tree.lookup(Array(name), in: parent).number
            }
        }
        return number
    }

    /// The regular files among items, and below those that are directories.
    ///
    /// Takes the lock only briefly; may miss items that are moved in the meantime.
    package func files(below numbers: [Int64]) throws(FileSystemError) -> Set<Int64> {
        var files: Set<Int64> = []
        var directories: [Int64] = []
        for number in numbers {
            switch try reading({ state throws(FileSystemError) in try state.tree.row(number) }).flatMap({
                FileType(mode: $0.mode)
            }) {
            case .regular: files.insert(number)
            case .directory: directories.append(number)
            default: continue
            }
        }
        while let directory = directories.popLast(), !upkeep.isStopped {
            var cookie: Int64 = 2
            while true {
                let page = try entries(of: directory, after: cookie)
                for entry in page {
                    switch FileType(rawValue: entry.type) {
                    case .regular: files.insert(entry.item)
                    case .directory: directories.append(entry.item)
                    default: continue
                    }
                }
                guard page.count == Self.pageCount, let last = page.last else { break }
                cookie = last.cookie
            }
        }
        return files
    }

    /// The names of a directory; none if it was removed in the meantime.
    private func entries(of directory: Int64, after cookie: Int64) throws(FileSystemError) -> [Entry] {
        do throws(FileSystemError) {
            return try readDirectory(directory, after: cookie, limit: Self.pageCount, attributes: false)
        } catch {
            switch error {
            case .stale, .notDirectory: return []
            default: throw error
            }
        }
    }
}
