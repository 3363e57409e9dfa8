internal import CofferClient
internal import CofferCrypto
internal import CofferSystem
internal import Glibc

/// A run of `coffer bench`, with its results so far.
struct BenchSession {
    let place: BenchWorkplace
    let rounds: Int
    private let progress: (Progress) -> Void
    private var results = BenchResults()
    private var notes: [String] = []
    /// The number of finished steps; the passphrases are one step, and each round has three.
    private var steps = 0

    init(place: BenchWorkplace, rounds: Int, progress: @escaping (Progress) -> Void) {
        self.place = place
        self.rounds = rounds
        self.progress = progress
    }

    private mutating func finishStep() {
        steps += 1
        progress(Progress(done: steps, total: 1 + 3 * rounds))
    }

    mutating func measurePassphrases(sensitive: Bool) {
        progress(Progress(done: 0, total: 1 + 3 * rounds))
        BenchCipher().measurePassphrases(sensitive: sensitive, into: &results, &notes)
        if !sensitive {
            notes.append("“\(BenchMeasure.argonSensitive.title)” is left out because of --quick.")
        }
        finishStep()
    }

    /// Mounts the temporary vault; nil, with a note, if FUSE cannot be used.
    mutating func mount(
        _ options: MountService.Options, _ environment: @escaping @Sendable (String) -> String?
    ) throws(ClientError) -> BenchMount? {
        var options = options
        options.endsOnSignal = false
        do throws(ClientError) {
            guard Directory.exists("/dev/fuse") else {
                throw .mount(.noFUSE(SystemError("open", code: ENOENT, on: "/dev/fuse")))
            }
            return try BenchMount(in: place, options, environment)
        } catch {
            guard case .mount(.noFUSE) = error else { throw error }
            notes.append("The mount is left out: \(error)")
            return nil
        }
    }

    /// Measures one round; ends early after a signal.
    mutating func measureRound(_ mount: BenchMount?, _ times: BenchTimes) throws(ClientError) {
        do throws(CryptoError) {
            try BenchCipher().measure(into: &results)
        } catch {
            throw .cipherFailed
        }
        finishStep()
        let disk = try systemCalls { () throws(SystemError) in
            let directory = try POSIXStorageDirectory(path: place.path)
            return try BenchDisk(directory: directory, times: times).measure(place.size, into: &results)
        }
        let note = "The disk's figures include the kernel's cache, which this filesystem cannot bypass."
        if !disk.isDirect, !notes.contains(note) { notes.append(note) }
        finishStep()
        if let mount, disk.count > 0 {
            try systemCalls { () throws(SystemError) in
                try BenchVault(mount: mount, times: times).measure(disk.count, into: &results)
            }
        }
        finishStep()
    }

    func report(_ rounds: Int, since start: Int64) -> BenchReport {
        var notes = notes
        if rounds < self.rounds {
            notes.append("There was only time for \(rounds) of \(self.rounds) rounds.")
        }
        return BenchReport(
            directory: Directory.parent(of: place.path), cores: Int(sysconf(Int32(_SC_NPROCESSORS_ONLN))),
            size: place.size, rounds: rounds, seconds: BenchTimes.seconds(since: start), rows: results.rows,
            notes: notes)
    }
}
