import CofferTestSupport

/// Bytes that look random and are the same in each run.
enum Pattern {
    static func make(_ count: Int, seed: UInt64 = 1) -> [UInt8] {
        var random = SplitMix64(seed: seed)
        return random.bytes(count)
    }
}
