internal import Glibc

extension ManifestWriter {
    private func writeWhole(_ path: String, _ file: UInt64, _ generation: UInt64, _ size: Int) throws {
        let target = try box.open(path, O_CREAT | O_EXCL | O_WRONLY)
        try writeAll(
            target, DurableContent.bytes(file: file, generation: generation, from: 0, to: size), at: 0)
        try target.synchronise()
        try target.close()
    }

    private func writeAll(_ file: Descriptor, _ bytes: [UInt8], at offset: Int) throws {
        var done = 0
        while done < bytes.count { done += try file.write(Array(bytes[done...]), at: Int64(offset + done)) }
    }

    func create(_ path: String) throws {
        let (file, generation, size) = (freshNumber(), freshNumber(), size())
        try record(.create(path: path, file: file, generation: generation, size: size))
        try writeWhole(path, file, generation, size)
        try synchroniseDirectory(of: path)
        try record(.done)
    }

    func replace(_ path: String) throws {
        let (file, generation, size) = (freshNumber(), freshNumber(), size())
        try record(.replace(path: path, file: file, generation: generation, size: size))
        try writeWhole(path + ".tmp", file, generation, size)
        try box.rename(path + ".tmp", path)
        try synchroniseDirectory(of: path)
        try record(.done)
    }

    func append(_ path: String) throws {
        guard let old = state.files[path], old.size < 4 * (load.sizes.last ?? 0) else { return }
        if old.isScribbled { try synchronise(path) }
        let (generation, size) = (
            freshNumber(), old.size + 1 + random.below(random.pick([100, 10_000, 100_000]))
        )
        try record(.append(path: path, generation: generation, size: size))
        let target = try box.open(path, O_WRONLY | O_APPEND)
        var bytes: [UInt8] = []
        var start = old.size
        if start % DurableContent.pageSize != 0, let last = old.pages.last {
            let end = min(size, old.pages.count * DurableContent.pageSize)
            bytes = DurableContent.bytes(file: old.file, generation: last.latest, from: start, to: end)
            start = end
        }
        bytes += DurableContent.bytes(file: old.file, generation: generation, from: start, to: size)
        try writeAll(target, bytes, at: old.size)
        try target.synchronise()
        try record(.done)
    }

    func overwrite(_ path: String, durably: Bool) throws {
        guard let old = state.files[path], old.wholePages > 0 else { return }
        let first = random.below(old.wholePages)
        let count = 1 + random.below(min(load.overwrittenPagesMax, old.wholePages - first))
        let generation = freshNumber()
        try record(
            durably
                ? .overwrite(path: path, generation: generation, first: first, count: count)
                : .scribble(path: path, generation: generation, first: first, count: count))
        let start = first * DurableContent.pageSize
        let bytes = DurableContent.bytes(
            file: old.file, generation: generation, from: start, to: start + count * DurableContent.pageSize)
        let target = try box.open(path, O_WRONLY)
        try writeAll(target, bytes, at: start)
        guard durably else { return }
        try target.synchronise()
        try record(.done)
    }

    func truncate(_ path: String) throws {
        guard let old = state.files[path], old.size > 0 else { return }
        let size = random.below(old.size)
        try record(.truncate(path: path, size: size))
        let target = try box.open(path, O_WRONLY)
        try target.truncate(Int64(size))
        try target.synchronise()
        try record(.done)
    }

    func synchronise(_ path: String) throws {
        try record(.synchronise(path: path))
        try box.open(path, O_RDONLY).synchronise()
        try record(.done)
    }

    func rename(_ path: String, to target: String) throws {
        guard path != target else { return }
        try record(.rename(path: path, to: target))
        try box.rename(path, target)
        try synchroniseDirectory(of: target)
        try synchroniseDirectory(of: path)
        try record(.done)
    }

    func remove(_ path: String) throws {
        try record(.remove(path: path))
        try box.unlink(path)
        try synchroniseDirectory(of: path)
        try record(.done)
    }
}
