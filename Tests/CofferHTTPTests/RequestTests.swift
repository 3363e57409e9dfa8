import CofferHTTP
import CofferSystem
import Testing

/// Requests of a client, and its reading of honest answers.
@Suite(.serialized) struct RequestTests {
    private let client = FaultyServer.client()

    @Test(arguments: ["GET", "DELETE", "PROPFIND", "MOVE"])
    func methodsAndHeadersArrive(method: String) async throws {
        var request = HTTPRequest(method, try FaultyServer.url("echo/a%20b"))
        request.headers = [HTTPHeader("X-One", "1"), HTTPHeader("Accept", "")]
        let answer = try await client.perform(request)
        #expect(answer.status == 200 && answer.isSuccess)
        #expect(answer.text.hasPrefix("\(method) /echo/a%20b\n"))
        #expect(answer.text.contains("x-one: 1\n"))
        #expect(!answer.text.contains("accept:"))
    }

    @Test(arguments: [0, 1, 5, 3_000_000])
    func bodiesArrive(byteCount: Int) async throws {
        var request = HTTPRequest("PUT", try FaultyServer.url("echo"))
        let body = FaultyServer.pattern(0..<byteCount)
        request.body = body
        request.answerByteCountMax = 4 << 20
        let answer = try await client.perform(request)
        #expect(answer.text.contains("content-length: \(byteCount)\n"))
        #expect(Array(answer.body.suffix(byteCount)) == body)
    }

    @Test func oneHandleServesAllKindsOfRequests() async throws {
        var put = HTTPRequest("PUT", try FaultyServer.url("echo"))
        put.body = [1, 2, 3] as [UInt8]
        let head = HTTPRequest("HEAD", try FaultyServer.url("bytes/77"))
        let get = HTTPRequest("GET", try FaultyServer.url("bytes/77"))
        for _ in 0..<3 {
            #expect(try await client.perform(put).text.hasPrefix("PUT"))
            let answer = try await client.perform(head)
            #expect(answer.contentLength == 77 && answer.body.isEmpty)
            #expect(try await client.perform(get).body == FaultyServer.pattern(0..<77))
        }
    }

    @Test func connectionsAreKept() async throws {
        let request = HTTPRequest("GET", try FaultyServer.url("port"))
        let first = try await client.perform(request).text
        #expect(try await client.perform(request).text == first)
        #expect(try await FaultyServer.client().perform(request).text != first)
    }

    @Test func manyRequestsRunAtOnce() async throws {
        let url = try FaultyServer.url("bytes/10000")
        try await withThrowingTaskGroup(of: Void.self) { group in
            for start in 0..<60 {
                group.addTask { [client] in
                    var request = HTTPRequest("GET", url)
                    request.range = start * 7..<start * 100 + 500
                    let answer = try await client.perform(request)
                    #expect(answer.body == FaultyServer.pattern(start * 7..<start * 100 + 500))
                }
            }
            try await group.waitForAll()
        }
    }

    @Test func rangesAreReported() async throws {
        var request = HTTPRequest("GET", try FaultyServer.url("bytes/100"))
        request.range = 90..<200
        let answer = try await client.perform(request)
        #expect(answer.status == 206)
        #expect(answer.contentRange?.range == 90..<100)
        #expect(answer.contentRange?.size == 100)
        request.range = 100..<101
        let none = try await client.perform(request)
        #expect(none.status == 416 && none.contentRange?.size == 100 && none.contentRange?.range == nil)
    }

    /// A server may ignore ranges.
    @Test(arguments: [0..<10, 50_000..<50_010, 99_990..<100_010, 0..<100_000, 200_000..<200_001])
    func aRangeIsCutFromAWholeAnswer(range: Range<Int>) async throws {
        var request = HTTPRequest("GET", try FaultyServer.url("whole/100000"))
        request.range = range
        let answer = try await client.perform(request)
        #expect(answer.status == 200 && answer.contentLength == 100_000)
        #expect(answer.body == FaultyServer.pattern(range.clamped(to: 0..<100_000)))
    }

    @Test func redirectsAreNotFollowed() async throws {
        let answer = try await client.perform(HTTPRequest("GET", try FaultyServer.url("redirect")))
        #expect(answer.status == 302 && answer["location"] == "/echo/redirected")
        #expect(answer["retry-after"] == "7")
    }

    @Test(
        arguments: [
            ("bytes 0-9/100", 0..<10, 100), ("bytes */5", nil, 5), ("Bytes 1-1/*", 1..<2, nil),
        ] as [(String, Range<Int>?, Int?)])
    func contentRanges(_ text: String, _ range: Range<Int>?, _ size: Int?) throws {
        let headers = [HTTPHeader("content-range", text)]
        let answer = HTTPResponse(status: 206, headers: headers, body: [])
        let parts = try #require(answer.contentRange)
        #expect(parts.range == range && parts.size == size)
    }

    @Test(arguments: [
        "", "bytes", "bytes 5-4/9", "bytes -1-4/9", "bytes 0-9", "bytes 0-9/x", "items 0-9/10",
        "bytes 0-9999999999999999999/5", "bytes 0-1-2/9",
    ])
    func malformedContentRanges(_ text: String) {
        let headers = [HTTPHeader("content-range", text)]
        #expect(HTTPResponse(status: 206, headers: headers, body: []).contentRange == nil)
    }
}
