/// The calls of `StorageFile` and `StorageDirectory`, for faults and statistics.
package enum StorageCall: String, CaseIterable, Sendable {
    case read, write, size, truncate, dataSync, startWriteback, punchHole, preallocate
    case open, openDirect, remove, contains, list, sync, subdirectory, space

    /// The calls that change files or names.
    package static let changes: Set<StorageCall> = [
        .write, .truncate, .dataSync, .punchHole, .preallocate, .remove, .sync,
    ]
    /// The calls that wait for the disk.
    package static let flushes: Set<StorageCall> = [.dataSync, .sync]
}

/// Calls of the storage that are to fail.
package struct StorageFault: Sendable {
    /// The calls; all that can fail, if nil.
    package var calls: Set<StorageCall>?
    /// A part of the path of the call; any path, if nil.
    package var path: String?
    /// How many such calls succeed before one fails.
    package var skip: Int
    /// The error number that the call throws.
    package var code: Int32
    /// Whether all later calls fail, too.
    package var lasts: Bool

    package init(
        _ calls: Set<StorageCall>? = nil, path: String? = nil, skip: Int = 0, code: Int32, lasts: Bool = false
    ) {
        self.calls = calls
        self.path = path
        self.skip = skip
        self.code = code
        self.lasts = lasts
    }

    func concerns(_ call: StorageCall, _ path: String) -> Bool {
        (calls?.contains(call) ?? true) && (self.path.map { path.contains($0) } ?? true)
    }
}

/// The numbers of errno(3) that tests make calls fail with.
package enum ErrorNumber {
    package static let noEntry: Int32 = 2
    package static let inputOutput: Int32 = 5
    package static let noSpace: Int32 = 28
    package static let quota: Int32 = 122
}

/// The numbers of calls of a simulated disk.
package struct StorageStatistics: Sendable, Equatable {
    /// The counts by kind.
    package internal(set) var counts: [StorageCall: Int] = [:]
    /// The synced paths, in order; those of directories end in "/".
    package internal(set) var flushed: [String] = []
    /// The number of calls that failed on purpose.
    package internal(set) var failures = 0

    /// The number of calls of some kinds.
    package func count(_ calls: Set<StorageCall>) -> Int {
        calls.reduce(0) { $0 + (counts[$1] ?? 0) }
    }

    /// The number of calls of one kind.
    package subscript(call: StorageCall) -> Int { counts[call] ?? 0 }

    /// The number of all calls.
    package var total: Int { counts.values.reduce(0, +) }
}
