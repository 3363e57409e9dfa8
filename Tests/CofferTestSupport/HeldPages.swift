package import CofferSystem

/// Which pages of an index a disk has in its memory, and whether reads of others wait.
///
/// A page comes into memory by a read that waits for the disk, or by a write.
package final class HeldPages: Sendable {
    private struct Place: Hashable {
        let name: String
        let offset: Int
    }

    private struct State {
        var isOn = false
        var isHeld = false
        var remembers = true
        var error: Int32?
        var near: Set<Place> = []
        var waiting = 0
        var reads = 0
        var absences = 0
    }

    private let state = Condition(State())

    package init() {}

    /// Drops all pages from memory; from now on, reads of the index ask whether a page is there.
    ///
    /// - Parameter remembers: Whether pages that were read stay in memory.
    package func dropAll(remembers: Bool = true) {
        state.update { state in
            state.isOn = true
            state.remembers = remembers
            state.near = []
            state.reads = 0
            state.absences = 0
        }
    }

    /// Makes reads of pages that are not in memory wait until `release`.
    package func hold() { state.update { $0.isHeld = true } }

    /// Ends the waits, and lets later reads pass.
    package func release() { state.update { $0.isHeld = false } }

    /// Makes reads of pages that are not in memory fail; nil to end that.
    package func fail(with code: Int32?) { state.update { $0.error = code } }

    /// The number of reads that wait now.
    package var waitingCount: Int { state.withLock { $0.waiting } }
    /// The number of pages that were read from the disk since `dropAll`.
    package var readCount: Int { state.withLock { $0.reads } }
    /// How often a page was found absent since `dropAll`.
    package var absenceCount: Int { state.withLock { $0.absences } }

    /// Returns once a number of reads wait; false if that takes more than a minute and a half.
    package func awaitWaiting(_ count: Int = 1) -> Bool {
        state.wait(nanoseconds: 90_000_000_000) { $0.waiting >= count ? true : nil } ?? false
    }

    fileprivate func isNear(_ name: String, _ offset: Int) -> Bool {
        state.withLock { state in
            if !state.isOn || state.near.contains(Place(name: name, offset: offset)) { return true }
            state.absences += 1
            return false
        }
    }

    fileprivate func noteWrite(_ name: String, _ offset: Int) {
        state.withLock { state in
            if state.isOn, state.remembers { state.near.insert(Place(name: name, offset: offset)) }
        }
    }

    /// Waits, if reads are held, and brings a page into memory.
    fileprivate func bring(_ name: String, _ offset: Int) throws(SystemError) {
        let place = Place(name: name, offset: offset)
        guard state.withLock({ $0.isOn && !$0.near.contains(place) }) else { return }
        state.update { $0.waiting += 1 }
        state.wait { $0.isHeld ? nil : () }
        let error: Int32? = state.update { state in
            state.waiting -= 1
            if let error = state.error { return error }
            state.reads += 1
            if state.remembers { state.near.insert(place) }
            return nil
        }
        if let error { throw SystemError("read", code: error, on: name) }
    }
}

/// A directory with an index whose pages may be absent from memory.
package final class HeldPageDirectory: StorageDirectory {
    private let directory: any StorageDirectory
    private let pages: HeldPages

    package init(_ directory: any StorageDirectory, _ pages: HeldPages) {
        self.directory = directory
        self.pages = pages
    }

    package func open(_ name: String, create: Bool) throws(SystemError) -> any StorageFile {
        let file = try directory.open(name, create: create)
        return name == "index.sqlite" ? HeldPageFile(file, name, pages) : file
    }
    package func openDirect(_ name: String) throws(SystemError) -> (any StorageFile)? {
        try directory.openDirect(name)
    }
    package func remove(_ name: String) throws(SystemError) { try directory.remove(name) }
    package func contains(_ name: String) throws(SystemError) -> Bool { try directory.contains(name) }
    package func list() throws(SystemError) -> [String] { try directory.list() }
    package func sync() throws(SystemError) { try directory.sync() }
    package func subdirectory(_ name: String) throws(SystemError) -> any StorageDirectory {
        try directory.subdirectory(name)
    }
    package func space() throws(SystemError) -> StorageSpace { try directory.space() }
}

private final class HeldPageFile: StorageFile {
    private let file: any StorageFile
    private let name: String
    private let pages: HeldPages

    init(_ file: any StorageFile, _ name: String, _ pages: HeldPages) {
        self.file = file
        self.name = name
        self.pages = pages
    }

    func read(into buffer: inout MutableRawSpan, at offset: Int) throws(SystemError) -> Int {
        try pages.bring(name, offset)
        return try file.read(into: &buffer, at: offset)
    }

    func readAtHand(into buffer: inout MutableRawSpan, at offset: Int) throws(SystemError) -> Int? {
        guard pages.isNear(name, offset) else { return nil }
        return try file.read(into: &buffer, at: offset)
    }

    func write(_ bytes: RawSpan, at offset: Int) throws(SystemError) {
        pages.noteWrite(name, offset)
        try file.write(bytes, at: offset)
    }
    func size() throws(SystemError) -> Int { try file.size() }
    func truncate(to size: Int) throws(SystemError) { try file.truncate(to: size) }
    func dataSync() throws(SystemError) { try file.dataSync() }
    func startWriteback(at offset: Int, count: Int) { file.startWriteback(at: offset, count: count) }
    func punchHole(at offset: Int, count: Int) throws(SystemError) {
        try file.punchHole(at: offset, count: count)
    }
    func preallocate(at offset: Int, count: Int) throws(SystemError) {
        try file.preallocate(at: offset, count: count)
    }
}
