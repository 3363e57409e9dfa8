internal import CofferCrypto
internal import CofferFormat
internal import CofferSystem
internal import CofferTrust
internal import CofferVault

/// Times requests to a vault without FUSE.
struct VaultBenchmarks {
    let loop: Loop
    let directory: String
    private static let fileSize = 64 << 20

    func run() throws {
        let storage = try POSIXStorageDirectory(path: directory)
        let id = VaultID(low: 3, high: 4)
        let store = SymmetricKey<StoreRole>.random()
        let key = EpochKey(vault: id, epoch: .first, key: .random())
        guard let keys = ContentKeys(vault: id, [key]) else { throw IndexBenchmarks.Wrong() }
        let caller = Caller(user: 0, group: 0, umask: 0)
        try Vault.create(in: storage, id: id, store: store, owner: caller)
        let vault = try Vault(in: storage, id: id, store: store, keys: keys, problems: ProblemLog())
        let file = try vault.create(
            Vault.NewItem(mode: 0o100_644), named: Array("file".utf8), in: Vault.rootNumber, by: caller)
        let chunk = [UInt8](repeating: 42, count: 1 << 20)
        var offset = 0
        try loop.measure("vault: write 1 MiB, commits included", bytes: chunk.count) { repetitions in
            for _ in 0..<repetitions {
                try vault.contents.write(
                    chunk.span.bytes, to: file.number, at: Int64(offset % Self.fileSize), touches: true,
                    dropsPrivileges: false)
                offset += chunk.count
                if offset % Self.fileSize == 0 { try vault.commit() }
            }
        }
        for start in stride(from: 0, to: Self.fileSize, by: chunk.count) {
            try vault.contents.write(
                chunk.span.bytes, to: file.number, at: Int64(start), touches: true, dropsPrivileges: false)
        }
        try vault.commit()
        try read(vault, file.number)
        try loop.measure("vault: look up a name that is cached") { repetitions in
            let name = Array("file".utf8)
            for _ in 0..<repetitions { _ = try vault.lookup(name, in: Vault.rootNumber) }
        }
        try vault.commit()
    }

    private func read(_ vault: Vault, _ number: Int64) throws {
        let pages = Self.fileSize / 4_096
        let buffer = AlignedBuffer(count: 1 << 20)
        try loop.measure("vault: read 4 KiB at random", bytes: 4_096) { repetitions in
            var page = 0
            for _ in 0..<repetitions {
                page = (page + 7_919) % pages
                let count = try vault.contents.read(
                    number, at: Int64(page * 4_096), count: 4_096, into: buffer)
                guard count == 4_096 else { throw IndexBenchmarks.Wrong() }
            }
        }
        try loop.measure("vault: read 128 KiB in order", bytes: 128 << 10) { repetitions in
            var offset = 0
            for _ in 0..<repetitions {
                let count = try vault.contents.read(number, at: Int64(offset), count: 128 << 10, into: buffer)
                guard count == 128 << 10 else { throw IndexBenchmarks.Wrong() }
                offset = (offset + 128 << 10) % Self.fileSize
            }
        }
    }
}
