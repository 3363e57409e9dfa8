/// What a manifest says about one file.
struct DurableFile: Equatable {
    /// The generations that one page may have.
    struct Page: Equatable {
        var durable: UInt64
        var latest: UInt64
    }

    let file: UInt64
    /// The size that is durable.
    var size: Int
    var pages: [Page]

    init(file: UInt64, generation: UInt64, size: Int) {
        self.file = file
        self.size = size
        pages = []
        grow(to: size, generation: generation)
    }

    /// Whether pages were overwritten and not made durable since.
    var isScribbled: Bool { pages.contains { $0.durable != $0.latest } }
    var wholePages: Int { size / DurableContent.pageSize }

    mutating func grow(to newSize: Int, generation: UInt64) {
        let count = (newSize + DurableContent.pageSize - 1) / DurableContent.pageSize
        while pages.count < count { pages.append(Page(durable: generation, latest: generation)) }
        size = max(size, newSize)
    }

    mutating func shrink(to newSize: Int) {
        size = newSize
        pages.removeSubrange((newSize + DurableContent.pageSize - 1) / DurableContent.pageSize..<pages.count)
    }

    mutating func overwrite(first: Int, count: Int, generation: UInt64) {
        for index in first..<first + count where pages.indices.contains(index) {
            pages[index].latest = generation
        }
    }

    mutating func synchronise() {
        for index in pages.indices { pages[index].durable = pages[index].latest }
    }
}

/// What must be in the directory after the records of a manifest, and which change may be incomplete.
struct DurableState {
    private(set) var files: [String: DurableFile] = [:]
    /// The change that was announced and not done.
    private(set) var open: ManifestRecord?
    private(set) var done = 0

    mutating func apply(_ record: ManifestRecord) {
        switch record {
        case .done:
            if let open { commit(open) }
            open = nil
            done += 1
        case .scribble(let path, let generation, let first, let count):
            files[path]?.overwrite(first: first, count: count, generation: generation)
        case .overwrite(let path, let generation, let first, let count):
            files[path]?.overwrite(first: first, count: count, generation: generation)
            open = record
        default: open = record
        }
    }

    private mutating func commit(_ record: ManifestRecord) {
        switch record {
        case .create(let path, let file, let generation, let size),
            .replace(let path, let file, let generation, let size):
            files[path] = DurableFile(file: file, generation: generation, size: size)
        case .append(let path, let generation, let size):
            files[path]?.grow(to: size, generation: generation)
            files[path]?.synchronise()
        case .truncate(let path, let size):
            files[path]?.shrink(to: size)
            files[path]?.synchronise()
        case .overwrite(let path, _, _, _), .synchronise(let path): files[path]?.synchronise()
        case .rename(let path, let target): files[target] = files.removeValue(forKey: path)
        case .remove(let path): files[path] = nil
        case .scribble, .done: break
        }
    }
}
