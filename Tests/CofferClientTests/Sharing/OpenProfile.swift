import CofferFUSE
import CofferVault
import Testing

@testable import CofferClient

/// A profile opened as by a command: nothing runs in the background.
final class OpenProfile {
    let test: TestProfile
    let vaults: OpenVaults
    let shared: SharedVaults
    let handler: ControlHandler

    init(_ test: TestProfile, isReadOnly: Bool = false) throws {
        self.test = test
        vaults = OpenVaults(try test.unlock(), problems: ProblemLog(), isReadOnly: isReadOnly)
        shared = SharedVaults(vaults)
        handler = ControlHandler(vaults, shared, mountPoint: nil) { _ in }
    }

    convenience init() throws { try self.init(try TestProfile()) }

    deinit {
        shared.stop()
        vaults.close()
    }

    var profile: Profile { vaults.profile }

    func ask<Request: ControlRequest>(_ request: Request) throws(ClientError) -> Request.Answer {
        try handler.answer(request) { _ in }
    }

    func invite(_ role: String = "writer", seconds: Int64 = 3600) throws -> String {
        try ask(InviteRequest.invite(vault: "Personal", role: role, seconds: seconds))
    }

    func vault(_ name: String) throws -> Vault { try #require(vaults.vault(named: Array(name.utf8))).vault }

    func write(_ text: String, to name: String, in vault: String) throws {
        let vault = try self.vault(vault)
        let item = try vault.create(
            Vault.NewItem(mode: 0o100644), named: Array(name.utf8), in: Vault.rootNumber, by: .current)
        let bytes = Array(text.utf8)
        try vault.contents.write(
            bytes.span.bytes, to: item.number, at: 0, touches: true, dropsPrivileges: false)
    }

    func has(_ name: String, in vault: String) throws -> Bool {
        (try? self.vault(vault).lookup(Array(name.utf8), in: Vault.rootNumber)) != nil
    }

    func names() -> [String] { vaults.vaults.map(\.name) }

    func sync(_ vault: String? = nil) throws -> [SyncReport] {
        try ask(SyncRequest(vault: vault))
    }

    func members(_ vault: String = "Personal") throws -> MembersReport {
        try ask(MembersRequest(vault: vault))
    }

    /// The error of a request; nil if it succeeds.
    func error(_ request: some ControlRequest) -> ClientError? {
        clientError { () throws(ClientError) in try ask(request) }
    }
}
