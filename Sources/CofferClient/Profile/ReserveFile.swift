internal import CofferSystem
internal import CofferVault
internal import Glibc
internal import Synchronization

/// An empty file next to the vaults that holds preallocated disk blocks beyond its end.
///
/// It takes a quarter of the free space, at least 512 KiB and at most 8 MiB, so that a small or nearly full
/// disk has one, too. It is not created on filesystems that cannot preallocate (fallocate(2)).
final class ReserveFile: DiskReserve {
    static let name = "reserve"
    /// Commits of removals need a few dozen pages; content that is still in memory needs up to 5 MiB more.
    static let byteCountMax = 8 << 20
    /// Less would not hold the commit of a removal.
    static let byteCountMin = 512 << 10

    private enum State {
        /// The file is missing, or could be larger.
        case wanted
        case whole
        case impossible
    }

    private let directory: String
    private let state = Mutex(State.wanted)

    /// - Parameter directory: The profile's directory.
    init(in directory: String) {
        self.directory = directory
    }

    /// The size of a reserve on a disk with this much free space, that of the reserve included; 0 for none.
    static func byteCount(in room: Int) -> Int {
        guard room >= byteCountMin else { return 0 }
        return min(byteCountMax, max(byteCountMin, room / 4 / byteCountMin * byteCountMin))
    }

    /// The bytes that are set aside now; nil if the filesystem cannot do that.
    var byteCount: Int? {
        state.withLock { state in
            guard state != .impossible else { return nil }
            guard let folder = try? POSIXStorageDirectory(path: directory, followsLink: true) else {
                return 0
            }
            return (try? Self.allocated(in: folder)) ?? 0
        }
    }

    func release() -> Bool {
        state.withLock { state in
            if state == .whole { state = .wanted }
            guard let folder = try? POSIXStorageDirectory(path: directory, followsLink: true) else {
                return false
            }
            do throws(SystemError) {
                guard try folder.contains(Self.name) else { return false }
                try folder.remove(Self.name)
                // Freed blocks become available once the filesystem has committed the removal.
                try folder.sync()
                return true
            } catch {
                return false
            }
        }
    }

    func restore() {
        state.withLock { state in
            guard state == .wanted,
                let folder = try? POSIXStorageDirectory(path: directory, followsLink: true)
            else { return }
            do throws(SystemError) {
                let present = try Self.allocated(in: folder)
                let wanted = Self.byteCount(in: try folder.space().available + present)
                if wanted > present {
                    try folder.open(Self.name, create: true).preallocate(at: 0, count: wanted)
                }
                if max(wanted, present) >= Self.byteCountMax { state = .whole }
            } catch {
                // If the filesystem cannot preallocate, trying again is useless.
                if error.code == EOPNOTSUPP || error.code == ENOSYS { state = .impossible }
                let isEmpty = (try? Self.allocated(in: folder)) == 0
                do throws(SystemError) { if isEmpty { try folder.remove(Self.name) } } catch { return }
            }
        }
    }

    /// The bytes that the file holds; 0 without a file.
    private static func allocated(in folder: POSIXStorageDirectory) throws(SystemError) -> Int {
        guard try folder.contains(name) else { return 0 }
        return try folder.open(name, create: false).allocatedByteCount()
    }
}
