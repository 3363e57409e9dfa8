internal import CSQLite
internal import CofferSystem

/// The file system (sqlite3_vfs) that gives SQLite the two sealed files of one index, and nothing else.
///
/// Everything except files comes from SQLite's own Unix layer. It is registered from init to deinit; close
/// all connections before deinit.
@safe
// SAFETY: the index and its readers use it, each on a thread of its own, through SQLite. The three allocations live from
// init to deinit, and are constant in between, except for the links by which SQLite, under a lock of its own, makes a list
// of all registered file systems. `files` is sendable.
final class IndexFileSystem: @unchecked Sendable {
    private let vfs: UnsafeMutablePointer<sqlite3_vfs>
    private let cName: UnsafeMutablePointer<CChar>
    fileprivate let methods: UnsafeMutablePointer<sqlite3_io_methods>
    /// The name to pass to sqlite3_open_v2.
    let name: String
    let files: IndexFiles

    init(_ files: IndexFiles) {
        self.files = files
        unsafe vfs = .allocate(capacity: 1)
        unsafe methods = .allocate(capacity: 1)
        // Two stores of one vault may be open at once, in tests.
        let name = unsafe "coffer-\(files.vault)-\(UInt(bitPattern: vfs))"
        self.name = name
        let utf8 = name.utf8CString
        unsafe cName = .allocate(capacity: utf8.count)
        for (index, byte) in utf8.enumerated() { unsafe cName[index] = byte }
        unsafe methods.initialize(to: IndexFileMethods.make())
        guard let original = unsafe sqlite3_vfs_find(nil) else {
            preconditionFailure("SQLite has no file system")
        }
        unsafe vfs.initialize(to: original.pointee)
        unsafe vfs.pointee.zName = unsafe UnsafePointer(cName)
        unsafe vfs.pointee.iVersion = 2
        unsafe vfs.pointee.szOsFile = Int32(MemoryLayout<OpenFile>.size)
        unsafe vfs.pointee.pAppData = Unmanaged.passUnretained(self).toOpaque()
        unsafe vfs.pointee.xOpen = openFile
        unsafe vfs.pointee.xDelete = deleteFile
        unsafe vfs.pointee.xAccess = accessFile
        unsafe vfs.pointee.xFullPathname = fullPathname
        unsafe sqlite3_vfs_register(vfs, 0)
    }

    deinit {
        unsafe sqlite3_vfs_unregister(vfs)
        unsafe vfs.deallocate()
        unsafe cName.deallocate()
        unsafe methods.deallocate()
    }
}

/// SQLite's allocation for an open file: its own header, then a reference to the file.
@safe
struct OpenFile {
    // SAFETY: lives in memory of SQLite's, from xOpen to xClose; the reference is retained in between.
    var base: sqlite3_file
    var file: Unmanaged<OpenIndexFile>?
}

/// An open file, with the locks that its connection holds in the shared WAL index.
final class OpenIndexFile {
    let file: any IndexFile
    let sharedMemory: SharedMemory
    var holdings = SharedMemory.Holdings()

    init(_ file: any IndexFile, _ sharedMemory: SharedMemory) {
        self.file = file
        self.sharedMemory = sharedMemory
    }
}

private func fileSystem(_ vfs: UnsafeMutablePointer<sqlite3_vfs>?) -> IndexFileSystem? {
    guard let data = unsafe vfs?.pointee.pAppData else { return nil }
    // SAFETY: set to a living IndexFileSystem for as long as the vfs is registered.
    return unsafe Unmanaged<IndexFileSystem>.fromOpaque(data).takeUnretainedValue()
}

private func openFile(
    vfs: UnsafeMutablePointer<sqlite3_vfs>?, name: UnsafePointer<CChar>?,
    target: UnsafeMutablePointer<sqlite3_file>?, flags: Int32, outFlags: UnsafeMutablePointer<Int32>?
) -> Int32 {
    guard let target = unsafe target, let fileSystem = unsafe fileSystem(vfs) else { return SQLITE_CANTOPEN }
    let files = fileSystem.files
    unsafe target.pointee.pMethods = nil
    guard let name = unsafe name else { return SQLITE_CANTOPEN }
    let isLog = flags & SQLITE_OPEN_WAL != 0
    guard isLog || flags & SQLITE_OPEN_MAIN_DB != 0 else { return SQLITE_CANTOPEN }
    let file: any IndexFile
    do throws(SystemError) {
        let opened = try unsafe files.directory.open(
            String(cString: name), create: flags & SQLITE_OPEN_CREATE != 0)
        file = isLog ? IndexLogFile(opened, of: files) : IndexDatabaseFile(opened, of: files)
    } catch {
        return error.isNoSpace ? SQLITE_FULL : SQLITE_CANTOPEN
    }
    let open = OpenIndexFile(file, files.sharedMemory)
    // SAFETY: SQLite allocated szOsFile bytes at `target`, as many as OpenFile has.
    unsafe target.withMemoryRebound(to: OpenFile.self, capacity: 1) {
        unsafe $0.pointee.file = Unmanaged.passRetained(open)
    }
    unsafe target.pointee.pMethods = unsafe UnsafePointer(fileSystem.methods)
    if let outFlags = unsafe outFlags { unsafe outFlags.pointee = flags }
    return SQLITE_OK
}

private func deleteFile(
    vfs: UnsafeMutablePointer<sqlite3_vfs>?, name: UnsafePointer<CChar>?, syncDirectory: Int32
) -> Int32 {
    guard let files = unsafe fileSystem(vfs)?.files, let name = unsafe name else {
        return SQLITE_IOERR_DELETE
    }
    do throws(SystemError) {
        try unsafe files.directory.remove(String(cString: name))
        if syncDirectory != 0 { try files.directory.sync() }
        return SQLITE_OK
    } catch {
        return error.code == 2 ? SQLITE_IOERR_DELETE_NOENT : SQLITE_IOERR_DELETE
    }
}

private let SQLITE_IOERR_DELETE: Int32 = SQLITE_IOERR | (10 << 8)
private let SQLITE_IOERR_DELETE_NOENT: Int32 = SQLITE_IOERR | (23 << 8)

private func accessFile(
    vfs: UnsafeMutablePointer<sqlite3_vfs>?, name: UnsafePointer<CChar>?, flags: Int32,
    result: UnsafeMutablePointer<Int32>?
) -> Int32 {
    guard let files = unsafe fileSystem(vfs)?.files, let name = unsafe name, let result = unsafe result else {
        return SQLITE_IOERR
    }
    do throws(SystemError) {
        unsafe result.pointee = try unsafe files.directory.contains(String(cString: name)) ? 1 : 0
        return SQLITE_OK
    } catch {
        return SQLITE_IOERR
    }
}

private func fullPathname(
    vfs: UnsafeMutablePointer<sqlite3_vfs>?, name: UnsafePointer<CChar>?, count: Int32,
    output: UnsafeMutablePointer<CChar>?
) -> Int32 {
    guard let name = unsafe name, let output = unsafe output else { return SQLITE_CANTOPEN }
    let text = unsafe String(cString: name).utf8CString
    guard text.count <= Int(count) else { return SQLITE_CANTOPEN }
    for (index, byte) in text.enumerated() { unsafe output[index] = byte }
    return SQLITE_OK
}
