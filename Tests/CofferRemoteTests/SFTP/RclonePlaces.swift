@testable import CofferRemote
import CofferSystem
import Foundation
import LocalServers
import RemoteConformance

/// The rclone of this machine, with a configuration that has the remote "tests": this machine's files.
enum Rclone {
    static let isThere = LocalServer.has("rclone")

    private static let configuration = Result {
        let directory = try TemporaryDirectory()
        try WholeFile.replace("\(directory.path)/rclone.conf", with: Array("[tests]\ntype = local\n".utf8))
        return directory
    }

    /// What rclone needs in its environment.
    static func variables() throws -> [String: String] {
        ["RCLONE_CONFIG": "\(try configuration.get().path)/rclone.conf"]
    }

    static func client(_ text: String, program: String = "rclone") throws -> SFTPBackend {
        guard case .rclone(let url) = try RemoteURL(text) else { throw RemoteURL.Mistake.noScheme }
        let variables = ProcessVariables.all.merging(try variables()) { $1 }
        return SFTPBackend(
            .rclone(url, variables, program: program), root: ".", text: "rclone remote \(url.place)",
            PollSchedule(first: 100, max: 300))
    }
}

/// Directories of this machine, by rclone: each client has an rclone of its own.
struct RclonePlaces: RemotePlaces {
    func make(_ kind: RemotePlace.Kind) async throws -> RemotePlace? {
        if kind != .ordinary, !FolderPlaces.canMount { return nil }
        let directory = try TemporaryDirectory()
        if kind != .ordinary { try directory.mountMemory(kind == .small ? 5 << 20 : 64 << 20) }
        let url = "rclone:tests:\(directory.path)"
        var place = try await place(
            try Rclone.client(url), try Rclone.client(url), vault: someVault(), url: url,
            environment: try Rclone.variables()
        ) { withExtendedLifetime(directory) {} }
        // rclone starts, and what it can do is tried.
        place.startMicroseconds = 1_500_000
        if kind == .readOnly {
            let object = RemotePlace.readOnlyObject(place.vault)
            try await place.remote.put(object, .memory([1, 2, 3]), ifAbsent: true)
            try directory.remountReadOnly()
        }
        return place
    }
}
