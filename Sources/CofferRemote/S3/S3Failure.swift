internal import CofferHTTP

/// What a server of S3 says about a request that failed.
///
/// From "Error responses" in Amazon's S3 API reference; other servers use the same codes.
struct S3Failure {
    let status: Int
    /// Such as "NoSuchKey"; empty if the answer has none, as answers to HEAD.
    let code: String
    private let message: String
    private let region: String?
    private let endpoint: String?
    private let answer: HTTPResponse

    init(_ answer: HTTPResponse) {
        let root = XMLReader.read(answer.body)
        let error = root?.localName == "Error" ? root : nil
        self.answer = answer
        status = answer.status
        code = error?.child("Code")?.text ?? ""
        message = error?.child("Message")?.text ?? ""
        region = error?.child("Region")?.text ?? answer["x-amz-bucket-region"]
        endpoint = error?.child("Endpoint")?.text
    }

    /// Whether other credentials, or the same ones read again, may help.
    var isOfCredentials: Bool {
        [
            "ExpiredToken", "InvalidToken", "TokenRefreshRequired", "InvalidAccessKeyId",
            "SignatureDoesNotMatch",
        ].contains(code)
    }

    /// Whether an object was removed: some failures come with status 200, and an error as the body.
    static func hasRemoved(_ answer: HTTPResponse) -> Bool {
        answer.isSuccess && (answer.body.isEmpty || S3Failure(answer).code.isEmpty)
    }

    /// Whether an object was stored.
    ///
    /// Then there is an ETag, as a server of S3 has it, and anything else that answers with success may not.
    static func hasStored(_ answer: HTTPResponse) -> Bool { hasRemoved(answer) && answer["etag"] != nil }

    /// Whether the server does not know a condition of the request.
    var isNotImplemented: Bool { status == 501 || code == "NotImplemented" }

    /// The server's own words.
    private var text: String {
        let words = [code, message].filter { !$0.isEmpty }.joined(separator: ": ").prefix(500)
        if words.isEmpty { return "status \(status)" }
        return String(words.hasSuffix(".") ? words.dropLast() : words)
    }

    /// The fact that the failure states.
    ///
    /// - Parameter isChange: Whether the request was to change something.
    func error(isChange: Bool) -> RemoteError {
        if isOfCredentials {
            return .refused("\(text). Renew the credentials, or give Coffer others: coffer remote login")
        }
        switch code {
        case "NoSuchBucket": return .unreachable(text)
        case "SlowDown", "ServiceUnavailable", "RequestLimitExceeded", "TooManyRequests", "Throttling",
            "ThrottlingException", "OperationAborted", "ConditionalRequestConflict":
            return .busy(answer)
        case "RequestTimeTooSkewed":
            return .refused("\(text). Set this machine's clock: it is too far from the server's")
        case "AuthorizationHeaderMalformed", "PermanentRedirect", "TemporaryRedirect",
            "IllegalLocationConstraintException":
            return .refused(text + advice)
        case "AccessDenied", "AllAccessDisabled", "MethodNotAllowed":
            if isChange { return .readOnly }
            return .refused("\(text). Reading needs s3:GetObject, and s3:ListBucket on the bucket")
        case "QuotaExceeded", "XMinioStorageFull", "StorageFull", "XMinioAdminBucketQuotaExceeded":
            return .full
        case "RequestTimeout", "InternalError", "IncompleteBody": return .failed(text)
        default: return errorOfStatus(isChange: isChange)
        }
    }

    private func errorOfStatus(isChange: Bool) -> RemoteError {
        switch status {
        case 300..<400 where code.isEmpty && region == nil && answer["location"] != nil: .redirect(answer)
        case 300..<400: .refused(text + advice)
        case 407: .proxyWantsLogin
        case 404: .absent
        case 403: code.isEmpty && isChange ? .readOnly : .refused(text)
        case 400, 401, 405: .refused(text)
        case 408, 500, 502, 504: .failed(text)
        case 413, 507: .full
        case 429, 503: .busy(answer)
        case 501: .unsupported(text)
        case 200..<300: .failed(text)
        default: .failed(text)
        }
    }

    /// Where the bucket is, if the server says so.
    private var advice: String {
        if let region { return ". The bucket is in the region \(region): set AWS_REGION to it" }
        if let endpoint { return ". The server for this bucket is \(endpoint)" }
        return ". Set AWS_REGION to the bucket's region"
    }
}
