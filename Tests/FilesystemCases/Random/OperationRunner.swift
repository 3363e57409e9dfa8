internal import CFilesystemCalls
internal import Glibc

/// Performs operations in one of the two directories, and holds its open files.
final class OperationRunner {
    let box: Sandbox
    var held: [Descriptor?]

    init(root: String) {
        box = Sandbox(root: root)
        held = Array(repeating: nil, count: OperationGenerator.slots)
    }

    func closeAll() {
        held = Array(repeating: nil, count: held.count)
    }

    func perform(_ operation: Operation) -> OperationResult {
        do {
            return OperationResult(code: 0, detail: try detail(of: operation))
        } catch let error as PosixError {
            return OperationResult(code: error.code, detail: error.call)
        } catch {
            return OperationResult(code: -1, detail: "\(error)")
        }
    }

    private func detail(of operation: Operation) throws -> String {
        if let detail = try changeContents(operation) { return detail }
        if let detail = try changeNames(operation) { return detail }
        if let detail = try useHeld(operation) { return detail }
        return try look(operation)
    }

    private func changeContents(_ operation: Operation) throws -> String? {
        switch operation {
        case .create(let name, let mode, let exclusive):
            try box.open(name, O_CREAT | O_RDWR | (exclusive ? O_EXCL : 0) | O_NONBLOCK, mode).close()
        case .write(let name, let offset, let count, let seed):
            return "\(try writable(name).write(pattern(count, seed: seed), at: offset)) bytes"
        case .append(let name, let count, let seed):
            return "\(try writable(name, O_APPEND).write(pattern(count, seed: seed))) bytes"
        case .rewrite(let name, let count, let seed):
            return "\(try writable(name, O_TRUNC).write(pattern(count, seed: seed))) bytes"
        case .truncate(let name, let size):
            if try box.status(name).size == size { return "has that size" }
            try box.truncate(name, size)
        case .allocate(let name, let mode, let offset, let length):
            let file = try writable(name)
            if mode == LINUX_FALLOCATE_PUNCH_HOLE, try file.status().size <= offset {
                return "behind the end"
            }
            try file.allocate(mode, offset, length)
        case .copy(let name, let offset, let target, let targetOffset, let count):
            return try copy(name, offset, target, targetOffset, count)
        case .map(let name, let offset, let count, let seed):
            return try map(name, Int(offset), count, seed)
        case .synchronise(let name): try box.open(name, O_RDONLY | O_NONBLOCK).synchronise()
        default: return nil
        }
        return ""
    }

    /// Open for writing, without waiting for the reader of a fifo.
    private func writable(_ name: String, _ flags: Int32 = 0) throws -> Descriptor {
        try box.open(name, O_WRONLY | O_NONBLOCK | flags)
    }

    private func copy(_ name: String, _ offset: Int64, _ target: String, _ targetOffset: Int64, _ count: Int)
        throws -> String
    {
        let from = try box.open(name, O_RDONLY | O_NONBLOCK)
        let to = try writable(target)
        var done = 0
        while done < count {
            let more = try from.copyRange(
                from: offset + Int64(done), to: to, at: targetOffset + Int64(done), count - done)
            if more == 0 { break }
            done += more
        }
        return "\(done) bytes"
    }

    private func map(_ name: String, _ offset: Int, _ count: Int, _ seed: Int) throws -> String {
        let file = try box.open(name, O_RDWR | O_NONBLOCK)
        let end = offset + count
        guard try file.status().size >= end else { return "too short" }
        let mapping = try Mapping(file, length: end)
        mapping.write(pattern(count, seed: seed), at: offset)
        try mapping.synchronise()
        return "mapped \(digest(mapping.read(min(end, 4096))))"
    }
}
