internal import CofferCrypto
internal import CofferFormat
package import CofferRemote
internal import CofferSystem

/// Tests the operations that a remote must support.
///
/// Works in the directories of an existing vault, or else with the objects of a vault that does not exist.
struct RemoteTest {
    private let remote: any RemoteBackend
    private let layout: RemoteLayout
    /// Whether the remote has the vault, whose objects must stay.
    private let hasVault: Bool
    private static let byteCount = 4 << 20

    /// - Parameter vault: A vault that the remote has, or nil.
    init(_ remote: any RemoteBackend, of vault: VaultID?) {
        self.remote = remote
        hasVault = vault != nil
        layout = RemoteLayout(vault ?? VaultID(low: Random.number(), high: Random.number()))
    }

    /// Runs all steps until one fails, and deletes the objects that it put.
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
                        let more = obstacles.count > 1 ? "; \(obstacles.count - 1) more like it" : ""
                        throw .refused(first + more)
                    }
                    try await putFirst()
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
        let hasFailed = steps.contains { $0.failure != nil }
        let deletion =
            await time("delete", whereReadOnly: hasFailed ? nil : Self.keepsAll) {
                () async throws(RemoteError) in
                // If the first step failed, nothing was put into the vault.
                if steps.count > 1 { try await remote.delete(name) }
                if hasVault { return true }
                try await remote.delete(layout.format)
                try await remote.tidy(layout.prefix)
                return true
            }
        // What has kept the test from beginning is said once.
        let isSaid = deletion.failure != nil && deletion.failure == steps.first?.failure
        if !isSaid { steps.append(deletion) }
        // Where a step has failed, there is more to mend first.
        let isUsable = steps.allSatisfy { $0.failure == nil }
        let shortcomings = isUsable ? try? await remote.shortcomings() : nil
        return RemoteTestReport(
            remote: remote.describe(), steps: steps, shortcomings: shortcomings ?? [])
    }

    /// Puts the first object of a vault that does not exist.
    private func putFirst() async throws(RemoteError) {
        do throws(RemoteError) { try await remote.put(layout.format, .memory([1]), ifAbsent: true) } catch {
            guard error == .exists else { throw error }
            throw .failed(
                "it claims to have an object that nobody has put; perhaps this network wants a login before it lets anything through"
            )
        }
    }

    /// What it means if objects can be put, and not deleted.
    private static let keepsAll = """
        the remote does not let this user delete objects; on S3, that is s3:DeleteObject. What was put for this \
        test stays there
        """

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
        _ label: String, whereReadOnly: String? = nil, _ step: () async throws(RemoteError) -> Bool
    ) async -> RemoteTestReport.Step {
        let start = Clock.monotonic
        var failure: String?
        do throws(RemoteError) {
            if !(try await step()) { failure = "the remote does not behave as it must" }
        } catch {
            failure = error == .readOnly ? whereReadOnly ?? "\(error)" : "\(error)"
        }
        let milliseconds = Double(Clock.monotonic - start) / 1_000_000
        return RemoteTestReport.Step(name: label, milliseconds: milliseconds, failure: failure)
    }
}

/// Tests a remote without a vault or a profile.
package enum RemoteTrial {
    /// Puts, reads, lists and deletes a few objects at a place, and leaves nothing there.
    ///
    /// Blocks; must not run on a thread of Swift's pool.
    ///
    /// - Parameters:
    ///   - place: A URL or an absolute path.
    ///   - logins: Where credentials are found that the environment and its files do not have.
    /// - Throws: `.remoteURL`, `.failed` if this version cannot use the place.
    package static func run(
        _ place: String, logins: @escaping RemoteLogins = { _ in nil }
    ) throws(ClientError) -> RemoteTestReport {
        let remote = try SharedVault.backend(place, logins)
        return AwaitedTask { await RemoteTest(remote, of: nil).run() }.wait()
    }
}
