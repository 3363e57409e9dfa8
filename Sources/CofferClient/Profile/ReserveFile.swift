internal import CofferSystem
internal import CofferVault
internal import Glibc
internal import Synchronization

/// An empty file next to the vaults that holds preallocated disk blocks beyond its end.
///
/// It is not created on filesystems that cannot preallocate (fallocate(2)).
final class ReserveFile: DiskReserve {
    static let name = "reserve"
    /// Commits of removals need a few dozen pages; content that is still in memory needs up to 5 MiB more.
    static let byteCount = 8 << 20
    /// Space that must stay free besides it; vaults stop accepting content at 8 MiB.
    private static let marginByteCount = 32 << 20

    private let directory: String
    /// Whether the file is known to exist.
    private let isThere = Mutex(false)

    /// - Parameter directory: The profile's directory.
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
                // Freed blocks become available once the filesystem has committed the removal.
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
                // If the filesystem cannot preallocate, trying again is useless.
                isThere = error.code == EOPNOTSUPP || error.code == ENOSYS
                do throws(SystemError) { try folder.remove(Self.name) } catch { return }
            }
        }
    }
}
