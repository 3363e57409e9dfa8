internal import CCofferSystem
internal import CofferSystem
internal import Glibc

/// A request of a command to a profile, which is mounted or was opened for the command.
///
/// Each type of request has one type of answer.
package protocol ControlRequest: Codable, Sendable {
    /// What the command gets back.
    associatedtype Answer: Codable & Sendable

    /// Whether it changes vaults or their members; such requests are refused on a read-only mount.
    var changesVaults: Bool { get }

    /// Whether it may be sent again if the connection ends before the answer.
    var isRepeatable: Bool { get }

    /// The message that takes the request to a mount.
    var message: RequestMessage { get }

    /// Performs the request, in a mount or in the command's own process.
    func perform(by handler: ControlHandler, for client: RequestClient) throws(ClientError) -> Answer
}

extension ControlRequest {
    /// By default, what changes nothing may be repeated.
    package var isRepeatable: Bool { !changesVaults }
}

/// The command that waits for an answer.
package struct RequestClient: Sendable {
    /// Whether the command still waits.
    let isHeard: @Sendable () -> Bool
    /// Called during long work, on any thread.
    let progress: @Sendable (Progress) -> Void
    /// The connection to the command, which another process may have to answer; nil in the command's own process.
    var connection: Int32?
    /// The stream of an export, in the command's own process; a mount gets it over the connection.
    var stream: Int32?

    /// How long to wait for the stream, in milliseconds.
    private static let streamWait: Int64 = 5000

    /// Takes the stream that the command sent after its request.
    func takeStream() throws(ClientError) -> Descriptor {
        if let stream { return try systemCalls { () throws(SystemError) in try Descriptor.copy(of: stream) } }
        guard let connection else { throw .control(.malformed) }
        // The command sends it at once. One that does not must not keep a thread.
        do throws(SystemError) {
            try AwaitedStream.awaitInput(
                connection, milliseconds: Self.streamWait, subject: "control socket", isAwaited: isHeard)
        } catch {
            throw error.code == ECANCELED ? .export(.interrupted) : .control(.malformed)
        }
        let number = coffer_receive_descriptor(connection)
        guard number >= 0 else { throw .control(.malformed) }
        return Descriptor(owning: number)
    }
}

/// What performs the requests that reach a control socket.
protocol RequestPerformer: Sendable {
    /// Performs a request.
    func perform<Request: ControlRequest>(
        _ request: Request, for client: RequestClient
    ) throws(ClientError) -> Request.Answer
}

/// The answer to a request that only succeeds or fails.
package struct Done: Codable, Sendable {}

/// A request on its way to a mount, as one line of JSON.
///
/// A change of its encoding, or of that of an answer, raises `version`.
package enum RequestMessage: Codable, Sendable {
    case status(StatusRequest)
    case names(NamesRequest)
    case check(CheckRequest)
    case profile(ProfileRequest)
    case vault(VaultRequest)
    case remote(RemoteRequest)
    case remoteTest(RemoteTestRequest)
    case remoteLogin(RemoteLoginRequest)
    case sync(SyncRequest)
    case members(MembersRequest)
    case removals(RemovalsRequest)
    case member(MemberRequest)
    case invite(InviteRequest)
    case join(JoinRequest)
    case identity(IdentityRequest)
    case pin(PinRequest)
    case unpin(UnpinRequest)
    case evict(EvictRequest)
    case conflicts(ConflictsRequest)
    case resolve(ResolveRequest)
    case recovery(RecoveryRequest)
    case backup(BackupRequest)
    case devices(DevicesRequest)
    case pair(PairRequest)
    case pairingAnswer(PairingAnswer)
    case revoke(RevokeRequest)
    case history(HistoryRequest)
    case difference(DifferenceRequest)
    case restore(RestoreRequest)
    case snapshot(SnapshotRequest)
    case undo(UndoRequest)
    case export(ExportRequest)
    case importing(ImportRequest)
    case lock(LockRequest)
    case unlock(UnlockRequest)
    case lockState(LockStateRequest)

    /// The version of the messages between commands and mounts; part of the socket's name.
    static let version = 11

    /// The request in the message.
    var request: any ControlRequest {
        switch self {
        case .status(let request): request
        case .names(let request): request
        case .check(let request): request
        case .profile(let request): request
        case .vault(let request): request
        case .remote(let request): request
        case .remoteTest(let request): request
        case .remoteLogin(let request): request
        case .sync(let request): request
        case .members(let request): request
        case .removals(let request): request
        case .member(let request): request
        case .invite(let request): request
        case .join(let request): request
        case .identity(let request): request
        case .pin(let request): request
        case .unpin(let request): request
        case .evict(let request): request
        case .conflicts(let request): request
        case .resolve(let request): request
        case .recovery(let request): request
        case .backup(let request): request
        case .devices(let request): request
        case .pair(let request): request
        case .pairingAnswer(let request): request
        case .revoke(let request): request
        case .history(let request): request
        case .difference(let request): request
        case .restore(let request): request
        case .snapshot(let request): request
        case .undo(let request): request
        case .export(let request): request
        case .importing(let request): request
        case .lock(let request): request
        case .unlock(let request): request
        case .lockState(let request): request
        }
    }
}
