internal import CofferCrypto
internal import CofferSystem

/// What the disk alone does, asked for in the ways in which the store asks.
struct BenchDisk {
    private static let name = "disk"
    private static let page = 4096

    let directory: any StorageDirectory
    let times: BenchTimes

    /// Measures one round.
    ///
    /// - Parameter size: The most bytes of the large file.
    /// - Returns: Bytes that it had time to write, and whether they went past the page cache.
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

/// Small pieces at the end of a file, each flushed: what a database's log does.
struct BenchAppend {
    private static let byteCount = 4096

    let file: any StorageFile
    let times: BenchTimes

    /// - Returns: Microseconds of each.
    func measure(from end: Int) throws(SystemError) -> [Double] {
        let content = Random.bytes(Self.byteCount)
        return try times.each(BenchTimes.latencies, most: 500) { index throws(SystemError) in
            try unsafe file.write(content.span.bytes, at: end + index * Self.byteCount)
            try file.dataSync()
        }
    }
}
