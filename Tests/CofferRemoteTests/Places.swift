import CofferFormat
import CofferRemote
import CofferSystem
import Foundation
import RemoteConformance
import Testing

/// A vault that no other test has.
func someVault() -> RemoteLayout {
    RemoteLayout(VaultID(low: .random(in: 0 ... .max), high: .random(in: 0 ... .max)))
}

/// Runs a conformance case; skips the test if there is no place for it.
///
/// - Parameter comment: Is shown if the case fails.
func check(_ item: RemoteCase, at places: some RemotePlaces, _ comment: Comment? = nil) async throws {
    var outcome = RemoteConformance.Outcome.passed
    do {
        outcome = try await RemoteConformance.run(item, at: places)
    } catch {
        Issue.record(error, comment)
    }
    if outcome == .skipped { try Test.cancel("there is no such place here") }
}

/// A directory that is unmounted and removed with this value.
final class TemporaryDirectory: Sendable {
    let path: String

    init() throws {
        var template = Array("\(NSTemporaryDirectory())/coffer-remote-XXXXXX".utf8CString)
        guard let path = mkdtemp(&template) else { throw SystemError("mkdtemp", code: errno) }
        // The directory may end with a slash, which URLs do not take twice.
        self.path = String(cString: path).split(separator: "/").reduce(into: "") { $0 += "/\($1)" }
    }

    /// Mounts a file system in memory on it.
    func mountMemory(_ byteCount: Int) throws {
        guard mount("coffer", path, "tmpfs", 0, "size=\(byteCount)") == 0 else {
            throw SystemError("mount", code: errno, on: path)
        }
    }

    /// Remounts it read-only.
    func remountReadOnly() throws {
        guard mount("coffer", path, nil, UInt(MS_REMOUNT | MS_RDONLY), nil) == 0 else {
            throw SystemError("mount", code: errno, on: path)
        }
    }

    func unmount() { umount2(path, Int32(MNT_DETACH)) }

    deinit {
        chmod(path, 0o700)
        umount2(path, Int32(MNT_DETACH))
        try? FileManager.default.removeItem(atPath: path)
    }
}

/// Folders in the directory for temporary files, or file systems in memory.
struct FolderPlaces: RemotePlaces {
    var isMounted = false
    var publishing = FolderPublishing.allCases

    /// Whether this process may mount: root may, except in most containers.
    static let canMount: Bool = {
        guard let directory = try? TemporaryDirectory() else { return false }
        return (try? directory.mountMemory(1 << 20)) != nil
    }()

    func make(_ kind: RemotePlace.Kind) async throws -> RemotePlace? {
        let needsMount = isMounted || kind != .ordinary
        if needsMount, !Self.canMount { return nil }
        let directory = try TemporaryDirectory()
        if needsMount { try directory.mountMemory(kind == .small ? 5 << 20 : 512 << 20) }
        let client = { FolderBackend(path: directory.path, publishing: publishing) }
        // Another process would use all ways of publishing, not just one.
        let url = publishing == FolderPublishing.allCases ? "file://\(directory.path)" : nil
        let place = try await place(client(), client(), vault: someVault(), url: url) {
            withExtendedLifetime(directory) {}
        }
        if kind == .readOnly {
            let object = RemotePlace.readOnlyObject(place.vault)
            try await place.remote.put(object, .memory([1, 2, 3]), ifAbsent: true)
            try directory.remountReadOnly()
        }
        return place
    }
}

/// Remotes in memory, possibly wrapped.
struct MemoryPlaces: RemotePlaces {
    let pageEntryCountMax: Int
    var wrap: @Sendable (any RemoteBackend) -> any RemoteBackend = { $0 }

    func make(_ kind: RemotePlace.Kind) async throws -> RemotePlace? {
        let memory = MemoryRemote(
            capacity: kind == .small ? 5 << 20 : .max, pageEntryCountMax: pageEntryCountMax)
        let place = try await place(wrap(memory), wrap(memory), vault: someVault())
        if kind == .readOnly {
            let object = RemotePlace.readOnlyObject(place.vault)
            try await place.remote.put(object, .memory([1, 2, 3]), ifAbsent: true)
            memory.become(.readOnly)
        }
        return place
    }
}
