internal import CofferCrypto
internal import CofferHTTP
internal import CofferSystem

/// A claim on a free name: a collection that only one client can bring to its place.
///
/// "MOVE" with "Overwrite: F" does not exclude: Apache looks whether the target exists, and then calls
/// rename(2), which replaces a file. But rename(2) does not replace a directory that has members. So the
/// bytes of the object are sent into a collection of their own, which is moved to the name of the claim; from
/// there, the object is moved to its own name. The name of the bytes tells who holds the claim, so that the
/// claim of a process of this machine that was killed is not waited for.
struct WebDAVClaim: Sendable {
    private static let ownPrefix = "put.", claimPrefix = "claim."
    /// The age from which a claim counts as abandoned, in seconds: an hour.
    private static let age: Int64 = 3600
    /// The number and length of pauses while another client holds the claim: five seconds in all.
    private static let attemptCountMax = 100
    private static let pause = Duration.milliseconds(50)

    private let client: WebDAVClient
    private let path: String
    private let token: String
    /// The collection that the bytes are sent into.
    let own: String
    private var isHeld = false

    init(on name: RemoteName, in directory: String, _ client: WebDAVClient) {
        self.client = client
        let number = String(Random.number(), radix: 16)
        token = ClaimHolder().text
        own = "\(directory)/\(Self.ownPrefix)\(number)"
        path = "\(directory)/\(Self.claimPrefix)\(name.segments.joined(separator: "~").suffix(240))"
    }

    /// Where the bytes are sent to.
    var source: String { "\(own)/\(token)" }

    /// Where the bytes are once the claim is taken.
    var held: String { "\(path)/\(token)" }

    /// Whether a name is one of a collection that a put may leave.
    static func isTemporary(_ name: String) -> Bool {
        name.hasPrefix(ownPrefix) || name.hasPrefix(claimPrefix)
    }

    /// Acquires the claim; waits while another client has it.
    ///
    /// - Throws: `.exists` once the name is taken; `.busy` if another claim stays.
    mutating func acquire(_ isTaken: () async throws(RemoteError) -> Bool) async throws(RemoteError) {
        for _ in 0..<Self.attemptCountMax {
            let answer = try await client.send(client.move(own + "/", to: path + "/"))
            if answer.isSuccess { return isHeld = true }
            // Apache answers 500 if rename(2) has failed.
            guard [403, 404, 405, 409, 412, 423, 500].contains(answer.status) else {
                throw WebDAVClient.error(ofChange: answer)
            }
            let claim = try await WebDAVDirectory.read(path, client)
            // A request that libcurl repeated may have taken it.
            if claim?.entries.contains(where: { $0.name == token }) == true { return isHeld = true }
            if try await isTaken() { throw .exists }
            if answer.status == 403, claim == nil { throw WebDAVClient.error(ofChange: answer) }
            if let claim, Self.isAbandoned(claim) { try await remove(path) }
            do { try await Task.sleep(for: Self.pause) } catch { throw .cancelled }
        }
        throw .busy(after: nil)
    }

    /// Whether nobody holds a claim any more.
    private static func isAbandoned(_ claim: WebDAVDirectory) -> Bool {
        claim.entries.allSatisfy { entry in
            if let now = claim.now, let modified = entry.modified, now - modified > age { return true }
            return ClaimHolder.hasEnded(entry.name)
        }
    }

    /// Removes the bytes, if they are still there, and gives up the claim, if this client holds it.
    ///
    /// Goes on if the task is cancelled, as the claim would keep others from the name.
    func remove() async {
        await Task {
            // If one of these fails, the claim counts as abandoned after a while, and a cleanup removes it.
            if isHeld { return try? await remove(path) }
            // The call may have ended before the answer to its move.
            let claim = try? await WebDAVDirectory.read(path, client)
            let isOurs = claim?.entries.contains { $0.name == token } == true
            try? await remove(isOurs ? path : own)
        }.value
    }

    private func remove(_ path: String) async throws(RemoteError) {
        _ = try await client.send(client.request("DELETE", path + "/"))
    }
}
