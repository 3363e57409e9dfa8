internal import CofferSystem
internal import CofferVault
internal import Glibc

/// An empty file that holds disk blocks beyond its end, beside the vaults.
///
/// Where the file system cannot set blocks aside (fallocate(2)) there is none.
final class ReserveFile: DiskReserve {
    static let name = "reserve"
    /// Commits of removals take some dozen pages; what is in memory of contents, up to 5 MiB more.
    static let byteCount = 8 << 20
    /// What must be free beside it: vaults stop taking content at 8 MiB.
    private static let marginByteCount = 32 << 20

    private let directory: String
    /// Whether the file is there, as far as that is known.
    private let isThere = Condition(false)

    /// - Parameter directory: The profile's.
    init(in directory: String) {
        self.directory = directory
    }

    func release() -> Bool {
        isThere.withLock { isThere in
            isThere = false
            guard let folder = try? POSIXStorageDirectory(path: directory, followsLink: true) else {
                return false
            }
            do throws(SystemError) {
                guard try folder.contains(Self.name) else { return false }
                try folder.remove(Self.name)
                // Others get freed blocks once the file system has noted that on the disk.
                try folder.sync()
                return true
            } catch {
                return false
            }
        }
    }

    func restore() {
        isThere.withLock { isThere in
            if isThere { return }
            guard let folder = try? POSIXStorageDirectory(path: directory, followsLink: true),
                let space = try? folder.space()
            else { return }
            do throws(SystemError) {
                let file = try folder.contains(Self.name) ? folder.open(Self.name, create: false) : nil
                if let file, try file.allocatedByteCount() >= Self.byteCount {
                    isThere = true
                    return
                }
                guard space.available >= Self.byteCount + Self.marginByteCount else { return }
                try folder.open(Self.name, create: true).preallocate(at: 0, count: Self.byteCount)
                isThere = true
            } catch {
                // Where blocks cannot be set aside, asking again each time would be of no use.
                isThere = error.code == EOPNOTSUPP || error.code == ENOSYS
                do throws(SystemError) { try folder.remove(Self.name) } catch { return }
            }
        }
    }
}
