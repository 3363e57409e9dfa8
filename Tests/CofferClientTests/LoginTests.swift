import CofferCrypto
import CofferFormat
import CofferRemote
import CofferSystem
import Testing

@testable import CofferClient

/// Credentials of remotes in a profile.
@Suite struct LoginTests {
    private static func login(
        _ place: String, _ user: String, _ secret: String, token: String = ""
    ) throws -> RemoteLogin {
        try RemoteLogin(
            at: place, user: CofferClientTests.secret(user), secret: CofferClientTests.secret(secret),
            token: CofferClientTests.secret(token))
    }

    private static func text(_ bytes: borrowing SecretBytes) -> String {
        bytes.withBytes { String(decoding: $0.array, as: UTF8.self) }
    }

    @Test func theyAreReadBack() throws {
        var body = ProfileBody(identity: IdentityKeys(name: "Alice"), device: DeviceKeys(label: "laptop"))
        body.logins = [
            try Self.login("s3://bucket", "key", "the secret", token: "token"),
            try Self.login("webdavs://me@host", "me", "ü"),
        ]
        let bytes = body.encoded()
        let read = try ProfileBody(bytes.span.bytes)
        let places = read.logins.map(\.place)
        #expect(places == ["s3://bucket", "webdavs://me@host"])
        let words = read.logins.map { [Self.text($0.user), Self.text($0.secret), Self.text($0.token)] }
        #expect(words == [["key", "the secret", "token"], ["me", "ü", ""]])
        let again = read.encoded()
        #expect(again == bytes)
    }

    private static func record(_ words: String...) -> [UInt8] {
        var writer = ByteWriter()
        for text in words { writer.text(text) }
        return writer.finish()
    }

    /// A place that is not one, or in another form.
    @Test(arguments: ["s3://bucket/path", "/folder", "S3://bucket", "", "webdav://HOST"])
    func otherPlacesAreRefused(_ place: String) {
        let record = Self.record(place, "key", "secret", "")
        #expect(throws: FormatError.invalid(field: "place")) { _ = try RemoteLogin(record.span.bytes) }
    }

    /// Credentials that are none of their place.
    @Test func recordsAreStrict() throws {
        let good = Self.record("webdavs://me@host", "me", "secret", "")
        let place = try RemoteLogin(good.span.bytes).place
        #expect(place == "webdavs://me@host")
        for bad in [
            Self.record("webdavs://me@host", "other", "secret", ""),
            Self.record("webdavs://me@host", "me", "secret", "token"),
            Self.record("s3://bucket", "", "secret", ""),
        ] {
            #expect(throws: FormatError.invalid(field: "login")) { _ = try RemoteLogin(bad.span.bytes) }
        }
    }

    @Test func aPlaceHasOneLogin() throws {
        let known = try Self.login("s3://bucket", "key", "secret")
        var body = ProfileBody(identity: IdentityKeys(name: "Alice"), device: DeviceKeys(label: "laptop"))
        body.logins = [known, known]
        let twice = body.encoded()
        #expect(throws: FormatError.invalid(field: "login")) { _ = try ProfileBody(twice.span.bytes) }
    }

    /// They are in the profile's file, sealed; setting replaces, and removing leaves nothing.
    @Test func theyAreKeptAndRemoved() throws {
        let made = try TestProfile()
        do {
            let profile = try made.unlock()
            try profile.setLogin(try Self.login("s3://bucket", "key", "first secret"))
            try profile.setLogin(try Self.login("s3://bucket", "key", "second secret"))
        }
        let file = String(decoding: try made.bytes(), as: UTF8.self)
        #expect(!file.contains("secret") && !file.contains("bucket"))
        do {
            let profile = try made.unlock()
            let login = profile.login(at: "s3://bucket")
            let secret = login.map { Self.text($0.secret) }
            #expect(secret == "second secret")
            #expect(profile.loginPlaces == ["s3://bucket"] && profile.logins("s3://other") == nil)
            #expect(try profile.removeLogin(at: "s3://bucket"))
            #expect(try !profile.removeLogin(at: "s3://bucket"))
        }
        #expect(try made.unlock().loginPlaces == [])
    }

    @Test func requests() throws {
        let made = try TestProfile()
        let vaults = try made.open()
        defer { vaults.close() }
        let handler = ControlHandler(vaults, SharedVaults(vaults), mountPoint: nil) { _ in }
        func ask(_ request: RemoteLoginRequest) throws(ClientError) -> RemoteLoginReport {
            try handler.answer(request) { _ in }
        }
        let url = "s3:https://host/bucket/path"
        let found = try ask(.find(remote: url))
        #expect(found.place == "s3:https://host/bucket" && found.kind == .keys && !found.isSet)
        let set = try ask(.set(remote: url, user: Array("k".utf8), secret: Array("s".utf8), token: []))
        #expect(set.isSet)
        #expect(try ask(.remove(remote: "s3:https://host/bucket")).isSet == false)
        let errors = [
            clientError { () throws(ClientError) in try ask(.remove(remote: url)) },
            clientError { () throws(ClientError) in
                try ask(.set(remote: url, user: [], secret: [1], token: []))
            },
            clientError { () throws(ClientError) in try ask(.find(remote: "/folder")) },
            clientError { () throws(ClientError) in try ask(.find(remote: "sftp://host/x")) },
            clientError { () throws(ClientError) in try ask(.find(remote: "Personal")) },
            clientError { () throws(ClientError) in try ask(.find(remote: "nothing")) },
        ]
        let names = [
            "notLoggedIn", "badLogin", "noLogin", "noLogin", "noRemote", "noSuchVault",
        ]
        #expect(errors.map { $0?.caseName } == names)
    }
}
