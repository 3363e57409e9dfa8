import BenchmarkReport

/// Results of two measures and four systems, one of which does not take part.
enum SampleResults {
    static let write = Measure(.large, "write", "sequential write", "MB/s", .higher, overview: true)
    static let mount = Measure(.mount, "empty", "mount", "s", .lower, overview: true)

    static func results() -> Results {
        let reason = "it writes to a cache"
        let systems = [
            SystemDescription(id: "coffer", role: .subject, version: "1", options: ""),
            SystemDescription(id: "gocryptfs", role: .peer, version: "2", options: ""),
            SystemDescription(
                id: "rclone", role: .peer, version: "3", options: "a | b", notRacing: [write.id: reason]),
            SystemDescription(id: "ext4", role: .plain, version: "4", options: ""),
            SystemDescription(id: "fuse-memory", role: .ceiling, version: "5", options: ""),
        ]
        let writes: [(String, [Double])] = [
            ("coffer", [300, 100, 200]), ("gocryptfs", [90, 100, 110]), ("rclone", [900, 900, 900]),
            ("ext4", [400, 400, 400]), ("fuse-memory", [800, 800, 800]),
        ]
        let mounts: [(String, [Double])] = [("coffer", [0.5]), ("gocryptfs", [0.25]), ("rclone", [0.1])]
        let samples = [(write, writes), (mount, mounts)].flatMap { measure, rows in
            rows.flatMap { system, values in
                values.enumerated().map { index, value in
                    Sample(system: system, measure: measure.id, round: index + 1, value: value)
                }
            }
        }
        let machine = Machine(
            processor: "2 × Test", memory: 1 << 34, kernel: "6", distribution: "Test", disk: "/dev/x, ext4")
        let run = Run(
            date: "2026-01-31 12:00 UTC", rounds: 3, isQuick: false, seed: 1, sizes: ["large"], load: "0 0 0",
            omitted: ["encfs: not installed"])
        return Results(
            machine: machine, run: run, systems: systems, measures: [write, mount], samples: samples)
    }

    static func comparison(_ measure: Measure) throws -> Comparison {
        guard let comparison = Comparison(results(), measure) else { throw Missing() }
        return comparison
    }

    struct Missing: Error {}
}
