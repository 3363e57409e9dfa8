/// The bytes of a file, with holes.
struct FileImage {
    static let pageByteCount = 4096

    /// The allocated pages, by number; the last one has zeros after the end of the file.
    private(set) var pages: [Int: [UInt8]] = [:]
    private(set) var size = 0

    private static let zeros = [UInt8](repeating: 0, count: pageByteCount)

    /// Calls `body` with each page that a range touches and the part of the range in it.
    private static func split(_ range: Range<Int>, _ body: (Int, Range<Int>) -> Void) {
        var start = range.lowerBound
        while start < range.upperBound {
            let page = start / pageByteCount
            let end = min(range.upperBound, (page + 1) * pageByteCount)
            body(page, start - page * pageByteCount..<end - page * pageByteCount)
            start = end
        }
    }

    /// The number of bytes of a range before the end.
    func read(_ range: Range<Int>) -> [UInt8] {
        var bytes: [UInt8] = []
        guard range.lowerBound < size else { return bytes }
        bytes.reserveCapacity(range.count)
        Self.split(range.lowerBound..<min(range.upperBound, size)) { page, part in
            if let found = pages[page] {
                bytes.append(contentsOf: found[part])
            } else {
                bytes.append(contentsOf: repeatElement(0, count: part.count))
            }
        }
        return bytes
    }

    mutating func write(_ bytes: ArraySlice<UInt8>, at offset: Int) {
        var done = bytes.startIndex
        Self.split(offset..<offset + bytes.count) { page, part in
            pages[page, default: Self.zeros].replaceSubrange(part, with: bytes[done..<done + part.count])
            done += part.count
        }
        if !bytes.isEmpty { size = max(size, offset + bytes.count) }
    }

    mutating func resize(to newSize: Int) {
        if newSize < size {
            let rest = newSize % Self.pageByteCount
            let last = newSize / Self.pageByteCount
            for page in pages.keys where page > last || (page == last && rest == 0) { pages[page] = nil }
            if rest > 0, let kept = pages[last] {
                pages[last] = Array(kept[..<rest]) + repeatElement(0, count: Self.pageByteCount - rest)
            }
        }
        size = newSize
    }

    mutating func punch(_ range: Range<Int>) {
        Self.split(range) { page, part in
            if part.count == Self.pageByteCount {
                pages[page] = nil
            } else if pages[page] != nil {
                pages[page]?.replaceSubrange(part, with: repeatElement(0, count: part.count))
            }
        }
    }

    /// The number of pages that a write of a range would have to allocate.
    func missingPages(in range: Range<Int>) -> Int {
        var count = 0
        Self.split(range) { page, _ in if pages[page] == nil { count += 1 } }
        return count
    }
}
