import CofferCrypto
import CofferSystem
import Testing

/// Bytes that look random and are the same in each run.
func pattern(_ count: Int, _ seed: UInt64 = 1) -> [UInt8] {
    var state = seed &* 0x9E37_79B9_7F4A_7C15 &+ 1
    return (0..<count).map { _ in
        state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
        return UInt8(truncatingIfNeeded: state >> 56)
    }
}

/// A key made of 32 given bytes.
func key<Role: KeyRole>(_ bytes: [UInt8], _ role: Role.Type = ItemRole.self) -> SymmetricKey<Role> {
    SymmetricKey(SecretBytes(copying: bytes.span.bytes))
}

extension SecretBytes {
    var array: [UInt8] { withBytes { $0.array } }
}

extension NoncePrefix {
    init(_ bytes: [UInt8]) {
        self.init(bytes.span.bytes, at: 0)
    }
}

extension Nonce {
    init(_ bytes: [UInt8]) {
        self.init(bytes.span.bytes, at: 0)
    }
}

/// All inputs of one sealed block.
struct BlockCase: Sendable {
    var key = pattern(32, 7)
    var prefix = NoncePrefix(low: 0x0123_4567_89AB_CDEF, high: 0xFEDC_BA98_7654_3210)
    var number: UInt64 = 3
    var associated = pattern(20, 8)
}

/// The result of opening: whether the block was authentic, and the content of the output.
struct Opened: Equatable {
    let bytes: [UInt8]
    let error: CryptoError?

    /// The expected result for anything forged.
    static func refused(_ count: Int) -> Opened {
        Opened(bytes: [UInt8](repeating: 0, count: count), error: .authenticationFailed)
    }

    static func authentic(_ bytes: [UInt8]) -> Opened {
        Opened(bytes: bytes, error: nil)
    }

    /// Runs `open` on an output of `count` bytes with other content.
    static func into(
        _ count: Int, _ open: (inout MutableRawSpan) throws(CryptoError) -> Void
    ) -> Opened {
        var output = [UInt8](repeating: 0xA5, count: count)
        do throws(CryptoError) {
            try output.withMutableRawSpan { (span: inout MutableRawSpan) throws(CryptoError) in
                try open(&span)
            }
            return Opened(bytes: output, error: nil)
        } catch {
            return Opened(bytes: output, error: error)
        }
    }
}

extension BlockCipher {
    /// Seals one block with the current key.
    func seal(_ plaintext: [UInt8], _ number: UInt64, _ associated: [UInt8]) -> [UInt8] {
        var sealed = [UInt8](repeating: 0xA5, count: plaintext.count + Seal.tagByteCount)
        sealed.withMutableRawSpan {
            seal(plaintext.span.bytes, number: number, associated: associated.span.bytes, into: &$0)
        }
        return sealed
    }

    /// Opens one block with the current key.
    func open(_ sealed: [UInt8], _ number: UInt64, _ associated: [UInt8]) -> Opened {
        Opened.into(sealed.count - Seal.tagByteCount) { (output: inout MutableRawSpan) throws(CryptoError) in
            try open(sealed.span.bytes, number: number, associated: associated.span.bytes, into: &output)
        }
    }

    func seal(_ plaintext: [UInt8], _ block: BlockCase) -> [UInt8] {
        begin(CofferCryptoTests.key(block.key), block.prefix)
        return seal(plaintext, block.number, block.associated)
    }

    func open(_ sealed: [UInt8], _ block: BlockCase) -> Opened {
        begin(CofferCryptoTests.key(block.key), block.prefix)
        return open(sealed, block.number, block.associated)
    }
}

/// The two ways to seal a block.
enum CipherKind: CaseIterable, Sendable {
    case libcrypto, sodium

    func make() -> any BlockCipher {
        switch self {
        case .libcrypto: LibcryptoBlockCipher()
        case .sodium: SodiumBlockCipher()
        }
    }
}
