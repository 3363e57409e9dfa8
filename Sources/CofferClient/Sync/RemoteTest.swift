internal import CofferCrypto
internal import CofferFormat
internal import CofferRemote
internal import CofferSystem

/// Tries what a remote must be able to do: in the directories of a vault, or, where there is no vault yet, with objects
/// of one that does not exist.
struct RemoteTest {
    private let remote: any RemoteBackend
    private let layout: RemoteLayout
    /// Whether the vault is there: what it has stays.
    private let hasVault: Bool
    private static let byteCount = 4 << 20

    /// - Parameter vault: A vault that the remote has; nil for none.
    init(_ remote: any RemoteBackend, of vault: VaultID?) {
        self.remote = remote
        hasVault = vault != nil
        layout = RemoteLayout(vault ?? VaultID(low: Random.number(), high: Random.number()))
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
                    if hasVault {
                        _ = try await remote.get(layout.format, 0..<1)
                        let obstacles = try await remote.obstacles(below: layout.prefix)
                        guard let first = obstacles.first else { return true }
                        let more = obstacles.count > 1 ? "; \(obstacles.count - 1) more are like that" : ""
                        throw .refused(first + more)
                    }
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
                    try await isListed(name)
                }
            ),
        ]
        for (label, step) in all {
            steps.append(await time(label, step))
            if steps.last?.failure != nil { break }
        }
        steps.append(
            await time("delete") { () async throws(RemoteError) in
                // Nothing was put into a vault that cannot be reached.
                if steps.count > 1 { try await remote.delete(name) }
                if hasVault { return true }
                try await remote.delete(layout.format)
                try await remote.tidy(layout.prefix)
                return true
            })
        return RemoteTestReport(remote: remote.describe(), steps: steps)
    }

    private func isListed(_ name: RemoteName) async throws(RemoteError) -> Bool {
        var after: RemoteName?
        repeat {
            let page = try await remote.list(layout.packs, after: after)
            if page.entries.contains(where: { $0.name == name }) { return true }
            after = page.next
        } while after != nil
        return false
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

/// Tries a remote that no vault has, without a profile.
package enum RemoteTrial {
    /// Puts, reads, lists and deletes some objects at a place, and leaves nothing there.
    ///
    /// - Parameter place: A URL or an absolute path.
    /// - Throws: `.remoteURL`, `.remote` where it is no place that this version can use.
    package static func run(_ place: String) throws(ProfileError) -> RemoteTestReport {
        let remote = try SharedVault.backend(place)
        return Waiting.run { await RemoteTest(remote, of: nil).run() }
    }
}
