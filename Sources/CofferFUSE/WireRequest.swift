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
    private static let writesBack: UInt32 = 1 << 0
    /// The times that the kernel keeps by itself, and that an open file was named: FATTR_MTIME, FATTR_CTIME,
    /// FATTR_FH.
    private static let keptTimes: UInt32 = 1 << 5 | 1 << 10 | 1 << 6

    let kind: UInt32
    /// What an answer names.
    let unique: UInt64
    let node: UInt64
    /// The first and the third 32 bits of the arguments; 0 if there are none.
    private let first: UInt32, flags: UInt32

    /// Reads a request; nil if it is too short to be one.
    init?(_ bytes: RawSpan) {
        guard bytes.byteCount >= Self.headerByteCount else { return nil }
        kind = bytes.littleEndian(at: 4, as: UInt32.self)
        unique = bytes.littleEndian(at: 8, as: UInt64.self)
        node = bytes.littleEndian(at: 16, as: UInt64.self)
        let hasArguments = bytes.byteCount >= Self.headerByteCount + 24
        first = hasArguments ? bytes.littleEndian(at: Self.headerByteCount, as: UInt32.self) : 0
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
        case Kind.write: flags & Self.writesBack != 0
        case Kind.setAttributes: first != 0 && first & ~Self.keptTimes == 0
        case Kind.sync, Kind.syncDirectory: true
        default: false
        }
    }

    /// Whether it changes something: pages or times.
    var isStore: Bool { kind == Kind.write || kind == Kind.setAttributes }

    /// Whether the kernel waits for an answer.
    static func needsAnswer(_ kind: UInt32) -> Bool {
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

    /// Whether a program uses the vaults by it.
    var isUse: Bool { !isHousekeeping && !storesEarlierChanges && !isNeutral }

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
