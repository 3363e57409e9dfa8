internal import CofferClient
internal import CofferCrypto
internal import CofferSystem
internal import Glibc

/// Measures a mounted vault as programs use it.
struct BenchVault {
    private static let large = "large", log = "log", small = "small"
    private static let fileCount = 2000

    let mount: BenchMount
    let times: BenchTimes

    /// Measures one round.
    ///
    /// - Parameter size: The size of the large file, in bytes.
    func measure(_ size: Int, into results: inout BenchResults) throws(SystemError) {
        let directory = try POSIXStorageDirectory(path: mount.vault)
        // The large file comes last: its removal causes work in the vault, which ends before the next round.
        defer { MountPoint.sync(mount.vault) }
        let log = try directory.open(Self.log, create: true)
        results.add(
            .mountAppend, slowest: .mountAppendSlowest,
            try BenchAppend(file: log, times: times).measure(from: 0))
        try directory.remove(Self.log)
        try measureSmall(into: &results)
        try measureLarge(directory, size, into: &results)
    }

    private func measureLarge(
        _ directory: any StorageDirectory, _ size: Int, into results: inout BenchResults
    ) throws(SystemError) {
        defer { try? directory.remove(Self.large) }
        let transfer = BenchTransfer(
            file: try directory.open(Self.large, create: true), times: times, width: 1)
        guard let written = try transfer.write(size) else { return }
        results.add(.mountWrite, written.rate)
        try PageCache.drop("\(mount.vault)/\(Self.large)")
        try PageCache.dropAll(below: mount.profile)
        guard let cold = try transfer.read(written.count) else { return }
        results.add(.mountColdRead, cold.rate)
        // Only the bytes that were just read are warm.
        results.add(.mountWarmRead, try transfer.read(cold.count)?.rate)
    }

    private func measureSmall(into results: inout BenchResults) throws(SystemError) {
        let path = "\(mount.vault)/\(Self.small)"
        try Directory.make(path)
        let directory = try POSIXStorageDirectory(path: path)
        let content = Random.bytes(4096)
        let created = try times.each(BenchTimes.files, most: Self.fileCount) { index throws(SystemError) in
            try unsafe directory.open("\(index)", create: true).write(content.span.bytes, at: 0)
        }
        let count = created.count
        add(.mountCreate, created, &results)
        add(
            .mountStat,
            try times.each(BenchTimes.files, most: count) { index throws(SystemError) in
                var status = stat()
                guard unsafe lstat("\(path)/\(index)", &status) == 0 else {
                    throw SystemError("stat", code: errno, on: "\(path)/\(index)")
                }
            }, &results)
        let buffer = AlignedBuffer(count: 4096)
        add(
            .mountRead,
            try times.each(BenchTimes.files, most: count) { index throws(SystemError) in
                let file = try directory.open("\(index)", create: false)
                _ = try buffer.withMutableBytes(0..<4096) { bytes throws(SystemError) in
                    try file.read(into: &bytes, at: 0)
                }
            }, &results)
        add(
            .mountUnlink,
            try times.each(BenchTimes.files, most: count) { index throws(SystemError) in
                try directory.remove("\(index)")
            }, &results)
        // Some files are left if time ran out.
        try Directory.removeAll(path)
    }

    private func add(_ measure: BenchMeasure, _ times: [Double], _ results: inout BenchResults) {
        // The mean, because the cost of many operations matters, including the slow ones.
        results.add(measure, times.isEmpty ? nil : times.reduce(0, +) / Double(times.count))
    }
}
