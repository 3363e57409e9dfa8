package import CofferClient
internal import CofferSystem

/// `coffer bench`: measures the cipher, the disk and a mount on this machine, and finds the bottlenecks.
package struct Bench: Sendable {
    /// How a run ended.
    package enum Outcome: Sendable {
        case report(BenchReport)
        /// A signal ended it; all files are removed.
        case interrupted(signal: Int32)
    }

    /// The latest time at which a round may end, as far as can be foreseen, in seconds after the start.
    private static let secondsMax = 26.0

    private let directory: String
    private let size: Int
    private let isQuick: Bool

    /// - Parameters:
    ///   - directory: The directory for the files; must exist.
    ///   - size: The maximum size of the large file, in bytes.
    ///   - isQuick: Whether to measure only one round.
    package init(in directory: String, size: Int, isQuick: Bool) {
        self.directory = directory
        self.size = size
        self.isQuick = isQuick
    }

    /// The nearest existing directory to a profile's location.
    package static func directory(for location: ProfileLocation) -> String {
        var path = location.path
        while !Directory.exists(path), path != "/", path != "." { path = Directory.parent(of: path) }
        return path
    }

    /// Measures for at most half a minute.
    ///
    /// Leaves no files behind, whether it succeeds, fails, or is interrupted by a signal.
    ///
    /// - Parameters:
    ///   - options: The options of the mount of the temporary vault.
    ///   - progress: Called after each step.
    package func run(
        _ options: MountService.Options, environment: @escaping @Sendable (String) -> String?,
        progress: @escaping (Progress) -> Void
    ) throws(ClientError) -> Outcome {
        let start = Clock.monotonic
        let place = try BenchWorkplace(in: directory, size: size)
        var session = BenchSession(place: place, rounds: isQuick ? 1 : 3, progress: progress)
        // Runs before signals are held: it takes seconds, and leaves nothing to clean up.
        session.measurePassphrases(sensitive: !isQuick)
        let stop = BenchStop()
        try systemCalls { () throws(SystemError) in try stop.listen() }
        try place.make()
        defer { place.remove() }
        let mount = try session.mount(options, environment)
        do throws(ClientError) {
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
