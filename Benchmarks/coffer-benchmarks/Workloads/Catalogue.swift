internal import BenchmarkReport

/// All measures, in the order of the tables.
///
/// Benchmarks/README.md describes each one.
enum Catalogue {
    static let measures = single + latencies

    private static let single: [Measure] = [
        Measure(.large, "write", "sequential write + fsync", "MB/s", .higher, overview: true),
        Measure(.large, "read-cold", "sequential read, cold", "MB/s", .higher, overview: true),
        Measure(.large, "read-warm", "sequential read, warm", "MB/s", .higher, overview: true),
        Measure(.large, "random-read", "random 4 KiB read, cold", "reads/s", .higher, overview: true),
        Measure(.large, "random-read-4", "random 4 KiB read, cold, 4 programs", "reads/s", .higher),
        Measure(.large, "random-read-16", "random 4 KiB read, cold, 16 programs", "reads/s", .higher),
        Measure(.large, "random-write", "random 4 KiB writes + fsync", "writes/s", .higher, overview: true),
        Measure(.large, "append", "4 KiB append, each fsynced", "appends/s", .higher, overview: true),
        Measure(.large, "append-4", "4 KiB append, each fsynced, 4 programs", "appends/s", .higher),
        Measure(.large, "seek", "player: first byte after a seek", "ms", .lower, overview: true),
        Measure(.large, "seek-worst", "player: slowest seek", "ms", .lower),
        Measure(.large, "late", "player: reads that came late", "reads", .lower),
        Measure(.large, "write-cpu", "daemon's CPU for a GiB written", "s/GiB", .lower),
        Measure(.large, "read-cpu", "daemon's CPU for a GiB read, cold", "s/GiB", .lower),
        Measure(.large, "memory", "peak memory", "MiB", .lower),

        Measure(.small, "create", "create 4 KiB files", "files/s", .higher, overview: true),
        Measure(.small, "create-4", "create 4 KiB files, 4 programs", "files/s", .higher),
        Measure(.small, "walk-warm", "walk + stat, warm", "files/s", .higher, overview: true),
        Measure(.small, "walk-cold", "walk + stat, cold", "files/s", .higher, overview: true),
        Measure(.small, "read-warm", "read 4 KiB files, warm", "files/s", .higher, overview: true),
        Measure(.small, "read-cold", "read 4 KiB files, cold", "files/s", .higher, overview: true),
        Measure(.small, "rename", "rename", "files/s", .higher, overview: true),
        Measure(.small, "unlink", "unlink", "files/s", .higher, overview: true),
        Measure(.small, "memory", "peak memory", "MiB", .lower),

        Measure(.tree, "untar", "tar -x", "s", .lower, overview: true),
        Measure(.tree, "grep-cold", "grep -r, cold", "s", .lower, overview: true),
        Measure(.tree, "git-add", "git init, git add", "s", .lower, overview: true),
        Measure(.tree, "status-cold", "git status, cold", "s", .lower, overview: true),
        Measure(.tree, "status-warm", "git status, warm", "s", .lower, overview: true),
        Measure(.tree, "status-beside-reader", "git status, cold, beside a reader", "s", .lower),
        Measure(.tree, "reader-beside-status", "the reader of a large file meanwhile", "MB/s", .higher),
        Measure(.tree, "remove", "rm -rf", "s", .lower, overview: true),
        Measure(.tree, "memory", "peak memory", "MiB", .lower),

        Measure(.mount, "empty", "mount, no files", "s", .lower, overview: true),
        Measure(.mount, "full", "mount, many files", "s", .lower, overview: true),
        Measure(.mount, "unlock", "of this, the passphrase", "s", .lower),
        Measure(.mount, "empty-beyond", "mount beyond the passphrase, no files", "s", .lower),
        Measure(.mount, "full-beyond", "mount beyond the passphrase, many files", "s", .lower),

        Measure(.space, "written", "store over content, after writing", "ratio", .lower, overview: true),
        Measure(.space, "rewritten", "after a day of rewriting", "ratio", .lower),
        Measure(.space, "settled", "after that, once the store settles", "ratio", .lower, overview: true),
        Measure(.space, "settling", "until the store settles", "s", .lower),

        Measure(.slow, "list", "ls -l of 1,000 files, cold", "s", .lower),
        Measure(.slow, "list-reads", "ls -l, cold, beside 4 random readers", "s", .lower),
        Measure(.slow, "list-syncs", "ls -l, cold, beside a syncing writer", "s", .lower),

        Measure(.million, "create", "create empty files", "files/s", .higher),
        Measure(.million, "mount", "mount, cold", "s", .lower),
        Measure(.million, "walk-cold", "walk + stat, cold", "files/s", .higher),
        Measure(.million, "memory", "peak memory", "MiB", .lower),
    ]

    /// How long small operations take on a slow disk.
    private static let latencies: [Measure] = [("reads", "4 readers"), ("syncs", "a syncing writer")]
        .flatMap { load in
            ["rename", "stat", "create"].flatMap { operation in
                [("", "median"), ("-p99", "99th of 100"), ("-worst", "slowest")].map { figure in
                    Measure(
                        .slow, "\(operation)-\(load.0)\(figure.0)",
                        "\(operation) beside \(load.1), \(figure.1)", "ms", .lower)
                }
            }
        }
}
