internal import Glibc

extension ManifestChecker {
    /// What is wrong with a file; nil when nothing is.
    ///
    /// The first `durable` bytes must be there; if it is nil, the whole file. After them, the bytes up to the
    /// file's size may be missing or zero.
    mutating func inspect(_ path: String, _ file: DurableFile, durable: Int? = nil) -> String? {
        let durable = durable ?? file.size
        let bytes: [UInt8]
        do { bytes = try box.contents(path) } catch { return "cannot be read: \(error)" }
        guard bytes.count >= durable else { return "has \(bytes.count) bytes, \(durable) were durable" }
        guard bytes.count <= file.size else { return "has \(bytes.count) bytes, \(file.size) were written" }
        for (index, page) in file.pages.enumerated() {
            let start = index * DurableContent.pageSize
            let end = min(start + DurableContent.pageSize, bytes.count)
            guard start < end else { break }
            let intact = min(max(durable - start, 0), end - start)
            checkedPages += 1
            let found = Array(bytes[start..<end])
            guard let generation = generation(of: found, file.file, index, page, intact: intact) else {
                return "page \(index) (of \(file.pages.count)) is of no generation from \(page.durable) to "
                    + "\(page.latest), or torn; \(describe(found))"
            }
            if generation > page.durable { laterPages += 1 }
        }
        return nil
    }

    /// The one generation of all bytes; bytes after the first `intact` ones may be zeros.
    private func generation(
        of bytes: [UInt8], _ file: UInt64, _ index: Int, _ page: DurableFile.Page, intact: Int
    ) -> UInt64? {
        var candidates = [page.durable, page.latest]
        if let stamped = stamp(bytes), (page.durable...page.latest).contains(stamped) {
            candidates.append(stamped)
        }
        return candidates.first { candidate in
            let expected = DurableContent.page(file: file, generation: candidate, page: index)
            guard bytes[..<intact].elementsEqual(expected[..<intact]) else { return false }
            return zip(bytes[intact...], expected[intact...]).allSatisfy { $0 == $1 || $0 == 0 }
        }
    }

    /// The generation that a page names at its beginning.
    private func stamp(_ bytes: [UInt8]) -> UInt64? {
        guard bytes.count >= 8 else { return nil }
        return bytes[..<8].reversed().reduce(0) { $0 << 8 | UInt64($1) }
    }

    private func describe(_ bytes: [UInt8]) -> String {
        if bytes.allSatisfy({ $0 == 0 }) { return "it is zeros" }
        return stamp(bytes).map { "it begins with \($0)" } ?? "it has \(bytes.count) bytes"
    }
}
