internal import CCofferSystem
internal import CofferFormat
internal import CofferSystem

/// The parts of a request that can be read before libfuse sees it; see fuse(4).
struct WireRequest {
    /// The bytes before the arguments of a request, and before each answer.
    static let headerByteCount = 40, answerHeaderByteCount = 16

    /// The kinds of requests that are told apart here; the values are the kernel's.
    enum Kind {
        static let forget: UInt32 = 2
        static let attributes: UInt32 = 3
        static let setAttributes: UInt32 = 4
        static let open: UInt32 = 14
        static let read: UInt32 = 15
        static let write: UInt32 = 16
        static let space: UInt32 = 17
        static let release: UInt32 = 18
        static let sync: UInt32 = 20
        static let extendedAttribute: UInt32 = 22
        static let extendedAttributes: UInt32 = 23
        static let flush: UInt32 = 25
        static let initialise: UInt32 = 26
        static let openDirectory: UInt32 = 27
        static let releaseDirectory: UInt32 = 29
        static let syncDirectory: UInt32 = 30
        static let interrupt: UInt32 = 36
        static let destroy: UInt32 = 38
        static let notifyReply: UInt32 = 41
        static let forgetMany: UInt32 = 42
        static let extendedStatus: UInt32 = 52
    }

    /// Flags of a write: it comes from the kernel's cache; it drops the file's privileges.
    private static let writesBack: UInt32 = 1 << 0, killsPrivileges: UInt32 = 1 << 2
    /// The flag of changed attributes that drops the file's privileges (FATTR_KILL_SUIDGID).
    private static let attributesKillPrivileges: UInt32 = 1 << 11
    /// The bit that tells the number of an interruption from that of its request.
    private static let interruptBit: UInt64 = 1
    /// The times that the kernel keeps by itself, and that an open file was named: FATTR_MTIME, FATTR_CTIME,
    /// FATTR_FH.
    private static let keptTimes: UInt32 = 1 << 5 | 1 << 10 | 1 << 6

    let kind: UInt32
    /// What an answer names.
    let unique: UInt64
    let node: UInt64
    /// The thread that makes it, in the kernel's numbers of threads; 0 if it is not known.
    let thread: UInt32
    /// Parts of the arguments, of 32 bits each; 0 if there are none.
    private let first: UInt32, fourth: UInt32, flags: UInt32

    /// Reads a request; nil if it is too short to be one.
    init?(_ bytes: RawSpan) {
        guard bytes.byteCount >= Self.headerByteCount else { return nil }
        kind = bytes.littleEndian(at: 4, as: UInt32.self)
        unique = bytes.littleEndian(at: 8, as: UInt64.self)
        node = bytes.littleEndian(at: 16, as: UInt64.self)
        thread = bytes.littleEndian(at: 32, as: UInt32.self)
        let hasArguments = bytes.byteCount >= Self.headerByteCount + 24
        first = hasArguments ? bytes.littleEndian(at: Self.headerByteCount, as: UInt32.self) : 0
        fourth = hasArguments ? bytes.littleEndian(at: Self.headerByteCount + 12, as: UInt32.self) : 0
        flags = hasArguments ? bytes.littleEndian(at: Self.headerByteCount + 20, as: UInt32.self) : 0
    }

    /// Whether the kernel makes it of its own accord, and it shows nothing to anyone.
    var isHousekeeping: Bool {
        switch kind {
        case Kind.forget, Kind.forgetMany, Kind.interrupt, Kind.initialise, Kind.destroy, Kind.notifyReply,
            Kind.release, Kind.releaseDirectory, Kind.flush:
            true
        default: false
        }
    }

    /// Whether it stores what a program did earlier: pages and times from the kernel's cache, or an fsync.
    var storesEarlierChanges: Bool {
        switch kind {
        case Kind.setAttributes: first != 0 && first & ~Self.keptTimes == 0
        default: storesPages || isSync
        }
    }

    /// Whether it stores pages from the kernel's cache, which programs take for written.
    var storesPages: Bool { kind == Kind.write && flags & Self.writesBack != 0 }

    /// Whether it is an fsync of a file or a directory.
    var isSync: Bool { kind == Kind.sync || kind == Kind.syncDirectory }

    /// The flags of the features that the kernel offers in the first request of a connection.
    var offeredFeatures: UInt32 { fourth }

    /// Whether it asks to drop the file's privileges, which libfuse does not pass on.
    var dropsPrivileges: Bool {
        switch kind {
        case Kind.write: flags & Self.killsPrivileges != 0
        case Kind.setAttributes: first & Self.attributesKillPrivileges != 0
        default: false
        }
    }

    /// Whether a message to the kernel answers a request, and is neither a notification nor tells that an interruption
    /// came too late.
    ///
    /// - Parameter unique: What the message names.
    static func isAnswer(_ unique: UInt64) -> Bool { unique != 0 && unique & interruptBit == 0 }

    /// Whether the kernel waits for an answer.
    var needsAnswer: Bool {
        switch kind {
        case Kind.forget, Kind.forgetMany, Kind.interrupt, Kind.notifyReply: false
        default: true
        }
    }

    /// Whether a locked mount answers it without an error, since the answer is the same for every vault.
    var isNeutral: Bool {
        switch kind {
        case Kind.space, Kind.open, Kind.openDirectory: true
        case Kind.attributes, Kind.extendedStatus, Kind.extendedAttribute, Kind.extendedAttributes:
            node == Node.root.number
        default: false
        }
    }

    /// Whether its thread waits for the answer before it makes another one.
    var isAwaited: Bool {
        switch kind {
        case Kind.read, Kind.write: false
        default: thread != 0 && !isHousekeeping
        }
    }

    /// Whether a program uses the vaults by it.
    var isUse: Bool { !isHousekeeping && !storesEarlierChanges && !isNeutral }

    /// The content of a file that the kernel does not have, as a request to read it shows; nil for others.
    ///
    /// Where a program reads without the cache (O_DIRECT), the kernel asks for what it has, too.
    static func missingContent(_ bytes: RawSpan) -> (node: Node, range: Range<Int64>)? {
        guard bytes.byteCount >= headerByteCount + 40, let request = WireRequest(bytes),
            request.kind == Kind.read,
            bytes.littleEndian(at: headerByteCount + 32, as: UInt32.self) & UInt32(coffer_O_DIRECT) == 0
        else { return nil }
        let offset = Int64(clamping: bytes.littleEndian(at: headerByteCount + 8, as: UInt64.self))
        let count = Int64(bytes.littleEndian(at: headerByteCount + 16, as: UInt32.self))
        let (end, overflows) = offset.addingReportingOverflow(count)
        return (Node(number: request.node), offset..<(overflows ? .max : end))
    }

    /// The nodes that a request to forget names, with the number of lookups to subtract.
    static func forgotten(_ bytes: RawSpan) -> [(node: UInt64, count: UInt64)] {
        guard let request = WireRequest(bytes) else { return [] }
        func number(_ offset: Int) -> UInt64 { bytes.littleEndian(at: offset, as: UInt64.self) }
        switch request.kind {
        case Kind.forget:
            guard bytes.byteCount >= headerByteCount + 8 else { return [] }
            return [(request.node, number(headerByteCount))]
        case Kind.forgetMany:
            guard bytes.byteCount >= headerByteCount + 8 else { return [] }
            let count = Int(bytes.littleEndian(at: headerByteCount, as: UInt32.self))
            let room = (bytes.byteCount - headerByteCount - 8) / 16
            let places = (0..<min(count, room)).map { headerByteCount + 8 + 16 * $0 }
            return places.map { (number($0), number($0 + 8)) }
        default: return []
        }
    }
}
