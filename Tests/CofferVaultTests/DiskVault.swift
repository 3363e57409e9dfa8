import CofferFormat
import CofferSystem
import CofferTestSupport
import Foundation

import CofferVault

/// A vault on a real disk, from which the test reads as a mount does.
final class DiskVault {
    let vault: Vault
    let directory: HurtDirectory
    let flights = ReadsInFlight()
    /// The directory of the packs.
    let packs: String
    private let path: String
    private let buffer = AlignedBuffer(count: 1 << 20)

    init() throws {
        path = NSTemporaryDirectory() + "/coffer-tests-\(UUID().uuidString)"
        packs = path + "/packs"
        try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: false)
        directory = HurtDirectory(try POSIXStorageDirectory(path: path), Hurts())
        let test = try TestVault.create()
        try Vault.create(in: directory, id: test.id, store: test.store, owner: TestVault.owner)
        vault = try Vault(
            in: directory, id: test.id, store: test.store, keys: test.keys, problems: ProblemLog())
    }

    deinit { try? FileManager.default.removeItem(atPath: path) }

    /// The outcome of a read.
    enum Answer: Equatable {
        case bytes([UInt8])
        case failure(String)
    }

    /// A read of one page, and whether it is in flight.
    struct Asked {
        let page: Int
        fileprivate let atOnce: [UInt8]?
        fileprivate let request: AwaitedRead?
        /// Whether the read is in flight.
        let isInFlight: Bool
    }

    /// Starts scattered reads of pages.
    func ask(_ number: Int64, pages: [Int]) throws -> [Asked] {
        try pages.map { page in
            var request: AwaitedRead?
            let count = flights.count
            let got = try vault.contents.read(
                number, at: Int64(page) * 4096, count: 4096, into: buffer, in: flights
            ) {
                let made = AwaitedRead()
                request = made
                return made
            }
            return Asked(
                page: page, atOnce: got.map { got in buffer.withBytes(0..<got) { $0.array } },
                request: request, isInFlight: flights.count > count)
        }
    }

    /// Ends all reads, and returns the answer of each.
    func answers(_ asked: [Asked]) throws -> [Answer] {
        while flights.endNext(waits: true) {}
        return try asked.map { asked in
            do {
                return .bytes(try asked.atOnce ?? asked.request?.wait() ?? [])
            } catch let error as FileSystemError {
                return .failure("\("\(error)".prefix { $0 != "(" })")
            }
        }
    }
}

/// Which reads past the page cache fail.
final class Hurts: Sendable {
    private struct State {
        var started = 0
        var failing: Set<Int> = []
        var places: [(name: String, range: Range<Int>)] = []
        var isSlow = false
        var hasHoles = true
    }

    private let state = Condition(State())

    /// Makes started reads fail, counted from now on, and with them all later reads of these places.
    func fail(started numbers: Set<Int>) {
        state.withLock { state in
            state.started = 0
            state.failing = numbers
        }
    }

    /// Whether nothing is cached, and each read takes some milliseconds.
    var isSlow: Bool {
        get { state.withLock { $0.isSlow } }
        set { state.withLock { $0.isSlow = newValue } }
    }

    /// Whether dead bytes can be given back to the disk.
    var hasHoles: Bool {
        get { state.withLock { $0.hasHoles } }
        set { state.withLock { $0.hasHoles = newValue } }
    }

    fileprivate func noteStart(_ name: String, _ range: Range<Int>) -> Bool {
        state.withLock { state in
            defer { state.started += 1 }
            guard state.failing.contains(state.started) else { return false }
            state.places.append((name, range))
            return true
        }
    }

    fileprivate func isHurt(_ name: String, _ range: Range<Int>) -> Bool {
        state.withLock { $0.places.contains { $0.name == name && $0.range.overlaps(range) } }
    }
}

/// A directory in which some reads fail.
final class HurtDirectory: StorageDirectory {
    private let directory: any StorageDirectory
    let hurts: Hurts

    init(_ directory: any StorageDirectory, _ hurts: Hurts) {
        self.directory = directory
        self.hurts = hurts
    }

    func open(_ name: String, create: Bool) throws(SystemError) -> any StorageFile {
        HurtFile(try directory.open(name, create: create), name, hurts)
    }
    func openDirect(_ name: String) throws(SystemError) -> (any StorageFile)? {
        try directory.openDirect(name).map { HurtFile($0, name, hurts) }
    }
    func remove(_ name: String) throws(SystemError) { try directory.remove(name) }
    func contains(_ name: String) throws(SystemError) -> Bool { try directory.contains(name) }
    func list() throws(SystemError) -> [String] { try directory.list() }
    func sync() throws(SystemError) { try directory.sync() }
    func subdirectory(_ name: String) throws(SystemError) -> any StorageDirectory {
        HurtDirectory(try directory.subdirectory(name), hurts)
    }
    func space() throws(SystemError) -> StorageSpace { try directory.space() }
}

private final class HurtFile: StorageFile {
    private let file: any StorageFile
    private let name: String
    private let hurts: Hurts

    init(_ file: any StorageFile, _ name: String, _ hurts: Hurts) {
        self.file = file
        self.name = name
        self.hurts = hurts
    }

    func read(into buffer: inout MutableRawSpan, at offset: Int) throws(SystemError) -> Int {
        if hurts.isHurt(name, offset..<offset + buffer.byteCount) {
            throw SystemError("read", code: EIO, on: name)
        }
        if hurts.isSlow { usleep(5_000) }
        return try file.read(into: &buffer, at: offset)
    }

    func start(
        _ read: any StartedRead, in flights: ReadsInFlight, into buffer: AlignedBuffer, _ range: Range<Int>,
        at offset: Int
    ) -> Bool {
        let isHurt = hurts.noteStart(name, offset..<offset + range.count)
        return file.start(isHurt ? Failed(read) : read, in: flights, into: buffer, range, at: offset)
    }

    func isAtHand(_ buffer: inout MutableRawSpan, at offset: Int) -> Bool {
        !hurts.isSlow && file.isAtHand(&buffer, at: offset)
    }

    func write(_ bytes: RawSpan, at offset: Int) throws(SystemError) { try file.write(bytes, at: offset) }
    func size() throws(SystemError) -> Int { try file.size() }
    func truncate(to size: Int) throws(SystemError) { try file.truncate(to: size) }
    func dataSync() throws(SystemError) { try file.dataSync() }
    func startWriteback(at offset: Int, count: Int) { file.startWriteback(at: offset, count: count) }
    func punchHole(at offset: Int, count: Int) throws(SystemError) {
        guard hurts.hasHoles else { throw SystemError("fallocate", code: EOPNOTSUPP, on: name) }
        try file.punchHole(at: offset, count: count)
    }
    func preallocate(at offset: Int, count: Int) throws(SystemError) {
        try file.preallocate(at: offset, count: count)
    }
}

/// A read that the disk fails.
private final class Failed: StartedRead {
    private let read: any StartedRead
    init(_ read: any StartedRead) { self.read = read }
    func end(_ result: Int) { read.end(Int(-EIO)) }
}
