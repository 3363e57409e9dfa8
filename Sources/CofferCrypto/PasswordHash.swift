internal import CSodium

/// Argon2id (RFC 9106), version 0x13, one lane: derives an unlock key from a passphrase.
package struct PasswordHash: Sendable, Equatable {
    /// The size of the salt, in bytes.
    package static let saltByteCount = 16
    /// The accepted numbers of passes over the memory.
    package static let passesRange: ClosedRange<UInt32> = 2...64
    /// The accepted amounts of memory, in KiB: 64 MiB to 4 GiB.
    package static let memoryRange: ClosedRange<UInt32> = 65_536...4_194_304

    /// The largest accepted product of passes and memory in KiB: 16 GiB, about half a minute.
    package static let workMax: UInt64 = 16 << 20

    /// Passes over the memory.
    package let passes: UInt32
    /// Memory in KiB.
    package let memory: UInt32

    /// Checks the parameters, so that a tampered file can neither weaken nor stall an unlock.
    ///
    /// - Throws: `.parametersOutOfRange`.
    package init(passes: UInt32, memory: UInt32) throws(CryptoError) {
        guard Self.passesRange.contains(passes), Self.memoryRange.contains(memory),
            UInt64(passes) * UInt64(memory) <= Self.workMax
        else {
            throw .parametersOutOfRange
        }
        self.passes = passes
        self.memory = memory
    }

    private init(known passes: UInt32, _ memory: UInt32) {
        self.passes = passes
        self.memory = memory
    }

    /// 2 passes, 64 MiB: about 0.1 s.
    package static let interactive = PasswordHash(known: 2, 65_536)
    /// 3 passes, 256 MiB: about 0.6 s; the default.
    package static let moderate = PasswordHash(known: 3, 262_144)
    /// 4 passes, 1 GiB: a few seconds.
    package static let sensitive = PasswordHash(known: 4, 1_048_576)

    /// Derives the unlock key.
    ///
    /// Takes the memory and the time that the parameters require.
    ///
    /// - Throws: `.outOfMemory`.
    package func unlockKey(
        passphrase: borrowing SecretBytes, salt: [UInt8]
    ) throws(CryptoError) -> SymmetricKey<UnlockRole> {
        Sodium.ensureInitialised()
        precondition(salt.count == Self.saltByteCount)
        let (passes, memory) = (passes, memory)
        var result: Int32 = -1
        let key = passphrase.withBytes { passphrase in
            SecretBytes(count: 32) { (key: inout MutableRawSpan) throws(Never) in
                // SAFETY: all buffers outlive the call; `salt` has the length that the function reads.
                unsafe key.withPointer { key, keyCount in
                    unsafe passphrase.withPointer { passphrase, count in
                        result = unsafe passphrase.withMemoryRebound(to: CChar.self, capacity: count) {
                            unsafe crypto_pwhash(
                                key, UInt64(keyCount), $0, UInt64(count), salt, UInt64(passes),
                                Int(memory) * 1024, crypto_pwhash_ALG_ARGON2ID13)
                        }
                    }
                }
            }
        }
        guard result == 0 else { throw .outOfMemory }
        return SymmetricKey(key)
    }
}
