internal import CCurl
internal import Glibc

extension HTTPTransfer {
    /// Sets all options of the handle, also those that an earlier transfer has set otherwise.
    ///
    /// - Throws: `.failed` if libcurl refuses one: a URL that is none, or a build without TLS.
    func configure(_ settings: HTTPSettings, _ authentication: HTTPAuthentication) throws(HTTPError) {
        var options = unsafe HTTPOptions(handle.easy)
        options.set(CURLOPT_URL, request.url)
        options.set(CURLOPT_PROTOCOLS_STR, "http,https")
        options.set(CURLOPT_FOLLOWLOCATION, 0)
        options.set(CURLOPT_NOSIGNAL, 1)
        options.set(CURLOPT_QUICK_EXIT, 1)
        options.set(CURLOPT_HTTP_VERSION, Int(CURL_HTTP_VERSION_2TLS))
        options.set(CURLOPT_CONNECTTIMEOUT, settings.connectSeconds)
        options.set(CURLOPT_LOW_SPEED_LIMIT, 1)
        options.set(CURLOPT_LOW_SPEED_TIME, settings.stallSeconds)
        options.set(CURLOPT_TCP_KEEPALIVE, 1)
        options.setTrust(settings.certificateFile)
        // No proxy reaches this machine itself.
        let isDirect = !request.usesProxy || HTTPOptions.isLoopback(request.url)
        options.set(CURLOPT_PROXY, isDirect ? "" : nil)
        setMethod(&options)
        setLogin(&options, authentication)
        setCallbacks(&options)
        guard setHeaders(), setErrorText(), options.areSet else {
            throw .failed("libcurl refuses the request to \(request.url)")
        }
    }

    private func setMethod(_ options: inout HTTPOptions) {
        // Undoes what an earlier transfer of the handle was.
        options.set(CURLOPT_NOBODY, 0)
        options.set(CURLOPT_HTTPGET, 1)
        if let body = request.body {
            options.set(CURLOPT_UPLOAD, 1)
            options.setOffset(CURLOPT_INFILESIZE_LARGE, body.byteCount)
        }
        if request.method == "HEAD" { options.set(CURLOPT_NOBODY, 1) }
        options.set(CURLOPT_CUSTOMREQUEST, ["GET", "HEAD"].contains(request.method) ? nil : request.method)
        options.set(CURLOPT_RANGE, request.range.map { "\($0.lowerBound)-\($0.upperBound - 1)" })
    }

    private func setLogin(_ options: inout HTTPOptions, _ authentication: HTTPAuthentication) {
        let login = request.login
        options.set(CURLOPT_USERNAME, login?.user)
        options.set(CURLOPT_PASSWORD, login?.password)
        let usesFile = login != nil && login?.password == nil
        options.set(CURLOPT_NETRC, Int(usesFile ? CURL_NETRC_OPTIONAL.rawValue : CURL_NETRC_IGNORED.rawValue))
        let all = HTTPOptions.digest | (login?.allowsClearText == true ? HTTPOptions.basic : 0)
        let known =
            switch authentication {
            case .unknown: all
            case .digest: all & HTTPOptions.digest
            case .basic: all & HTTPOptions.basic
            }
        options.set(CURLOPT_HTTPAUTH, Int(known == 0 ? all : known))
    }

    private func setCallbacks(_ options: inout HTTPOptions) {
        // SAFETY: libcurl calls back with this pointer only between curl_multi_add_handle(3) and
        // curl_multi_remove_handle(3), and `HTTPTransfers.running` holds the transfer for that time.
        let me = unsafe Unmanaged.passUnretained(self).toOpaque()
        unsafe options.setPointer(CURLOPT_WRITEDATA, me)
        unsafe options.setPointer(CURLOPT_HEADERDATA, me)
        unsafe options.setPointer(CURLOPT_READDATA, me)
        unsafe options.setPointer(CURLOPT_SEEKDATA, me)
        unsafe options.setCallback(CURLOPT_WRITEFUNCTION) { bytes, size, count, user in
            guard let transfer = unsafe HTTPTransfer.from(user) else { return 0 }
            let piece = unsafe UnsafeRawBufferPointer(start: bytes, count: size * count)
            return unsafe transfer.receive(piece) ? piece.count : 0
        }
        unsafe options.setCallback(CURLOPT_HEADERFUNCTION) { bytes, size, count, user in
            guard let transfer = unsafe HTTPTransfer.from(user) else { return 0 }
            let line = unsafe UnsafeRawBufferPointer(start: bytes, count: size * count)
            return unsafe transfer.receive(line: String(decoding: line, as: UTF8.self)) ? size * count : 0
        }
        unsafe options.setCallback(CURLOPT_READFUNCTION) { bytes, size, count, user in
            guard let transfer = unsafe HTTPTransfer.from(user) else { return Int(CURL_READFUNC_ABORT) }
            let buffer = unsafe UnsafeMutableRawBufferPointer(start: bytes, count: size * count)
            return unsafe transfer.send(buffer) ?? Int(CURL_READFUNC_ABORT)
        }
        unsafe options.setSeek { user, offset, origin in
            guard origin == SEEK_SET, offset >= 0, let transfer = unsafe HTTPTransfer.from(user) else {
                return Int32(CURL_SEEKFUNC_CANTSEEK)
            }
            transfer.rewind(to: Int(offset))
            return Int32(CURL_SEEKFUNC_OK)
        }
    }

    private static func from(_ user: UnsafeMutableRawPointer?) -> HTTPTransfer? {
        guard let user = unsafe user else { return nil }
        return unsafe Unmanaged<HTTPTransfer>.fromOpaque(user).takeUnretainedValue()
    }
}

/// The options of a handle, and whether libcurl has taken all of them.
@safe
struct HTTPOptions {
    static let basic: UInt = 1, digest: UInt = 2

    private let easy: UnsafeMutableRawPointer
    private(set) var areSet = true

    init(_ easy: UnsafeMutableRawPointer) {
        unsafe self.easy = unsafe easy
    }

    mutating func set(_ option: CURLoption, _ value: Int) {
        note(unsafe coffer_curl_set_long(easy, option, value))
    }

    mutating func setOffset(_ option: CURLoption, _ value: Int) {
        note(unsafe coffer_curl_set_offset(easy, option, curl_off_t(value)))
    }

    mutating func set(_ option: CURLoption, _ value: String?) {
        note(unsafe coffer_curl_set_string(easy, option, value))
    }

    mutating func setPointer(_ option: CURLoption, _ value: UnsafeMutableRawPointer) {
        note(unsafe coffer_curl_set_pointer(easy, option, value))
    }

    mutating func setCallback(_ option: CURLoption, _ value: coffer_curl_transfer) {
        note(unsafe coffer_curl_set_transfer(easy, option, value))
    }

    mutating func setSeek(_ value: coffer_curl_seek) { note(unsafe coffer_curl_set_seek(easy, value)) }

    /// TLS 1.2 or later, with a certificate for the host's name.
    mutating func setTrust(_ certificateFile: String?) {
        set(CURLOPT_SSL_VERIFYPEER, 1)
        set(CURLOPT_SSL_VERIFYHOST, 2)
        set(CURLOPT_SSLVERSION, Int(CURL_SSLVERSION_TLSv1_2))
        guard let certificateFile else { return }
        set(CURLOPT_CAINFO, certificateFile)
        // Otherwise the system's certificates would be trusted, too.
        set(CURLOPT_CAPATH, nil)
    }

    /// Whether a URL's host is this machine.
    static func isLoopback(_ url: String) -> Bool {
        guard let start = url.firstRange(of: "://")?.upperBound else { return false }
        let authority = url[start...].prefix { $0 != "/" && $0 != "?" && $0 != "#" }
        let host = authority.hasPrefix("[") ? authority.prefix { $0 != "]" } : authority.prefix { $0 != ":" }
        if host == "[::1" || host.lowercased() == "localhost" { return true }
        let parts = host.split(separator: ".", omittingEmptySubsequences: false)
        return parts.count == 4 && parts[0] == "127" && parts.allSatisfy { UInt8($0) != nil }
    }

    private mutating func note(_ code: CURLcode) { areSet = areSet && code == CURLE_OK }
}
