/// BLAKE2b written from RFC 7693, slow and plain, to check derivations independently.
enum ReferenceBlake2b {
    private static let start: [UInt64] = [
        0x6A09_E667_F3BC_C908, 0xBB67_AE85_84CA_A73B, 0x3C6E_F372_FE94_F82B, 0xA54F_F53A_5F1D_36F1,
        0x510E_527F_ADE6_82D1, 0x9B05_688C_2B3E_6C1F, 0x1F83_D9AB_FB41_BD6B, 0x5BE0_CD19_137E_2179,
    ]
    private static let order: [[Int]] = [
        [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15],
        [14, 10, 4, 8, 9, 15, 13, 6, 1, 12, 0, 2, 11, 7, 5, 3],
        [11, 8, 12, 0, 5, 2, 15, 13, 10, 14, 3, 6, 7, 1, 9, 4],
        [7, 9, 3, 1, 13, 12, 11, 14, 2, 6, 5, 10, 4, 0, 15, 8],
        [9, 0, 5, 7, 2, 4, 10, 15, 14, 1, 11, 12, 6, 8, 3, 13],
        [2, 12, 6, 10, 0, 11, 8, 3, 4, 13, 7, 5, 15, 14, 1, 9],
        [12, 5, 1, 15, 14, 13, 4, 10, 0, 7, 6, 3, 9, 2, 8, 11],
        [13, 11, 7, 14, 12, 1, 3, 9, 5, 0, 15, 4, 8, 6, 2, 10],
        [6, 15, 14, 9, 11, 3, 0, 8, 12, 2, 13, 7, 1, 4, 10, 5],
        [10, 2, 8, 4, 7, 6, 1, 5, 15, 11, 9, 14, 3, 12, 13, 0],
    ]

    static func hash(_ input: [UInt8], key: [UInt8] = [], byteCount: Int) -> [UInt8] {
        var message = input
        if !key.isEmpty { message = key + [UInt8](repeating: 0, count: 128 - key.count) + input }
        var state = start
        state[0] ^= 0x0101_0000 ^ UInt64(key.count) << 8 ^ UInt64(byteCount)
        let blocks = max(1, (message.count + 127) / 128)
        let padded = message + [UInt8](repeating: 0, count: blocks * 128 - message.count)
        for block in 0..<blocks {
            let last = block == blocks - 1
            compress(
                &state, words(padded[block * 128..<block * 128 + 128]),
                count: UInt64(last ? message.count : (block + 1) * 128), last: last)
        }
        let bytes = state.flatMap { word in (0..<8).map { UInt8(truncatingIfNeeded: word >> (8 * $0)) } }
        return Array(bytes[..<byteCount])
    }

    private static func words(_ bytes: ArraySlice<UInt8>) -> [UInt64] {
        stride(from: bytes.startIndex, to: bytes.endIndex, by: 8).map { at in
            (0..<8).reduce(0) { $0 | UInt64(bytes[at + $1]) << (8 * UInt64($1)) }
        }
    }

    private static func compress(_ state: inout [UInt64], _ block: [UInt64], count: UInt64, last: Bool) {
        var v = state + start
        v[12] ^= count
        if last { v[14] = ~v[14] }
        func mix(_ a: Int, _ b: Int, _ c: Int, _ d: Int, _ x: UInt64, _ y: UInt64) {
            func step(_ word: UInt64, _ first: UInt64, _ second: UInt64) {
                v[a] = v[a] &+ v[b] &+ word
                v[d] = rotated(v[d] ^ v[a], first)
                v[c] = v[c] &+ v[d]
                v[b] = rotated(v[b] ^ v[c], second)
            }
            step(x, 32, 24)
            step(y, 16, 63)
        }
        for round in 0..<12 {
            let s = order[round % 10]
            for i in 0..<4 { mix(i, 4 + i, 8 + i, 12 + i, block[s[2 * i]], block[s[2 * i + 1]]) }
            for i in 0..<4 {
                mix(
                    i, 4 + (i + 1) % 4, 8 + (i + 2) % 4, 12 + (i + 3) % 4,
                    block[s[8 + 2 * i]], block[s[9 + 2 * i]])
            }
        }
        for index in 0..<8 { state[index] ^= v[index] ^ v[index + 8] }
    }

    private static func rotated(_ word: UInt64, _ distance: UInt64) -> UInt64 {
        word >> distance | word << (64 - distance)
    }
}
