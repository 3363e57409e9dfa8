internal import CofferCrypto
internal import CofferFormat
internal import CofferRemote
internal import Synchronization

// The credentials that the profile has for remotes; they stay on this device.
extension Profile {
    /// The credentials of a place; nil if there are none.
    func login(at place: String) -> RemoteLogin? {
        state.withLock { $0.body.logins.first { $0.place == place } }
    }

    /// The places that have credentials.
    var loginPlaces: [String] { state.withLock { $0.body.logins.map(\.place) } }

    /// Finds credentials, also those that are set or removed later.
    var logins: RemoteLogins { { [self] place in login(at: place) } }

    /// Keeps credentials; they replace earlier ones of the place.
    func setLogin(_ login: RemoteLogin) throws(ClientError) {
        try change { state throws(ClientError) in
            state.body.logins.removeAll { $0.place == login.place }
            state.body.logins.append(login)
        }
    }

    /// Removes the credentials of a place.
    ///
    /// - Returns: Whether there were any.
    func removeLogin(at place: String) throws(ClientError) -> Bool {
        if login(at: place) == nil { return false }
        try change { state throws(ClientError) in state.body.logins.removeAll { $0.place == place } }
        return true
    }
}

// The record of a login (docs/format.md, "Profile body").
extension RemoteLogin {
    /// An upper bound of its encoded size.
    var byteCountMax: Int { place.utf8.count + user.count + secret.count + token.count + 8 }

    func write(into writer: inout ByteWriter) {
        writer.text(place)
        Self.write(user, into: &writer)
        Self.write(secret, into: &writer)
        Self.write(token, into: &writer)
    }

    private static func write(_ secret: borrowing SecretBytes, into writer: inout ByteWriter) {
        writer.number(UInt16(secret.count))
        secret.withBytes { writer.append($0) }
    }

    /// Decodes a record.
    ///
    /// - Throws: `.invalid` if the place is no place of credentials in its canonical form.
    convenience init(_ record: RawSpan) throws(FormatError) {
        var cursor = ByteCursor()
        let place = try cursor.text("place", from: record)
        guard let url = try? RemoteURL(place), url.loginPlace == place else { throw .invalid(field: "place") }
        let user = try cursor.secret(Int(try cursor.number(UInt16.self, from: record)), from: record)
        let secret = try cursor.secret(Int(try cursor.number(UInt16.self, from: record)), from: record)
        let token = try cursor.secret(Int(try cursor.number(UInt16.self, from: record)), from: record)
        try cursor.expectEnd(of: record)
        do throws(Mistake) {
            try self.init(at: place, user: user, secret: secret, token: token)
        } catch {
            throw .invalid(field: "login")
        }
    }
}
