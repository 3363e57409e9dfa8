import Foundation
import Testing

/// A value that several threads share.
// SAFETY: every access to `stored` is made while `lock` is held.
final class Shared<Value: Sendable>: @unchecked Sendable {
    private let lock = NSLock()
    private var stored: Value

    init(_ value: Value) { stored = value }

    var value: Value { lock.withLock { stored } }

    func change(_ body: (inout Value) -> Void) { lock.withLock { body(&stored) } }
}

/// A file in which every 16 bytes name their file, their page, and how often the page was written.
final class NumberedFile: Sendable {
    let path: String
    let pageCount: Int
    private let tag: UInt32
    /// For each page, how many writes of it have begun, and how many have ended.
    private let begun: Shared<[UInt64]>
    private let ended: Shared<[UInt64]>

    /// What a read may see besides the bytes that were written.
    enum Exception {
        case none
        /// The end of the file, or zeros.
        case cuts
    }

    struct Wrong: Error, CustomStringConvertible {
        let description: String
    }

    init(_ path: String, tag: Int, pages pageCount: Int) {
        self.path = path
        self.pageCount = pageCount
        self.tag = UInt32(tag)
        begun = Shared([UInt64](repeating: 0, count: pageCount))
        ended = Shared([UInt64](repeating: 0, count: pageCount))
    }

    /// Rewrites pages, durably.
    func write(_ pages: Range<Int>) throws {
        begun.change { counts in for page in pages { counts[page] += 1 } }
        let counts = begun.value
        var bytes: [UInt8] = []
        bytes.reserveCapacity(pages.count * 4096)
        for page in pages {
            for _ in 0..<256 {
                withUnsafeBytes(of: (tag, UInt32(page), counts[page])) { bytes.append(contentsOf: $0) }
            }
        }
        let file = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0o644)
        try Files.check(file, path)
        defer { close(file) }
        try Files.check(lseek(file, off_t(pages.lowerBound * 4096), SEEK_SET), path)
        try Files.append(bytes, to: file, path)
        try Files.check(fsync(file), path)
        ended.change { known in for page in pages { known[page] = counts[page] } }
    }

    /// Reads pages in random order, past the kernel's cache as far as the kernel drops them, and throws
    /// `Wrong` if a page has bytes that it cannot have.
    ///
    /// - Parameters:
    ///   - given: An open file to read from; nil opens the file.
    ///   - only: The only page to read.
    func readAtRandom(
        _ count: Int, seed: Int, from given: Int32? = nil, page only: Int? = nil,
        maySee exception: Exception = .none
    ) throws {
        let file = given ?? open(path, O_RDONLY | O_CLOEXEC)
        try Files.check(file, path)
        defer { if given == nil { close(file) } }
        _ = posix_fadvise(file, 0, 0, POSIX_FADV_RANDOM)
        var random = UInt64(seed) &* 7_919 &+ 88_172_645_463_325_252
        for _ in 0..<count {
            random ^= random << 13
            random ^= random >> 7
            random ^= random << 17
            let page = only ?? Int(random % UInt64(pageCount))
            _ = posix_fadvise(file, off_t(page * 4096), 4096, POSIX_FADV_DONTNEED)
            try read(page, from: file, exception)
        }
    }

    /// Reads the whole file.
    func readAll() throws {
        let file = open(path, O_RDONLY | O_CLOEXEC)
        try Files.check(file, path)
        defer { close(file) }
        for page in 0..<pageCount { try read(page, from: file, .none) }
    }

    private func read(_ page: Int, from file: Int32, _ exception: Exception) throws {
        let oldest = ended.value[page]
        var buffer = [UInt8](repeating: 0xee, count: 4096)
        let got = pread(file, &buffer, 4096, off_t(page * 4096))
        try Files.check(got, path)
        let newest = begun.value[page]
        if exception == .cuts, got == 0 { return }
        guard got == 4096 else { throw Wrong(description: "\(path): page \(page) has \(got) bytes") }
        for place in stride(from: 0, to: 4096, by: 16) {
            let (tag, number, count) = buffer.withUnsafeBytes { bytes in
                (
                    bytes.loadUnaligned(fromByteOffset: place, as: UInt32.self),
                    bytes.loadUnaligned(fromByteOffset: place + 4, as: UInt32.self),
                    bytes.loadUnaligned(fromByteOffset: place + 8, as: UInt64.self)
                )
            }
            if exception == .cuts, (tag, number, count) == (0, 0, 0) { continue }
            // A write in progress may be visible in part.
            guard tag == self.tag, number == page, oldest <= count, count <= newest else {
                throw Wrong(
                    description: """
                        \(path): page \(page), byte \(place), has (\(tag), \(number), \(count)), and was \
                        written \(oldest) to \(newest) times
                        """)
            }
        }
    }
}

/// Threads that run concurrently.
final class Crew {
    private var works: [@Sendable () throws -> Void] = []
    private var endless: [@Sendable (Int) throws -> Void] = []

    func add(_ work: @escaping @Sendable () throws -> Void) { works.append(work) }

    /// Adds work that repeats, with the number of the round, until all work given to `add` is done.
    func addUntilOthersEnd(_ work: @escaping @Sendable (Int) throws -> Void) { endless.append(work) }

    /// Returns once all threads have ended; throws the first error, which ends all of them early.
    func run() throws {
        let errors = Shared<[any Error]>([])
        let (group, others) = (DispatchGroup(), DispatchGroup())
        let isOver = Shared(false)
        func start(_ group: DispatchGroup, _ work: @escaping @Sendable () throws -> Void) {
            group.enter()
            Thread {
                do { try work() } catch { errors.change { $0.append(error) } }
                group.leave()
            }.start()
        }
        for work in works { start(group, work) }
        for work in endless {
            start(others) {
                var round = 0
                while !isOver.value, errors.value.isEmpty {
                    try work(round)
                    round += 1
                }
            }
        }
        group.wait()
        isOver.change { $0 = true }
        others.wait()
        if let error = errors.value.first { throw error }
    }
}
