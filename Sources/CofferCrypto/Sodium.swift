internal import CSodium
internal import Synchronization

/// libsodium, initialised on first use.
enum Sodium {
    private static let initialised: Bool = sodium_init() >= 0

    /// Must be called before any other function of libsodium.
    static func ensureInitialised() {
        precondition(initialised, "libsodium could not be initialised")
    }
}

/// Random bytes of the operating system.
///
/// From getrandom(2), through libsodium.
package enum Random {
    /// Makes random bytes.
    package static func bytes(_ count: Int) -> [UInt8] {
        Sodium.ensureInitialised()
        var bytes = [UInt8](repeating: 0, count: count)
        unsafe randombytes_buf(&bytes, count)
        return bytes
    }

    /// Random numbers that have been fetched but not handed out: one system call fetches many.
    private static let pool = Mutex([UInt64]())
    private static let poolCount = 64

    /// Makes a random number, for nonces and identifiers, which are not secret.
    package static func number() -> UInt64 {
        pool.withLock { pool in
            if let number = pool.popLast() { return number }
            Sodium.ensureInitialised()
            pool = [UInt64](repeating: 0, count: poolCount)
            unsafe randombytes_buf(&pool, poolCount * 8)
            return pool.removeLast()
        }
    }
}
