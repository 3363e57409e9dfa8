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
    /// Whoever runs the tests.
    static var caller: Caller { .current }

    /// How many vaults it is joining, how many it shares, and how many of those it syncs.
    var joinCount: Int { profile.joins.count }
    var syncedCount: Int { shared.all.count }
    var shareCount: Int { profile.shares.count }

    /// The problems that the status would tell.
    var problems: [ProblemLog.Problem] { vaults.problems.all }

    /// Begins to sync in the background, as a mount does, until `stopSyncing`.
    func startSyncing() { shared.start() }
    func stopSyncing() { shared.stop() }

    func ask<Request: ControlRequest>(_ request: Request) throws(ClientError) -> Request.Answer {
        try handler.respond(to: request) { _ in }
    }

    func invite(_ role: String = "writer", seconds: Int64 = 3600) throws -> String {
        try ask(InviteRequest.invite(vault: "Personal", role: role, seconds: seconds))
    }

    func vault(_ name: String) throws -> Vault { try #require(vaults.vault(named: Array(name.utf8))).vault }

    func write(_ text: String, to name: String, in vault: String) throws {
        let vault = try self.vault(vault)
        let item = try vault.create(
            Vault.NewItem(mode: 0o100644), named: Array(name.utf8), in: Vault.rootNumber, by: Self.caller)
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

extension ControlHandler {
    /// Answers a request, as to a client that listens as long as `isHeard` says so.
    func respond<Request: ControlRequest>(
        to request: Request, isHeard: @escaping @Sendable () -> Bool = { true },
        progress: @escaping @Sendable (CofferClient.Progress) -> Void
    ) throws(ClientError) -> Request.Answer {
        try answer(request, isHeard: isHeard, progress: progress)
    }
}
