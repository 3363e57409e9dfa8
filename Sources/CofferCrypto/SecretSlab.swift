internal import CSodium
internal import Synchronization

/// Locked memory between guard pages for many short secrets.
///
/// An allocation of its own costs a secret some pages and three mappings, of which a process has 65,530: a vault whose
/// key was changed ten thousand times would come to that. A place is used once. The memory goes when the last secret in
/// it has gone.
@safe
final class SecretSlab: Sendable {
    /// Bytes of the longest secret that has its place in one.
    static let placeByteCount = 64
    /// Secrets of one.
    private static let placeCount = 64
    private static let newest = Mutex<SecretSlab?>(nil)

    /// Where it begins.
    private let address: UInt
    /// Places that were given.
    private let usedCount = Mutex(0)

    private init() {
        Sodium.ensureInitialised()
        guard let start = unsafe sodium_malloc(Self.placeCount * Self.placeByteCount) else {
            preconditionFailure("no locked memory for secret bytes")
        }
        address = UInt(bitPattern: start)
    }

    deinit {
        // SAFETY: it was allocated by init, and whoever has a place in it keeps this object.
        unsafe sodium_free(UnsafeMutableRawPointer(bitPattern: address))
    }

    /// A slab with a place in it that nobody else has or had: how many bytes behind its beginning.
    static func place() -> (slab: SecretSlab, offset: Int) {
        newest.withLock { newest in
            if let newest, let offset = newest.nextPlace() { return (newest, offset) }
            let slab = SecretSlab()
            newest = slab
            guard let offset = slab.nextPlace() else { preconditionFailure("a slab has more than one place") }
            return (slab, offset)
        }
    }

    private func nextPlace() -> Int? {
        usedCount.withLock { count in
            guard count < Self.placeCount else { return nil }
            count += 1
            return (count - 1) * Self.placeByteCount
        }
    }

    /// Where a place begins.
    func start(of offset: Int) -> UnsafeMutableRawPointer {
        guard let start = unsafe UnsafeMutableRawPointer(bitPattern: address + UInt(offset)) else {
            preconditionFailure("a slab begins at 0")
        }
        return unsafe start
    }
}
