internal import CSodium
internal import Synchronization

/// Locked memory between guard pages for many short secrets.
///
/// An allocation of its own would cost each secret some pages and three mappings, and a process has only
/// 65,530 mappings: a vault whose key was changed ten thousand times would come near that. Each place is used
/// once. The memory is freed with the last secret in it.
@safe
final class SecretSlab: Sendable {
    /// The size of the longest secret that gets a place in a slab, in bytes.
    static let placeByteCount = 64
    /// The number of places in a slab.
    private static let placeCount = 64
    private static let newest = Mutex<SecretSlab?>(nil)

    /// The address of its first byte.
    private let address: UInt
    /// How many places have been handed out.
    private let usedCount = Mutex(0)

    private init() {
        Sodium.ensureInitialised()
        guard let start = unsafe sodium_malloc(Self.placeCount * Self.placeByteCount) else {
            preconditionFailure("no locked memory for secret bytes")
        }
        address = UInt(bitPattern: start)
    }

    deinit {
        // SAFETY: init allocated the memory, and every secret with a place in it keeps this object alive.
        unsafe sodium_free(UnsafeMutableRawPointer(bitPattern: address))
    }

    /// Returns a slab, and the offset in it of a place that no secret has or had, in bytes.
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

    /// The address of the place at an offset.
    func start(of offset: Int) -> UnsafeMutableRawPointer {
        guard let start = unsafe UnsafeMutableRawPointer(bitPattern: address + UInt(offset)) else {
            preconditionFailure("a slab begins at 0")
        }
        return unsafe start
    }
}
