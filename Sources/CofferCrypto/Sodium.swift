internal import CSodium

/// libsodium, initialised on first use.
enum Sodium {
    private static let initialised: Bool = sodium_init() >= 0

    /// Must be called before any other function of libsodium.
    static func ensureInitialised() {
        precondition(initialised, "libsodium could not be initialised")
    }
}

/// Randomness of the operating system. As getrandom(2), through libsodium.
package enum Random {
    /// Fresh random bytes.
    package static func bytes(_ count: Int) -> [UInt8] {
        Sodium.ensureInitialised()
        var bytes = [UInt8](repeating: 0, count: count)
        unsafe randombytes_buf(&bytes, count)
        return bytes
    }

    /// A fresh random number.
    package static func number() -> UInt64 {
        Sodium.ensureInitialised()
        var number: UInt64 = 0
        unsafe randombytes_buf(&number, 8)
        return number
    }
}
