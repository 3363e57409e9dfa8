/// ChaCha20-Poly1305 and XChaCha20-Poly1305 written from RFC 8439 and draft-irtf-cfrg-xchacha-03, slow and
/// plain, to run their vectors, and to compare both ciphers with an independent implementation.
enum ReferenceChaCha {
    private static func words(_ bytes: ArraySlice<UInt8>) -> [UInt32] {
        stride(from: bytes.startIndex, to: bytes.endIndex, by: 4).map { at in
            (0..<4).reduce(0) { $0 | UInt32(bytes[at + $1]) << (8 * UInt32($1)) }
        }
    }

    private static func bytes(_ words: ArraySlice<UInt32>) -> [UInt8] {
        words.flatMap { word in (0..<4).map { UInt8(truncatingIfNeeded: word >> (8 * UInt32($0))) } }
    }

    private static func initialState(_ key: [UInt8], _ tail: [UInt32]) -> [UInt32] {
        [0x6170_7865, 0x3320_646E, 0x7962_2D32, 0x6B20_6574] + words(key[...]) + tail
    }

    /// RFC 8439, 2.1.
    private static func quarterRound(_ state: inout [UInt32], _ a: Int, _ b: Int, _ c: Int, _ d: Int) {
        func step(_ x: Int, _ y: Int, _ z: Int, _ distance: UInt32) {
            state[x] &+= state[y]
            let mixed = state[z] ^ state[x]
            state[z] = mixed << distance | mixed >> (32 - distance)
        }
        step(a, b, d, 16)
        step(c, d, b, 12)
        step(a, b, d, 8)
        step(c, d, b, 7)
    }

    private static func twentyRounds(_ initial: [UInt32]) -> [UInt32] {
        var state = initial
        for _ in 0..<10 {
            for column in 0..<4 { quarterRound(&state, column, column + 4, column + 8, column + 12) }
            for row in 0..<4 {
                quarterRound(&state, row, 4 + (row + 1) % 4, 8 + (row + 2) % 4, 12 + (row + 3) % 4)
            }
        }
        return state
    }

    /// RFC 8439, 2.4.
    static func chacha20(_ input: [UInt8], key: [UInt8], nonce: [UInt8], counter: UInt32) -> [UInt8] {
        var output: [UInt8] = []
        for start in stride(from: 0, to: input.count, by: 64) {
            let initial = initialState(key, [counter &+ UInt32(start / 64)] + words(nonce[...]))
            let stream = bytes(zip(twentyRounds(initial), initial).map { $0 &+ $1 }[...])
            output += zip(input[start..<min(start + 64, input.count)], stream).map { $0 ^ $1 }
        }
        return output
    }

    /// draft-irtf-cfrg-xchacha-03, 2.2.
    static func hchacha20(key: [UInt8], nonce: [UInt8]) -> [UInt8] {
        let state = twentyRounds(initialState(key, words(nonce[..<16])))
        return bytes(state[0..<4] + state[12..<16])
    }

    /// RFC 8439, 2.8.
    static func seal(_ plaintext: [UInt8], key: [UInt8], nonce: [UInt8], associated: [UInt8]) -> [UInt8] {
        let tagKey = chacha20([UInt8](repeating: 0, count: 32), key: key, nonce: nonce, counter: 0)
        let ciphertext = chacha20(plaintext, key: key, nonce: nonce, counter: 1)
        func padded(_ bytes: [UInt8]) -> [UInt8] {
            bytes + [UInt8](repeating: 0, count: (16 - bytes.count % 16) % 16)
        }
        func length(_ bytes: [UInt8]) -> [UInt8] {
            (0..<8).map { UInt8(truncatingIfNeeded: bytes.count >> (8 * $0)) }
        }
        let message = padded(associated) + padded(ciphertext) + length(associated) + length(ciphertext)
        return ciphertext + ReferencePoly1305.tag(message, key: tagKey)
    }

    /// draft-irtf-cfrg-xchacha-03, 2.3.
    static func xseal(_ plaintext: [UInt8], key: [UInt8], nonce: [UInt8], associated: [UInt8]) -> [UInt8] {
        seal(
            plaintext, key: hchacha20(key: key, nonce: nonce), nonce: [0, 0, 0, 0] + nonce[16...],
            associated: associated)
    }
}
