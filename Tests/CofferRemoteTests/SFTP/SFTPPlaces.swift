@testable import CofferRemote
import CofferSystem
import Foundation
import LocalServers
import RemoteConformance

/// Servers for all tests: one with all that OpenSSH can do, and one that lacks what it may lack.
enum SFTPServers {
    private static let rich = Result { try SSHServer() }
    private static let poor = Result { try SSHServer(denied: ["hardlink", "posix-rename", "fsync"]) }

    /// All cases but the two that a server without atomic puts cannot pass, as its `shortcomings` say.
    ///
    /// It removes what it replaces first, so a reader may find nothing; and one of two writers that race may fail.
    static let casesWithoutAtomicPuts = RemoteConformance.cases.filter {
        $0.name != "A read while an object is replaced sees one whole object"
            && $0.name != "Writers that are killed leave no part of an object, and at most one of each name"
    }

    static func server(isPoor: Bool = false) throws -> SSHServer {
        try isPoor ? poor.get() : rich.get()
    }

    /// A client of a directory of this machine.
    static func client(_ path: String, isPoor: Bool = false, program: String? = nil) throws -> SFTPBackend {
        let server = try server(isPoor: isPoor)
        return try client(url: "sftp://127.0.0.1:\(server.port)\(path)", program: program ?? server.client)
    }

    /// The most attempts to connect since a time: pauses are a second at first, then twice as long, up to a minute.
    static func attemptsMax(since start: Int64) -> Int {
        let seconds = Double(Clock.monotonic - start) / 1e9
        return 2 + Int(log2(seconds + 1)) + Int(seconds / 60)
    }

    static func client(url text: String, program: String) throws -> SFTPBackend {
        guard case .sftp(let url) = try RemoteURL(text) else { throw RemoteURL.Mistake.noScheme }
        let server = SFTPServer.ssh(url, ProcessVariables.all, program: program)
        return SFTPBackend(
            server, root: url.path, text: "SFTP directory \(url.text)", PollSchedule(first: 100, max: 300))
    }
}

/// Directories of this machine, by a server.
struct SFTPPlaces: RemotePlaces {
    var isPoor = false

    func make(_ kind: RemotePlace.Kind) async throws -> RemotePlace? {
        if kind != .ordinary, !FolderPlaces.canMount { return nil }
        let directory = try TemporaryDirectory()
        if kind != .ordinary { try directory.mountMemory(kind == .small ? 5 << 20 : 64 << 20) }
        let server = try SFTPServers.server(isPoor: isPoor)
        var place = try await place(
            try SFTPServers.client(directory.path, isPoor: isPoor),
            try SFTPServers.client(directory.path, isPoor: isPoor), vault: someVault(),
            url: "sftp://127.0.0.1:\(server.port)\(directory.path)",
            environment: [
                "PATH": "\(server.programs):\(ProcessInfo.processInfo.environment["PATH"] ?? "")"
            ]
        ) { withExtendedLifetime(directory) {} }
        // ssh logs in first.
        place.startMicroseconds = 1_500_000
        if kind == .readOnly {
            let object = RemotePlace.readOnlyObject(place.vault)
            try await place.remote.put(object, .memory([1, 2, 3]), ifAbsent: true)
            try directory.remountReadOnly()
        }
        return place
    }
}
