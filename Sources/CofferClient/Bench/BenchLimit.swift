/// What limits something that goes through the cipher and the disk, in plain words.
struct BenchLimit {
    /// How many times as fast the cipher alone, and the disk alone, are; nil where they have no part.
    let cipher: Double?, disk: Double?
    /// The greatest spread of the rounds of all that is compared.
    let spread: Double

    /// A part that could do no more than this many times what was measured is what limits.
    private static let near = 1.5
    /// From here on rounds are too far apart to be silent about it.
    private static let noisy = 1.5

    /// A sentence that begins with what it is about.
    func sentence(_ subject: String) -> String {
        let noise =
            spread > Self.noisy
            ? "; unsure: rounds differ up to \(Self.number(spread)) times" : ""
        return "\(subject): \(verdict)\(noise)."
    }

    private var verdict: String {
        switch (cipher, disk) {
        case (nil, nil):
            "neither cipher nor disk has a part; the way through the kernel and Coffer limits"
        case (let cipher?, nil): Self.verdict(("cipher", cipher), nil)
        case (nil, let disk?): Self.verdict(("disk", disk), nil)
        case (let cipher?, let disk?):
            cipher < disk
                ? Self.verdict(("cipher", cipher), ("disk", disk))
                : Self.verdict(("disk", disk), ("cipher", cipher))
        }
    }

    /// - Parameter nearest: The slower one of the two.
    private static func verdict(_ nearest: (String, Double), _ other: (String, Double)?) -> String {
        guard nearest.1 <= near else {
            let rest = other.map { ", the \($0.0) \(number($0.1)) times that" } ?? ""
            return
                "the way through the kernel and Coffer limits (the \(nearest.0) could do \(number(nearest.1)) times that\(rest))"
        }
        guard let other else { return "the \(nearest.0) limits" }
        if other.1 <= near, other.1 <= nearest.1 * 1.2 { return "\(nearest.0) and \(other.0) limit alike" }
        return "the \(nearest.0) limits (the \(other.0) could do \(number(other.1)) times that)"
    }

    /// “3.1”, and “31” from ten on.
    static func number(_ value: Double) -> String {
        if value >= 9.95 { return value < 1e15 ? "\(Int(value.rounded()))" : "very many" }
        let tenths = Int((value * 10).rounded())
        return "\(tenths / 10).\(tenths % 10)"
    }
}
