import CofferHTTP
import CofferSystem
import Foundation
import Testing

/// What servers can do to a client, and the resulting errors.
@Suite(.serialized) struct HostileAnswerTests {
    private let client = FaultyServer.client()

    private func failure(_ path: String, _ client: HTTPClient) async throws -> HTTPError? {
        try await failure(HTTPRequest("GET", try FaultyServer.url(path)), client)
    }

    private func failure(_ request: HTTPRequest, _ client: HTTPClient) async throws -> HTTPError? {
        do throws(HTTPError) {
            _ = try await client.perform(request)
            return nil
        } catch {
            return error
        }
    }

    @Test(arguments: ["stall", "silent"])
    func silenceEnds(path: String) async throws {
        let error = try await failure(path, FaultyServer.client(stallSeconds: 1))
        guard case .unreachable = error else { return #expect(error == .unreachable("")) }
    }

    @Test func aCutBodyIsNoAnswer() async throws {
        let error = try await failure("cut", client)
        guard case .cutShort = error else { return #expect(error == .cutShort("")) }
    }

    @Test func aMissingServerIsUnreachable() async throws {
        // Port 1 of a machine without such a service refuses connections.
        let error = try await failure(HTTPRequest("GET", "http://127.0.0.1:1/"), client)
        guard case .unreachable(let text) = error else { return #expect(error == .unreachable("")) }
        #expect(text.contains("127.0.0.1"))
    }

    @Test func longAnswersAreNotRead() async throws {
        #expect(try await failure("endless", client) == .tooLong(limit: 1 << 20))
        #expect(try await failure("headers", client) == .tooLong(limit: 1 << 20))
        var request = HTTPRequest("GET", try FaultyServer.url("generous"))
        request.range = 0..<1000
        #expect(try await failure(request, client) == .tooLong(limit: 1 << 20))
    }

    @Test func longErrorsAreCut() async throws {
        let answer = try await client.perform(HTTPRequest("GET", try FaultyServer.url("endless/500")))
        #expect(answer.status == 500 && answer.body.count == 64 << 10)
    }

    @Test func otherProtocolsAreNotSpoken() async throws {
        let error = try await failure("noise", client)
        guard case .failed = error else { return #expect(error == .failed("")) }
        for url in ["file:///etc/passwd", "ftp://127.0.0.1/", "gopher://127.0.0.1:1/", "", "http://"] {
            let error = try await failure(HTTPRequest("GET", url), client)
            guard case .failed = error else { return #expect(error == .failed(""), "\(url)") }
        }
    }

    @Test func aHeaderCannotSmuggleAnotherOne() async throws {
        var request = HTTPRequest("GET", try FaultyServer.url("echo"))
        request.headers = [HTTPHeader("X", "1\r\nY: 2")]
        let error = try await failure(request, client)
        guard case .failed = error else { return #expect(error == .failed("")) }
    }

    @Test func passwordsAreNotSentInClearText() async throws {
        var request = HTTPRequest("PUT", try FaultyServer.url("clear"))
        request.body = [1] as [UInt8]
        request.login = HTTPLogin(user: "me", password: "secret", allowsClearText: false)
        for _ in 0..<2 { #expect(try await failure(request, client) == .wantsClearText) }
        request.login = HTTPLogin(user: "me", password: "secret", allowsClearText: true)
        for _ in 0..<2 { #expect(try await client.perform(request).text == "sent Basic bWU6c2VjcmV0") }
    }

    @Test func anUnreadableBodyIsReported() async throws {
        struct Broken: HTTPBody {
            let byteCount = 100_000
            func read(into buffer: inout MutableRawSpan, at offset: Int) throws(SystemError) -> Int {
                if offset > 0 { throw SystemError("read", code: 5, on: "it") }
                return min(1000, buffer.byteCount)
            }
        }
        var request = HTTPRequest("PUT", try FaultyServer.url("echo"))
        request.body = Broken()
        #expect(try await failure(request, client) == .unreadable(SystemError("read", code: 5, on: "it")))
    }

    @Test(arguments: ["stall", "silent", "endless/500"])
    func aCancelledRequestEnds(path: String) async throws {
        let request = HTTPRequest("GET", try FaultyServer.url(path))
        for round in 0..<10 {
            let task = Task { [client] in try await client.perform(request) }
            for _ in 0..<round { await Task.yield() }
            if round > 5 { try await Task.sleep(for: .milliseconds(20)) }
            task.cancel()
            let result = await task.result
            if path != "endless/500" { #expect(throws: HTTPError.cancelled) { try result.get() } }
        }
    }

    /// The stall limit is long: the cancellation ends these requests.
    @Test func cancelledRequestsLeaveOthersAlone() async throws {
        let silent = HTTPRequest("GET", try FaultyServer.url("silent"))
        let tasks = (0..<6).map { _ in Task { [client] in try await client.perform(silent) } }
        let answer = try await client.perform(HTTPRequest("GET", try FaultyServer.url("bytes/1000")))
        #expect(answer.body.count == 1000)
        for task in tasks { task.cancel() }
        for task in tasks { await #expect(throws: HTTPError.cancelled) { try await task.value } }
    }
}
