internal import CFuse3

extension Operations {
    /// The features that Coffer requests from the kernel.
    private static let wanted: [Int32] = [
        FUSE_CAP_ASYNC_READ, FUSE_CAP_EXPORT_SUPPORT, FUSE_CAP_DONT_MASK,
        FUSE_CAP_READDIRPLUS, FUSE_CAP_READDIRPLUS_AUTO, FUSE_CAP_WRITEBACK_CACHE,
        FUSE_CAP_NO_OPEN_SUPPORT, FUSE_CAP_NO_OPENDIR_SUPPORT, FUSE_CAP_PARALLEL_DIROPS,
        FUSE_CAP_POSIX_ACL, FUSE_CAP_CACHE_SYMLINKS, FUSE_CAP_EXPLICIT_INVAL_DATA,
    ]

    /// Features that libfuse would request by default.
    ///
    /// Without a round trip for open, atomic truncation would lose the truncation. Splicing, and checking
    /// times on each read, cost more than they save. After an asynchronous direct write (FUSE_CAP_ASYNC_DIO),
    /// the kernel keeps cached pages that a program read in the meantime, so later readers would see old
    /// bytes.
    private static let unwanted: [Int32] = [
        FUSE_CAP_ATOMIC_O_TRUNC, FUSE_CAP_SPLICE_READ, FUSE_CAP_SPLICE_WRITE, FUSE_CAP_SPLICE_MOVE,
        FUSE_CAP_AUTO_INVAL_DATA, FUSE_CAP_HANDLE_KILLPRIV, FUSE_CAP_ASYNC_DIO,
    ]

    static func initialise(
        _ data: UnsafeMutableRawPointer?, _ connection: UnsafeMutablePointer<fuse_conn_info>?
    ) {
        guard let data = unsafe data, let connection = unsafe connection else { return }
        for capability in wanted {
            unsafe connection.pointee.want |= connection.pointee.capable & UInt32(bitPattern: capability)
        }
        for capability in unwanted {
            unsafe connection.pointee.want &= ~UInt32(bitPattern: capability)
        }
        unsafe connection.pointee.max_write = UInt32(Session.requestByteCountMax)
        unsafe connection.pointee.max_readahead = UInt32(Session.requestByteCountMax)
        unsafe connection.pointee.max_background = 64
        unsafe connection.pointee.congestion_threshold = UInt32(Session.congestionThreshold)
        unsafe connection.pointee.time_gran = 1
        // SAFETY: as in `session(_:)`.
        unsafe Unmanaged<Session>.fromOpaque(data).takeUnretainedValue().noteServing()
    }
}
