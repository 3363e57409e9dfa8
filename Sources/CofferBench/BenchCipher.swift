internal import CofferCrypto
internal import CofferFormat
internal import CofferSystem

/// Measures how fast one core seals and opens blocks, and tries passphrases; uses no files.
struct BenchCipher {
    private static let blockByteCount = ExtentLayout.blockByteCount
    /// The duration of each measurement of sealing or opening.
    private static let seconds = 0.08
    /// The maximum expected duration of trying a passphrase.
    private static let argonSecondsMax = 7.0

    func measure(into results: inout BenchResults) throws(CryptoError) {
        let libcrypto = try rates(LibcryptoBlockCipher())
        results.add(.sealLibcrypto, libcrypto.seal)
        results.add(.openLibcrypto, libcrypto.open)
        let sodium = try rates(SodiumBlockCipher())
        results.add(.sealSodium, sodium.seal)
        results.add(.openSodium, sodium.open)
    }

    /// Returns the rates of a cipher in MB/s.
    private func rates(_ cipher: any BlockCipher) throws(CryptoError) -> (seal: Double, open: Double) {
        cipher.begin(SymmetricKey<ItemRole>.random(), .random())
        defer { cipher.end() }
        let associated = Random.bytes(32)
        let content = Random.bytes(Self.blockByteCount)
        var sealed = [UInt8](repeating: 0, count: Self.blockByteCount + Seal.tagByteCount)
        var opened = [UInt8](repeating: 0, count: Self.blockByteCount)
        let seal = try Self.rate { () throws(CryptoError) in
            sealed.withMutableRawSpan { (target: inout MutableRawSpan) throws(Never) in
                unsafe cipher.seal(
                    content.span.bytes, number: 0, associated: associated.span.bytes, into: &target)
            }
        }
        let open = try Self.rate { () throws(CryptoError) in
            try opened.withMutableRawSpan { (target: inout MutableRawSpan) throws(CryptoError) in
                try unsafe cipher.open(
                    sealed.span.bytes, number: 0, associated: associated.span.bytes, into: &target)
            }
        }
        return (seal, open)
    }

    private static func rate(_ block: () throws(CryptoError) -> Void) throws(CryptoError) -> Double {
        try block()
        let start = Clock.monotonic
        var count = 0
        while BenchTimes.seconds(since: start) < seconds {
            for _ in 0..<16 { try block() }
            count += 16
        }
        return Double(count * blockByteCount) / BenchTimes.seconds(since: start) / 1e6
    }

    /// Tries a passphrase at each strength for which there is enough time and memory.
    ///
    /// - Parameter sensitive: Whether to try the costliest strength, too.
    func measurePassphrases(sensitive: Bool, into results: inout BenchResults, _ notes: inout [String]) {
        var strengths: [(BenchMeasure, PasswordHash)] = [
            (.argonInteractive, .interactive), (.argonModerate, .moderate),
        ]
        if sensitive { strengths.append((.argonSensitive, .sensitive)) }
        // From the last strength; the time is proportional to memory and passes.
        var secondsPerWork = 0.0
        for (measure, strength) in strengths {
            let work = Double(strength.memory) * Double(strength.passes)
            guard secondsPerWork * work <= Self.argonSecondsMax else {
                notes.append("“\(measure.title)” is left out: it would take too long.")
                continue
            }
            guard let free = Self.freeMemory, free > Int(strength.memory) * 5 / 4 else {
                notes.append("“\(measure.title)” is left out: there is not enough memory.")
                continue
            }
            let start = Clock.monotonic
            let key = try? strength.unlockKey(
                passphrase: .random(count: 16), salt: Random.bytes(PasswordHash.saltByteCount))
            guard key != nil else {
                notes.append("“\(measure.title)” is left out: there is not enough memory.")
                continue
            }
            let seconds = BenchTimes.seconds(since: start)
            secondsPerWork = seconds / work
            results.add(measure, seconds * 1000)
        }
    }

    /// The memory available without swapping, in KiB; MemAvailable in proc(5).
    private static var freeMemory: Int? {
        guard let bytes = try? WholeFile.read("/proc/meminfo", limit: 65_536) else { return nil }
        let lines = String(decoding: bytes, as: UTF8.self).split(separator: "\n")
        let line = lines.first { $0.hasPrefix("MemAvailable:") }
        return line?.split(separator: " ").dropFirst().first.flatMap { Int($0) }
    }
}
