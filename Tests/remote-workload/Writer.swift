import CofferRemote
import RemoteConformance

/// Puts objects if they are absent, in competition with other processes, and replaces one.
struct Writer {
    private let remote: any RemoteBackend
    private let vault: RemoteLayout
    private let writer: UInt64

    init(_ remote: any RemoteBackend, _ vault: RemoteLayout, writer: UInt64) {
        self.remote = remote
        self.vault = vault
        self.writer = writer
    }

    /// Continues for 100,000 objects, which takes longer than any test waits.
    func run() async throws {
        guard let shared = RemoteName("\(vault.prefix)identities/shared/transient") else { return }
        for round in 0..<100_000 as Range<UInt64> {
            let number = round << 16 | writer
            let byteCount = 16 + Int((number &* 2_654_435_761) % 200_000)
            let bytes = WholeObject.bytes(number, byteCount: byteCount)
            do throws(RemoteError) {
                try await remote.put(vault.member(round), .memory(bytes), ifAbsent: true)
                say("won \(round) \(number)")
            } catch {
                if error != .exists { throw error }
            }
            if round % 4 == 3 { try await remote.put(shared, .memory(bytes), ifAbsent: false) }
        }
    }
}
