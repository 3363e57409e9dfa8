internal import CofferSystem

/// `coffer bench`: what the cipher, the disk and a mount do on this machine, and what limits.
package struct Bench: Sendable {
    /// How it ended.
    package enum Outcome: Sendable {
        case report(BenchReport)
        /// By a signal; nothing is left behind.
        case interrupted(signal: Int32)
    }

    /// No further round begins that would end later than this, in seconds.
    private static let secondsMax = 26.0

    private let directory: String
    private let size: Int
    private let isQuick: Bool

    /// - Parameters:
    ///   - directory: Where files are made; it must exist.
    ///   - size: The most bytes of the large file.
    ///   - isQuick: Whether all is measured once only.
    package init(in directory: String, size: Int, isQuick: Bool) {
        self.directory = directory
        self.size = size
        self.isQuick = isQuick
    }

    /// The directory on the disk where a profile is, or would be.
    package static func directory(for location: ProfileLocation) -> String {
        var path = location.path
        while !Directory.exists(path), path != "/", path != "." { path = Directory.parent(of: path) }
        return path
    }

    /// Measures, for half a minute at the most.
    ///
    /// Nothing is left behind, whether it succeeds, fails, or is interrupted by a signal.
    ///
    /// - Parameters:
    ///   - options: For the mount of the throw-away vault.
    ///   - progress: Told of each step.
    package func run(
        _ options: MountService.Options, environment: @escaping @Sendable (String) -> String?,
        progress: @escaping (Progress) -> Void
    ) throws(ProfileError) -> Outcome {
        let start = Clock.monotonic
        let place = try BenchWorkplace(in: directory, size: size)
        var session = BenchSession(place: place, rounds: isQuick ? 1 : 3, progress: progress)
        // Before signals are held: it takes seconds, and leaves nothing to put away.
        session.measurePassphrases(sensitive: !isQuick)
        let stop = BenchStop()
        try systemCalls { () throws(SystemError) in try stop.listen() }
        try place.make()
        defer { place.remove() }
        let mount = try session.mount(options, environment)
        do throws(ProfileError) {
            var rounds = 0
            let begin = Clock.monotonic
            repeat {
                try session.measureRound(mount, BenchTimes(stop: stop))
                rounds += 1
            } while rounds < session.rounds && !stop.isSet
                && BenchTimes.seconds(since: start) + BenchTimes.seconds(since: begin) / Double(rounds)
                    < Self.secondsMax
            try mount?.end()
            if let signal = stop.signal { return .interrupted(signal: signal) }
            return .report(session.report(rounds, since: start))
        } catch {
            try? mount?.end()
            if let signal = stop.signal { return .interrupted(signal: signal) }
            throw error
        }
    }
}
