internal import CofferCrypto
internal import CofferHTTP
internal import Synchronization

/// Whether a server refuses to replace an object if a PUT says "If-None-Match: *".
///
/// Amazon S3 does so since August 2024. Servers that do not know the header ignore it, or refuse it. The only
/// way to find out is to put an object twice, so that is done once for each backend, before its first put if
/// absent. The object is deleted; its key begins with ".", as no object's name does.
final class S3Exclusion: Sendable {
    /// What a user should know where it does not.
    static let shortcoming =
        "It ignores If-None-Match: two devices that put the same object at once may both succeed."

    private let client: S3Client
    private let known = Mutex<Bool?>(nil)

    init(_ client: S3Client) {
        self.client = client
    }

    /// Whether exclusive puts work; asks the server the first time.
    func isThere() async throws(RemoteError) -> Bool {
        if let known = known.withLock({ $0 }) { return known }
        let answer = try await ask()
        known.withLock { $0 = answer }
        return answer
    }

    private func ask() async throws(RemoteError) -> Bool {
        let key = "\(client.place.prefix).coffer-test-\(S3Signature.hexadecimal(Random.bytes(16)))"
        var request = S3Client.Request("PUT", key)
        request.body = [UInt8]()
        let first = try await client.send(request)
        guard S3Failure.hasStored(first) else {
            throw S3Failure.hasRemoved(first) ? HTTPResponse.page : S3Failure(first).error(isChange: true)
        }
        request.headers = [HTTPHeader("if-none-match", "*")]
        let result: Result<HTTPResponse, RemoteError>
        do throws(RemoteError) { result = .success(try await client.send(request)) } catch {
            result = .failure(error)
        }
        _ = try? await client.send(S3Client.Request("DELETE", key))
        let second = try result.get()
        if second.status == 412 { return true }
        if S3Failure.hasStored(second) || S3Failure(second).isNotImplemented || second.status == 400 {
            return false
        }
        throw S3Failure(second).error(isChange: true)
    }
}
