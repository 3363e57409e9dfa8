/// Names the bottleneck of work that uses the cipher and the disk.
struct BenchLimit {
    /// How many times as fast the cipher alone and the disk alone are; nil if the work does not use them.
    let cipher: Double?, disk: Double?
    /// The greatest spread of rounds among the compared measures.
    let spread: Double

    /// A part that is at most this many times as fast as the work is its bottleneck.
    private static let near = 1.5
    /// A spread above this is mentioned.
    private static let noisy = 1.5

    /// Returns a sentence that begins with the subject.
    func sentence(_ subject: String) -> String {
        let noise =
            spread > Self.noisy
            ? "; uncertain: rounds differ by a factor of up to \(Self.number(spread))" : ""
        return "\(subject): \(verdict)\(noise)."
    }

    private var verdict: String {
        switch (cipher, disk) {
        case (nil, nil):
            "uses neither cipher nor disk; the path through the kernel and Coffer is the bottleneck"
        case (let cipher?, nil): Self.verdict(("cipher", cipher), nil)
        case (nil, let disk?): Self.verdict(("disk", disk), nil)
        case (let cipher?, let disk?):
            cipher < disk
                ? Self.verdict(("cipher", cipher), ("disk", disk))
                : Self.verdict(("disk", disk), ("cipher", cipher))
        }
    }

    /// - Parameter nearest: The slower of the two parts.
    private static func verdict(_ nearest: (String, Double), _ other: (String, Double)?) -> String {
        guard nearest.1 <= near else {
            let rest = other.map { ", the \($0.0) \(number($0.1)) times" } ?? ""
            return
                "the path through the kernel and Coffer is the bottleneck (the \(nearest.0) is \(number(nearest.1)) times as fast\(rest))"
        }
        guard let other else { return "the \(nearest.0) is the bottleneck" }
        if other.1 <= near, other.1 <= nearest.1 * 1.2 {
            return "\(nearest.0) and \(other.0) are both bottlenecks"
        }
        return "the \(nearest.0) is the bottleneck (the \(other.0) is \(number(other.1)) times as fast)"
    }

    /// Formats a factor: “3.1”, or “31” from ten on.
    static func number(_ value: Double) -> String {
        if value >= 9.95 { return value < 1e15 ? "\(Int(value.rounded()))" : "very many" }
        let tenths = Int((value * 10).rounded())
        return "\(tenths / 10).\(tenths % 10)"
    }
}
