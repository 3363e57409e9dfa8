internal import CofferCrypto
internal import CofferFormat
internal import CofferRemote
internal import CofferSystem

/// Tries what a remote must be able to do, with objects of a vault that does not exist.
struct RemoteTest {
    private let remote: any RemoteBackend
    private let layout = RemoteLayout(VaultID(low: Random.number(), high: Random.number()))
    private static let byteCount = 4 << 20

    init(_ remote: any RemoteBackend) {
        self.remote = remote
    }

    /// Tries all; what follows a step that failed is left out, but what was put is deleted.
    func run() async -> RemoteTestReport {
        let bytes = [UInt8](repeating: 0xC0, count: Self.byteCount)
        let name = layout.pack(PackID(low: Random.number(), high: Random.number()))
        var steps: [RemoteTestReport.Step] = []
        let all: [(String, () async throws(RemoteError) -> Bool)] = [
            (
                "begin",
                { () async throws(RemoteError) in
                    try await remote.put(layout.format, .memory([1]), ifAbsent: true)
                    return true
                }
            ),
            (
                "put 4 MiB",
                { () async throws(RemoteError) in
                    try await remote.put(name, .memory(bytes), ifAbsent: true)
                    return true
                }
            ),
            (
                "refuse what exists",
                { () async throws(RemoteError) in
                    do throws(RemoteError) {
                        try await remote.put(name, .memory([1]), ifAbsent: true)
                        return false
                    } catch {
                        guard error == .exists else { throw error }
                        return true
                    }
                }
            ),
            (
                "get a range",
                { () async throws(RemoteError) in
                    let content = try await remote.get(name, 1000..<2000)
                    return content.bytes == Array(bytes[1000..<2000])
                        && content.objectByteCount == bytes.count
                }
            ),
            (
                "list",
                { () async throws(RemoteError) in
                    try await remote.list(layout.packs, after: nil).entries.map(\.name) == [name]
                }
            ),
        ]
        for (label, step) in all {
            steps.append(await time(label, step))
            if steps.last?.failure != nil { break }
        }
        steps.append(
            await time("delete") { () async throws(RemoteError) in
                try await remote.delete(name)
                try await remote.delete(layout.format)
                return true
            })
        return RemoteTestReport(remote: remote.describe(), steps: steps)
    }

    private func time(
        _ label: String, _ step: () async throws(RemoteError) -> Bool
    ) async -> RemoteTestReport.Step {
        let start = Clock.monotonic
        var failure: String?
        do throws(RemoteError) {
            if !(try await step()) { failure = "the remote does something else than it must" }
        } catch {
            failure = "\(error)"
        }
        let milliseconds = Double(Clock.monotonic - start) / 1_000_000
        return RemoteTestReport.Step(name: label, milliseconds: milliseconds, failure: failure)
    }
}
