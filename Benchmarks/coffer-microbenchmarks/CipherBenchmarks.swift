internal import CofferCrypto

/// Times sealing and opening of blocks with each crypto library.
struct CipherBenchmarks {
    let loop: Loop

    func run() throws {
        try run(LibcryptoBlockCipher(), "libcrypto")
        try run(SodiumBlockCipher(), "libsodium")
        loop.measure("cipher: a key and a prefix (libcrypto)") { repetitions in
            let cipher = LibcryptoBlockCipher()
            let key = SymmetricKey<ItemRole>.random()
            for _ in 0..<repetitions { cipher.begin(key, NoncePrefix(low: 1, high: 2)) }
            cipher.end()
        }
    }

    private func run(_ cipher: any BlockCipher, _ library: String) throws {
        let key = SymmetricKey<ItemRole>.random()
        cipher.begin(key, .random())
        let associated = [UInt8](repeating: 7, count: 32)
        for (title, count) in [("4 KiB", 4_096), ("16 KiB", 16_384), ("1 MiB", 1 << 20)] {
            var plaintext = [UInt8](repeating: 42, count: count)
            var sealed = [UInt8](repeating: 0, count: count + Seal.tagByteCount)
            loop.measure("seal \(title), \(library)", bytes: count) { repetitions in
                for number in 0..<repetitions {
                    var span = sealed.mutableSpan
                    var target = span.mutableBytes
                    cipher.seal(
                        plaintext.span.bytes, number: UInt64(number), associated: associated.span.bytes,
                        into: &target)
                }
            }
            do {
                var span = sealed.mutableSpan
                var target = span.mutableBytes
                cipher.seal(plaintext.span.bytes, number: 0, associated: associated.span.bytes, into: &target)
            }
            try loop.measure("open \(title), \(library)", bytes: count) { repetitions in
                for _ in 0..<repetitions {
                    var span = plaintext.mutableSpan
                    var target = span.mutableBytes
                    try cipher.open(
                        sealed.span.bytes, number: 0, associated: associated.span.bytes, into: &target)
                }
            }
        }
        cipher.end()
    }
}
