internal import CofferCrypto
internal import CofferSystem

/// Measures the disk alone, with the access patterns of the store.
struct BenchDisk {
    private static let name = "disk"
    private static let page = 4096

    let directory: any StorageDirectory
    let times: BenchTimes

    /// Measures one round.
    ///
    /// - Parameter size: The maximum size of the large file, in bytes.
    /// - Returns: The number of bytes that it had time to write, and whether they bypassed the page cache.
    func measure(
        _ size: Int, into results: inout BenchResults
    ) throws(SystemError) -> (count: Int, isDirect: Bool) {
        defer { try? directory.remove(Self.name) }
        let cached = try directory.open(Self.name, create: true)
        let direct = try directory.openDirect(Self.name)
        let transfer = BenchTransfer(file: direct ?? cached, times: times, width: 2)
        let written = try transfer.write(size)
        results.add(.diskWrite, written?.rate)
        let count = written?.count ?? 0
        results.add(.diskRead, try transfer.read(count)?.rate)
        try measureRandomReads(direct ?? cached, count, into: &results)
        results.add(
            .diskAppend, slowest: .diskAppendSlowest,
            try BenchAppend(file: cached, times: times).measure(from: count))
        return (count, direct != nil)
    }

    private func measureRandomReads(
        _ file: any StorageFile, _ size: Int, into results: inout BenchResults
    ) throws(SystemError) {
        guard size > 0 else { return }
        let buffer = AlignedBuffer(count: Self.page)
        let latencies = try times.each(BenchTimes.latencies, most: 2000) { _ throws(SystemError) in
            let offset = Int(Random.number() % UInt64(size / Self.page)) * Self.page
            _ = try buffer.withMutableBytes(0..<Self.page) { bytes throws(SystemError) in
                try file.read(into: &bytes, at: offset)
            }
        }
        results.add(.diskRandomRead, latencies.isEmpty ? nil : BenchSamples(latencies).median)
    }
}

/// Measures small appends to a file, each flushed, as a database's write-ahead log makes them.
struct BenchAppend {
    private static let byteCount = 4096

    let file: any StorageFile
    let times: BenchTimes

    /// - Returns: The duration of each append, in microseconds.
    func measure(from end: Int) throws(SystemError) -> [Double] {
        let content = Random.bytes(Self.byteCount)
        return try times.each(BenchTimes.latencies, most: 500) { index throws(SystemError) in
            try unsafe file.write(content.span.bytes, at: end + index * Self.byteCount)
            try file.dataSync()
        }
    }
}
