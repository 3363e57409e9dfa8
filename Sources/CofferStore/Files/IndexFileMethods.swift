internal import CSQLite
internal import CofferFormat
internal import CofferSystem
internal import Synchronization

/// The functions (sqlite3_io_methods) of an open file of an index.
enum IndexFileMethods {
    /// Makes the table, which SQLite needs at a fixed address while a file is open.
    static func make() -> sqlite3_io_methods {
        unsafe sqlite3_io_methods(
            iVersion: 2, xClose: close, xRead: read, xWrite: write, xTruncate: truncate, xSync: sync,
            xFileSize: fileSize,
            // The profile's lock excludes other processes; within this one, the WAL index decides.
            xLock: { _, _ in SQLITE_OK }, xUnlock: { _, _ in SQLITE_OK },
            xCheckReservedLock: { _, result in
                unsafe result?.pointee = 0
                return SQLITE_OK
            },
            xFileControl: { _, _, _ in SQLITE_NOTFOUND },
            xSectorSize: { _ in 4096 },
            xDeviceCharacteristics: { _ in SQLITE_IOCAP_POWERSAFE_OVERWRITE },
            xShmMap: mapSharedMemory, xShmLock: lockSharedMemory,
            xShmBarrier: { _ in atomicMemoryFence(ordering: .sequentiallyConsistent) },
            xShmUnmap: unmapSharedMemory, xFetch: nil, xUnfetch: nil)
    }
}

private let SQLITE_IOERR_SHORT_READ: Int32 = SQLITE_IOERR | (2 << 8)

private typealias File = UnsafeMutablePointer<sqlite3_file>

extension OpenIndexFile {
    /// The file behind SQLite's pointer.
    static func behind(_ file: UnsafeMutablePointer<sqlite3_file>?) -> OpenIndexFile? { unsafe opened(file) }
}

private func opened(_ file: File?) -> OpenIndexFile? {
    // SAFETY: xOpen stored a retained reference there; it lives until xClose.
    unsafe file?.withMemoryRebound(to: OpenFile.self, capacity: 1) {
        unsafe $0.pointee.file?.takeUnretainedValue()
    }
}

/// The result code for SQLite of an error.
///
/// Damage is SQLITE_CORRUPT. SQLITE_IOERR would make SQLite roll back the transaction, even if only a reader
/// found the damage. For the same reason, an absent page is SQLITE_AUTH, which nothing else returns while a
/// statement runs; SQLITE_CORRUPT would end changes in this transaction.
private func code(_ error: FileSystemError) -> Int32 {
    switch error {
    case .noSpace: SQLITE_FULL
    case .damaged, .format: SQLITE_CORRUPT
    case .pageAbsent: SQLITE_AUTH
    default: SQLITE_IOERR
    }
}

private func close(file: File?) -> Int32 {
    unsafe file?.withMemoryRebound(to: OpenFile.self, capacity: 1) {
        unsafe $0.pointee.file?.release()
        unsafe $0.pointee.file = nil
    }
    return SQLITE_OK
}

private func read(file: File?, buffer: UnsafeMutableRawPointer?, count: Int32, offset: Int64) -> Int32 {
    guard let open = unsafe opened(file), let buffer = unsafe buffer else { return SQLITE_IOERR }
    // SAFETY: SQLite lends `count` bytes at `buffer` for this call.
    let bytes = unsafe UnsafeMutableRawBufferPointer(start: buffer, count: Int(count))
    do throws(FileSystemError) {
        var span = unsafe bytes.mutableBytes
        let done = try open.file.read(&span, at: Int(offset))
        if done == Int(count) { return SQLITE_OK }
        var rest = span._mutatingExtracting(done..<Int(count))
        rest.zero()
        return SQLITE_IOERR_SHORT_READ
    } catch {
        return code(error)
    }
}

private func write(file: File?, buffer: UnsafeRawPointer?, count: Int32, offset: Int64) -> Int32 {
    guard let open = unsafe opened(file), let buffer = unsafe buffer else { return SQLITE_IOERR }
    // SAFETY: SQLite lends `count` bytes at `buffer` for this call.
    let bytes = unsafe UnsafeRawBufferPointer(start: buffer, count: Int(count))
    return attempt { () throws(FileSystemError) in try unsafe open.file.write(bytes.bytes, at: Int(offset)) }
}

private func truncate(file: File?, size: Int64) -> Int32 {
    guard let open = unsafe opened(file) else { return SQLITE_IOERR }
    return attempt { () throws(FileSystemError) in try open.file.truncate(to: Int(size)) }
}

private func sync(file: File?, flags: Int32) -> Int32 {
    guard let open = unsafe opened(file) else { return SQLITE_IOERR }
    return attempt { () throws(FileSystemError) in try open.file.sync() }
}

private func fileSize(file: File?, size: UnsafeMutablePointer<Int64>?) -> Int32 {
    guard let open = unsafe opened(file), let size = unsafe size else { return SQLITE_IOERR }
    return attempt { () throws(FileSystemError) in unsafe size.pointee = Int64(try open.file.size()) }
}

private func attempt(_ body: () throws(FileSystemError) -> Void) -> Int32 {
    do throws(FileSystemError) {
        try body()
        return SQLITE_OK
    } catch {
        return code(error)
    }
}

private func mapSharedMemory(
    file: File?, region: Int32, byteCount: Int32, extend: Int32,
    address: UnsafeMutablePointer<UnsafeMutableRawPointer?>?
) -> Int32 {
    guard let open = unsafe opened(file), let address = unsafe address else { return SQLITE_IOERR }
    unsafe address.pointee = unsafe open.sharedMemory.region(
        Int(region), byteCount: Int(byteCount), extend: extend != 0)
    return SQLITE_OK
}

private func lockSharedMemory(file: File?, first: Int32, count: Int32, flags: Int32) -> Int32 {
    guard let open = unsafe opened(file) else { return SQLITE_IOERR }
    let range = Int(first)..<Int(first + count)
    if flags & SQLITE_SHM_UNLOCK != 0 {
        open.sharedMemory.unlock(range, for: &open.holdings)
        return SQLITE_OK
    }
    let locked = open.sharedMemory.lock(
        range, exclusive: flags & SQLITE_SHM_EXCLUSIVE != 0, for: &open.holdings)
    return locked ? SQLITE_OK : SQLITE_BUSY
}

private func unmapSharedMemory(file: File?, delete: Int32) -> Int32 {
    guard let open = unsafe opened(file) else { return SQLITE_OK }
    open.sharedMemory.unlock(0..<Int(SQLITE_SHM_NLOCK), for: &open.holdings)
    if delete != 0 { open.sharedMemory.reset() }
    return SQLITE_OK
}
