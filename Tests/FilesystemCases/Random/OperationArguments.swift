internal import CFilesystemCalls
internal import Glibc

extension OperationGenerator {
    fileprivate static let directories = ["d0", "d1", "d 2", "dé"]
    fileprivate static let leaves = [
        "f0", "f1", "f2", "f3", "line\nfeed", "ünïcode", longName, "-dash",
    ]

    static let allocations = [
        0, LINUX_FALLOCATE_KEEP_SIZE, LINUX_FALLOCATE_PUNCH_HOLE, LINUX_FALLOCATE_PUNCH_HOLE,
        LINUX_FALLOCATE_ZERO_RANGE, LINUX_FALLOCATE_ZERO_RANGE | LINUX_FALLOCATE_KEEP_SIZE,
    ]

    /// No target leads upwards, so a link stays inside its directory whatever is renamed.
    static let targets = ["f0", "f1", "d0", "d0/f1", "nowhere", "."]

    /// Mostly renames between names of the same kind, so that the trees keep their directories.
    mutating func rename(flags: UInt32) -> Operation {
        switch random.below(8) {
        case 0: .rename(anything(), to: anything(), flags: flags)
        case 1, 2: .rename(directory(), to: directory(), flags: flags)
        default: .rename(file(), to: file(), flags: flags)
        }
    }

    mutating func parents() -> String {
        (0..<random.pick([0, 0, 1, 1, 2])).map { _ in random.pick(Self.directories) + "/" }.joined()
    }

    mutating func file() -> String {
        parents() + random.pick(Self.leaves)
    }

    mutating func directory() -> String {
        parents() + random.pick(Self.directories)
    }

    mutating func anything() -> String {
        random.below(4) == 0 ? directory() : file()
    }

    mutating func offset() -> Int64 {
        Int64(random.below(random.pick([100, 5000, 5000, 70_000, 140_000, 1_000_000])))
    }

    mutating func count() -> Int {
        1 + random.below(random.pick([20, 4096, 8192, 70_000]))
    }

    mutating func mode() -> mode_t {
        random.pick([0o644, 0o600, 0o777, 0o444, 0o1755, 0o2755, 0o4711, 0])
    }

    mutating func attribute() -> String {
        "user." + random.pick(["a", "b", "ü", "long.name.of.an.attribute"])
    }

    /// A time between 2001 and 2004, which differs from every time that the clock sets.
    mutating func time() -> Timestamp {
        Timestamp(
            seconds: Int64(1_000_000_000 + random.below(100_000_000)),
            nanoseconds: Int64(random.below(1_000_000_000)))
    }
}
