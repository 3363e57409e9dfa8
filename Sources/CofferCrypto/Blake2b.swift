internal import CSodium
internal import CofferSystem

/// BLAKE2b (RFC 7693), keyed or unkeyed, with 16 to 64 bytes of output.
package enum Blake2b {
    /// The unkeyed hash.
    package static func hash(_ bytes: RawSpan, byteCount: Int) -> [UInt8] {
        var output = [UInt8](repeating: 0, count: byteCount)
        output.withMutableRawSpan { unsafe hash(bytes, keyBytes: [UInt8]().span.bytes, into: &$0) }
        return output
    }

    /// The unkeyed 32-byte hash of two pieces, one after the other.
    static func hash(_ first: RawSpan, _ second: RawSpan) -> [UInt8] {
        Sodium.ensureInitialised()
        var output = [UInt8](repeating: 0, count: 32)
        // SAFETY: the state has the size and the alignment that libsodium asks for, and exists until this
        // function returns; all spans outlive their calls.
        let memory = UnsafeMutableRawPointer.allocate(
            byteCount: crypto_generichash_statebytes(), alignment: 64)
        defer { unsafe memory.deallocate() }
        let state = OpaquePointer(memory)
        _ = unsafe crypto_generichash_init(state, nil, 0, 32)
        unsafe first.withPointer { bytes, count in
            _ = unsafe crypto_generichash_update(state, bytes, UInt64(count))
        }
        unsafe second.withPointer { bytes, count in
            _ = unsafe crypto_generichash_update(state, bytes, UInt64(count))
        }
        output.withMutableRawSpan { output in
            unsafe output.withPointer { output, count in
                _ = unsafe crypto_generichash_final(state, output, count)
            }
        }
        return output
    }

    /// The hash keyed by a secret that derives no keys; it fills `output`.
    package static func hash(
        _ bytes: RawSpan, key: borrowing SymmetricKey<RowDigestRole>, into output: inout MutableRawSpan
    ) {
        key.bytes.withBytes { hash(bytes, keyBytes: $0, into: &output) }
    }

    /// The hash keyed by a secret that derives no keys; it fills `output`.
    package static func hash(
        _ bytes: RawSpan, key: borrowing SymmetricKey<StateHashRole>, into output: inout MutableRawSpan
    ) {
        key.bytes.withBytes { hash(bytes, keyBytes: $0, into: &output) }
    }

    /// The hash keyed by a secret, as secret bytes.
    static func secret(_ bytes: RawSpan, key: borrowing SecretBytes) -> SecretBytes {
        key.withBytes { key in
            SecretBytes(count: 32) { (output: inout MutableRawSpan) throws(Never) in
                hash(bytes, keyBytes: key, into: &output)
            }
        }
    }

    /// The unkeyed hash of a secret, as secret bytes.
    static func secret(_ secret: borrowing SecretBytes) -> SecretBytes {
        secret.withBytes { bytes in
            SecretBytes(count: 32) { (output: inout MutableRawSpan) throws(Never) in
                unsafe hash(bytes, keyBytes: [UInt8]().span.bytes, into: &output)
            }
        }
    }

    static func hash(_ bytes: RawSpan, keyBytes: RawSpan, into output: inout MutableRawSpan) {
        Sodium.ensureInitialised()
        precondition((16...64).contains(output.byteCount))
        // SAFETY: all three spans outlive the call.
        unsafe output.withPointer { output, outputCount in
            unsafe bytes.withPointer { bytes, count in
                unsafe keyBytes.withPointer { key, keyCount in
                    _ = unsafe crypto_generichash(output, outputCount, bytes, UInt64(count), key, keyCount)
                }
            }
        }
    }
}
