internal import CofferFormat
internal import CofferVault
internal import Glibc

/// What a mount answers while its profile is locked: ENOKEY, and neutral values for its root and its space.
///
/// Needs no vault and no key. What is asked about the root itself and the space must not fail, since ls(1) of the
/// directory above, df(1), and file managers ask for it; it tells nothing about the vaults.
struct LockedAnswers: Sendable {
    /// The owner and group of the root directory.
    let user: UInt32, group: UInt32
    /// The times of the root directory, in nanoseconds since 1970.
    let changed: Int64

    /// The whole answer to a request; nil if the kernel expects none.
    func answer(to request: WireRequest) -> [UInt8]? {
        switch request.kind {
        case WireRequest.Kind.forget, WireRequest.Kind.forgetMany, WireRequest.Kind.interrupt,
            WireRequest.Kind.notifyReply:
            nil
        case WireRequest.Kind.space: Self.message(request, space)
        case WireRequest.Kind.attributes where request.isNeutral: Self.message(request, rootAttributes)
        // As always: the kernel does without these requests from then on.
        case WireRequest.Kind.open, WireRequest.Kind.openDirectory, WireRequest.Kind.extendedStatus:
            Self.message(request, [], error: ENOSYS)
        case WireRequest.Kind.extendedAttribute where request.isNeutral:
            Self.message(request, [], error: ENODATA)
        case WireRequest.Kind.extendedAttributes where request.isNeutral:
            Self.message(request, [], error: EOPNOTSUPP)
        case _ where request.isHousekeeping: Self.message(request, [])
        default: Self.message(request, [], error: ENOKEY)
        }
    }

    /// The answer that tells of a success, and nothing else.
    func success(of request: WireRequest) -> [UInt8] { Self.message(request, []) }

    private static func message(_ request: WireRequest, _ body: [UInt8], error: Int32 = 0) -> [UInt8] {
        var writer = ByteWriter(capacity: WireRequest.answerHeaderByteCount + body.count)
        writer.number(UInt32(WireRequest.answerHeaderByteCount + body.count))
        writer.number(-error)
        writer.number(request.unique)
        writer.append(body)
        return writer.finish()
    }

    /// The kernel's `fuse_attr_out`, of an empty directory; not to be cached.
    private var rootAttributes: [UInt8] {
        let (seconds, rest) = changed.quotientAndRemainder(dividingBy: 1_000_000_000)
        var writer = ByteWriter(capacity: 104)
        // For how long to cache it, and padding.
        for _ in 0..<2 { writer.number(UInt64(0)) }
        writer.number(Node.root.number)
        // Size and blocks.
        for _ in 0..<2 { writer.number(UInt64(0)) }
        for _ in 0..<3 { writer.number(UInt64(clamping: seconds)) }
        for _ in 0..<3 { writer.number(UInt32(clamping: rest)) }
        writer.number(FileType.directory.modeBits | 0o755)
        writer.number(UInt32(2))
        writer.number(user)
        writer.number(group)
        // Device number, block size, flags.
        for field: UInt32 in [0, 4096, 0] { writer.number(field) }
        return writer.finish()
    }

    /// The kernel's `fuse_statfs_out`: no blocks and no files, and the length of names.
    private var space: [UInt8] {
        var writer = ByteWriter(capacity: 80)
        for _ in 0..<5 { writer.number(UInt64(0)) }
        for field in [4096, UInt32(Vault.nameByteCountMax), 4096] { writer.number(field) }
        for _ in 0..<7 { writer.number(UInt32(0)) }
        return writer.finish()
    }
}
