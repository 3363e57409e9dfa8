package import CofferSystem

/// An open file of a simulated disk.
package final class SimulatedStorageFile: StorageFile {
    private let disk: SimulatedDisk
    private let path: String
    private let number: Int

    init(_ disk: SimulatedDisk, _ path: String, _ number: Int) {
        self.disk = disk
        self.path = path
        self.number = number
    }

    package func read(into buffer: inout MutableRawSpan, at offset: Int) throws(SystemError) -> Int {
        let range = offset..<offset + buffer.byteCount
        let bytes = try disk.perform(.read, path) { [number] state throws(SystemError) in
            state.files[number]?.visible.read(range) ?? []
        }
        buffer.copyBytes(from: bytes.span.bytes)
        return bytes.count
    }

    package func write(_ bytes: RawSpan, at offset: Int) throws(SystemError) {
        let bytes = bytes.array
        let path = path
        try disk.change(.write, path, number) { file, free throws(SystemError) in
            var count = bytes.count
            while file.visible.missingPages(in: offset..<offset + count) > free {
                count = max(
                    0, (offset + count - 1) / FileImage.pageByteCount * FileImage.pageByteCount - offset)
            }
            // Like write(2), the call writes as much as fits before it fails.
            if count > 0 { file.make(.write(Array(bytes[..<count]), at: offset)) }
            if count < bytes.count { throw SystemError("write", code: ErrorNumber.noSpace, on: path) }
        }
    }

    package func size() throws(SystemError) -> Int {
        try disk.perform(.size, path) { [number] state throws(SystemError) in
            state.files[number]?.visible.size ?? 0
        }
    }

    package func truncate(to size: Int) throws(SystemError) {
        try disk.change(.truncate, path, number) { file, _ throws(SystemError) in file.make(.resize(size)) }
    }

    package func dataSync() throws(SystemError) {
        try disk.change(.dataSync, path, number) { file, _ throws(SystemError) in file.sync() }
    }

    package func startWriteback(at offset: Int, count: Int) {
        try? disk.perform(.startWriteback, path) { _ throws(SystemError) in }
    }

    package func punchHole(at offset: Int, count: Int) throws(SystemError) {
        try disk.change(.punchHole, path, number) { file, _ throws(SystemError) in
            file.make(.punch(offset..<offset + count))
        }
    }

    package func preallocate(at offset: Int, count: Int) throws(SystemError) {
        let path = path
        try disk.change(.preallocate, path, number) { file, free throws(SystemError) in
            guard file.visible.missingPages(in: offset..<offset + count) <= free else {
                throw SystemError("fallocate", code: ErrorNumber.noSpace, on: path)
            }
        }
    }
}
