package import CofferCrypto
internal import CofferSystem

/// Credentials that a person has given Coffer for one place, and that the profile keeps.
///
/// They are used for exactly that place: an invite may name any server.
package final class RemoteLogin: Sendable {
    /// What a place wants.
    package enum Kind: String, Codable, Sendable {
        /// An access key, a secret key, and perhaps a session token.
        case keys
        /// A user and a password.
        case password
    }

    /// Why credentials cannot be those of a place.
    package enum Mistake: Error, Equatable {
        /// One of them is empty; the value is what it is called.
        case empty(String)
        /// One of them has a line end or another control character, or is not UTF-8.
        case unusable(String)
        /// One of them has more than 4096 bytes.
        case tooLong(String)
        /// The user's name has a colon, which ends it.
        case colonInUser
        /// The URL names another user.
        case otherUser
        /// A password has no session token.
        case tokenForPassword
    }

    /// The longest of them, in bytes.
    package static let byteCountMax = 4096

    /// The place, as `RemoteURL.loginPlace` has it.
    package let place: String
    /// The access key, or the user.
    package let user: SecretBytes
    /// The secret key, or the password.
    package let secret: SecretBytes
    /// The session token; empty if there is none.
    package let token: SecretBytes

    /// Checks credentials.
    package init(
        at place: String, user: consuming SecretBytes, secret: consuming SecretBytes,
        token: consuming SecretBytes
    ) throws(Mistake) {
        let isPassword = Self.kind(of: place) == .password
        let (first, second) = isPassword ? ("user", "password") : ("access key", "secret key")
        try Self.check(user, first)
        try Self.check(secret, second)
        if token.count > 0 { try Self.check(token, "session token") }
        if isPassword {
            if token.count > 0 { throw .tokenForPassword }
            let name = Self.text(user)
            if name.utf8.contains(UInt8(ascii: ":")) { throw .colonInUser }
            let named = (try? RemoteURL(place))?.loginUser
            if let named, !named.utf8.elementsEqual(name.utf8) { throw .otherUser }
        }
        self.place = place
        self.user = user
        self.secret = secret
        self.token = token
    }

    private static func check(_ bytes: borrowing SecretBytes, _ name: String) throws(Mistake) {
        guard bytes.count > 0 else { throw .empty(name) }
        guard bytes.count <= byteCountMax else { throw .tooLong(name) }
        var text = bytes.withBytes { $0.array }
        defer { SecretBytes.wipe(&text) }
        guard String(validating: text, as: UTF8.self) != nil,
            !text.contains(where: { $0 < 0x20 || $0 == 0x7F })
        else { throw .unusable(name) }
    }

    /// What a place wants.
    package static func kind(of place: String) -> Kind { place.hasPrefix("s3:") ? .keys : .password }

    static func text(_ bytes: borrowing SecretBytes) -> String {
        var copy = bytes.withBytes { $0.array }
        defer { SecretBytes.wipe(&copy) }
        return String(decoding: copy, as: UTF8.self)
    }
}

extension RemoteLogin.Mistake: CustomStringConvertible {
    package var description: String {
        switch self {
        case .empty(let what): "the \(what) is empty"
        case .unusable(let what): "the \(what) has a control character, or is not UTF-8"
        case .tooLong(let what): "the \(what) has more than \(RemoteLogin.byteCountMax) bytes"
        case .colonInUser: "the user's name has a colon"
        case .otherUser: "the URL names another user"
        case .tokenForPassword: "a password has no session token"
        }
    }
}

/// Finds the credentials of a place, as they are now; nil if there are none.
package typealias RemoteLogins = @Sendable (_ place: String) -> RemoteLogin?

extension RemoteURL {
    /// The place that credentials are for: the bucket, or the server and the user; nil if the remote takes none
    /// from Coffer.
    ///
    /// It is a URL itself, and its own place.
    package var loginPlace: String? {
        switch self {
        case .s3(let url): "s3:\(url.endpoint ?? "/")/\(url.bucket)"
        case .webdav(let url): url.loginPlace
        case .folder, .sftp, .rclone: nil
        }
    }

    /// The user that the URL names; nil if it names none.
    package var loginUser: String? {
        if case .webdav(let url) = self { url.user } else { nil }
    }
}

extension WebDAVURL {
    /// The server, and the user if the URL names one.
    var loginPlace: String {
        let user = user.map { "\(PercentEncoding.encode($0))@" } ?? ""
        return "webdav\(isSecure ? "s" : "")://\(user)\(authority)"
    }
}
