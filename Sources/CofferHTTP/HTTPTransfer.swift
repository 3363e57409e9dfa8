internal import CCurl
internal import CofferSystem

/// One transfer: a handle of libcurl, what it sends, and what has arrived; used by the client's thread alone.
@safe
final class HTTPTransfer {
    let call: HTTPCall
    let handle: HTTPHandle
    private let errorText: UnsafeMutablePointer<CChar>
    private var list: UnsafeMutablePointer<curl_slist>?
    private var answer: HTTPAnswer
    private var sentCount = 0
    private var readError: SystemError?

    var request: HTTPRequest { call.request }

    init(_ call: HTTPCall, _ handle: HTTPHandle) {
        self.call = call
        self.handle = handle
        answer = HTTPAnswer(for: call.request)
        unsafe errorText = .allocate(capacity: Int(CURL_ERROR_SIZE))
        unsafe errorText.initialize(repeating: 0, count: Int(CURL_ERROR_SIZE))
    }

    deinit {
        unsafe curl_slist_free_all(list)
        unsafe errorText.deallocate()
    }

    // MARK: What libcurl calls

    /// Fills a buffer with the next bytes to send; nil if they cannot be read.
    func send(_ buffer: UnsafeMutableRawBufferPointer) -> Int? {
        guard let body = request.body else { return 0 }
        let wanted = min(buffer.count, body.byteCount - sentCount)
        if wanted == 0 { return 0 }
        let room = unsafe UnsafeMutableRawBufferPointer(rebasing: buffer[..<wanted])
        var part = unsafe room.mutableBytes
        do throws(SystemError) {
            let count = try body.read(into: &part, at: sentCount)
            // EIO: there are fewer bytes than the body has said.
            guard count > 0 else { throw SystemError("read", code: 5, on: "the bytes to send") }
            sentCount += count
            return count
        } catch {
            readError = error
            return nil
        }
    }

    /// Sends from an earlier byte again: for a server that asks for a password, or over a new connection.
    func rewind(to offset: Int) { sentCount = offset }

    func receive(line: String) -> Bool { answer.take(line: line) }

    func receive(_ piece: UnsafeRawBufferPointer) -> Bool {
        unsafe answer.take(piece, status: status)
    }

    private var status: Int { unsafe coffer_curl_get_long(handle.easy, CURLINFO_RESPONSE_CODE) }

    // MARK: The end

    /// What the server says about authentication, if it does.
    var saidAuthentication: HTTPAuthentication? {
        let offered = unsafe UInt(bitPattern: coffer_curl_get_long(handle.easy, CURLINFO_HTTPAUTH_AVAIL))
        if request.login == nil || offered == 0 { return nil }
        if offered & HTTPOptions.digest != 0 { return .digest }
        return offered & HTTPOptions.basic != 0 ? .basic : nil
    }

    /// The outcome, given libcurl's result.
    func outcome(_ result: CURLcode) -> HTTPCall.Outcome {
        if let readError { return .failure(.unreadable(readError)) }
        if answer.end == .tooLong { return .failure(.tooLong(limit: request.answerByteCountMax)) }
        guard result == CURLE_OK || answer.end == .enough else { return .failure(error(result)) }
        if status == 401, let login = request.login, !login.allowsClearText, saidAuthentication == .basic {
            return .failure(.wantsClearText)
        }
        return .success(HTTPResponse(status: status, headers: answer.headers, body: answer.body))
    }

    private func error(_ result: CURLcode) -> HTTPError {
        var text = unsafe String(cString: errorText)
        if text.isEmpty { text = unsafe String(cString: curl_easy_strerror(result)) }
        let silent = [
            CURLE_COULDNT_RESOLVE_PROXY, CURLE_COULDNT_RESOLVE_HOST, CURLE_COULDNT_CONNECT,
            CURLE_OPERATION_TIMEDOUT,
        ]
        let cut = [
            CURLE_GOT_NOTHING, CURLE_SEND_ERROR, CURLE_RECV_ERROR, CURLE_PARTIAL_FILE, CURLE_HTTP2,
            CURLE_HTTP2_STREAM,
        ]
        if silent.contains(result) { return .unreachable(text) }
        if [CURLE_PEER_FAILED_VERIFICATION, CURLE_SSL_CACERT_BADFILE, CURLE_SSL_ISSUER_ERROR].contains(result)
        {
            return .untrusted(text)
        }
        return cut.contains(result) ? .cutShort(text) : .failed(text)
    }

    // MARK: Headers

    /// Hands the request's headers to libcurl; false if one has a line end, or there is no memory.
    func setHeaders() -> Bool {
        for header in request.headers {
            let line = header.value.isEmpty ? "\(header.name):" : "\(header.name): \(header.value)"
            guard !line.utf8.contains(where: { $0 < 0x20 || $0 == 0x7F }),
                let longer = unsafe curl_slist_append(list, line)
            else { return false }
            unsafe list = unsafe longer
        }
        return unsafe coffer_curl_set_pointer(handle.easy, CURLOPT_HTTPHEADER, list) == CURLE_OK
    }

    func setErrorText() -> Bool {
        unsafe coffer_curl_set_pointer(handle.easy, CURLOPT_ERRORBUFFER, errorText) == CURLE_OK
    }
}
