internal import CofferCrypto
internal import CofferFormat
internal import CofferStore
internal import CofferSystem

/// Times rows of the sealed index on a real disk.
struct IndexBenchmarks {
    let loop: Loop
    let directory: String

    func run() throws {
        let storage = try POSIXStorageDirectory(path: directory)
        let vault = VaultID(low: 1, high: 2)
        let key = SymmetricKey<StoreRole>.random()
        try Index.create(in: storage, vault: vault, key: key)
        let index = try Index(in: storage, vault: vault, key: key)
        let log = try index.makeLog()
        var inserted: Int64 = 0
        // A commit every 1,000 rows, and a checkpoint of the write-ahead log every 10,000, as in a vault in
        // use.
        try loop.measure("index: insert a name, commits included") { repetitions in
            for _ in 0..<repetitions {
                try index.insert(Self.row(inserted))
                inserted += 1
                if inserted % 1_000 == 0 { try index.commit() }
                if inserted % 10_000 == 0 { _ = try log.checkpoint() }
            }
        }
        try index.commit()
        if inserted == 0 {
            for number in 0..<10_000 { try index.insert(Self.row(Int64(number))) }
            inserted = 10_000
            try index.commit()
        }
        try loop.measure("index: find one of \(inserted) names") { repetitions in
            var number: Int64 = 0
            for _ in 0..<repetitions {
                // A step size that visits all rows.
                number = (number + 7_919) % inserted
                guard try index.entry(Self.name(number), in: 1)?.item == number + 2 else { throw Wrong() }
            }
        }
        try loop.measure("index: a row, commit, sync of the log") { repetitions in
            for repetition in 0..<repetitions {
                try index.insert(Self.row(inserted))
                inserted += 1
                try index.commit()
                try log.sync()
                if repetition % 500 == 499 { _ = try log.checkpoint() }
            }
        }
        try index.close()
    }

    private static func name(_ number: Int64) -> [UInt8] { Array("file-\(number).txt".utf8) }

    private static func row(_ number: Int64) -> EntryRow {
        EntryRow(parent: 1, name: name(number), item: number + 2, type: 8, cookie: number + 3)
    }

    struct Wrong: Error {}
}
