package import CofferSystem

/// A place that stores opaque objects by name.
///
/// A backend is the code for one kind of storage. docs/protocol.md, "What a backend promises", lists what
/// every backend must guarantee; each promise is a case of RemoteConformance. No backend promises that its
/// storage is honest, fresh, or complete: a listing may lack objects that exist and include deleted ones, and
/// a read may return old bytes, so callers verify what they get. Any number of tasks may make calls at the
/// same time. A cancelled call throws `.cancelled` soon; what it had begun may still take effect.
package protocol RemoteBackend: Sendable {
    /// The limits of the storage.
    var limits: RemoteLimits { get }

    /// Names the place in messages to users; contains no credentials.
    func describe() -> String

    /// Reads the part of an object that the range covers.
    ///
    /// A range that is empty, or that begins at or after the object's end, returns no bytes, and the object's
    /// size.
    ///
    /// - Parameter range: In bytes; not negative, and at most `limits.rangeByteCountMax` long.
    /// - Throws: `.absent`; `.tooLarge`; `.unreachable` rather than `.absent` if the whole vault is missing.
    func get(_ name: RemoteName, _ range: Range<Int>) async throws(RemoteError) -> RemoteContent

    /// Like `get`, for large ranges: reads into a buffer without a copy, if the backend can.
    func getBuffer(_ name: RemoteName, _ range: Range<Int>) async throws(RemoteError) -> BufferPart

    /// Stores an object atomically: a reader sees all of its bytes or none.
    ///
    /// When this returns, the object survives a power cut of the storage's machine, as far as the storage
    /// lets a client ensure that.
    ///
    /// - Parameter ifAbsent: If true, an existing object stays, and the call throws `.exists`; of several
    ///   concurrent puts, one succeeds. Otherwise an existing object is replaced atomically.
    func put(_ name: RemoteName, _ bytes: RemoteBytes, ifAbsent: Bool) async throws(RemoteError)

    /// Lists objects in the order of their names.
    ///
    /// Objects that are put or deleted during the listing may be in it or not; no other object is left out or
    /// listed twice.
    ///
    /// - Parameters:
    ///   - prefix: The beginning of all names in the result.
    ///   - after: Only names greater than this one.
    func list(_ prefix: RemotePrefix, after: RemoteName?) async throws(RemoteError) -> RemotePage

    /// Removes an object; succeeds if there is none.
    func delete(_ name: RemoteName) async throws(RemoteError)

    /// Describes, for users, what would keep this user from changing objects below a prefix.
    ///
    /// Empty if nothing would, or if only trying can tell. Changes nothing.
    func obstacles(below prefix: RemotePrefix) async throws(RemoteError) -> [String]

    /// Describes, for users, what the storage lacks, although everything seems to work.
    ///
    /// May put an object of its own, and delete it.
    func shortcomings() async throws(RemoteError) -> [String]

    /// Removes what remains below a prefix after all its objects were deleted; does nothing where a storage
    /// has only objects.
    func tidy(_ prefix: RemotePrefix) async throws(RemoteError)

    /// How a caller learns of changes that others make.
    func visibility() async -> ChangeVisibility

    /// Reports when something may have changed below a prefix: once at the start, for earlier changes, and
    /// from then on.
    ///
    /// Each element names the part that may have changed; unread changes are merged. The sequence does not
    /// end by itself, and the backend watches only as long as the sequence is kept. Changes are hints: a
    /// caller that must know also lists from time to time.
    func changes(below prefix: RemotePrefix) -> RemoteChanges
}

extension RemoteBackend {
    /// Polling is needed, as nothing is reported.
    package func visibility() async -> ChangeVisibility { .polled }

    /// Only trying can tell.
    package func obstacles(below prefix: RemotePrefix) async throws(RemoteError) -> [String] { [] }

    /// The storage lacks nothing.
    package func shortcomings() async throws(RemoteError) -> [String] { [] }

    /// Nothing remains.
    package func tidy(_ prefix: RemotePrefix) async throws(RemoteError) {}

    /// The bytes of `get`, copied.
    package func getBuffer(_ name: RemoteName, _ range: Range<Int>) async throws(RemoteError) -> BufferPart {
        BufferPart(copying: try await get(name, range).bytes)
    }
}

/// How a caller learns of changes that others make to a remote.
package enum ChangeVisibility: Sendable {
    /// `changes` reports them at once.
    case reported
    /// A caller has to poll, and sees what is there.
    case polled
    /// A caller has to poll, and sees them once the file system does: it may keep old listings for a while.
    case delayed
}

/// The prefixes below which something may have changed.
package typealias RemoteChanges = AsyncStream<RemotePrefix>

/// Bytes of an object, and its size.
package struct RemoteContent: Equatable, Sendable {
    /// The bytes of the requested range.
    package let bytes: [UInt8]
    /// The size of the whole object.
    package let objectByteCount: Int

    package init(bytes: [UInt8], objectByteCount: Int) {
        self.bytes = bytes
        self.objectByteCount = objectByteCount
    }
}

/// A part of a listing.
package struct RemotePage: Equatable, Sendable {
    /// An object as a listing shows it.
    package struct Entry: Hashable, Sendable {
        /// The object's name.
        package let name: RemoteName
        /// The object's size in bytes.
        package let byteCount: Int

        package init(name: RemoteName, byteCount: Int) {
            self.name = name
            self.byteCount = byteCount
        }
    }

    /// Objects in the order of their names; may be empty although more follow.
    package let entries: [Entry]
    /// The name after which the next page begins; nil if this page is the last.
    package let next: RemoteName?

    package init(entries: [Entry], next: RemoteName?) {
        self.entries = entries
        self.next = next
    }
}

/// The limits of a storage.
package struct RemoteLimits: Equatable, Sendable {
    /// The size of the largest object, in bytes.
    package let objectByteCountMax: Int
    /// The longest range that one `get` reads, in bytes.
    package let rangeByteCountMax: Int
    /// The number of calls that are worth making concurrently; further calls wait for each other.
    package let concurrentCallsMax: Int

    package init(objectByteCountMax: Int, rangeByteCountMax: Int, concurrentCallsMax: Int) {
        self.objectByteCountMax = objectByteCountMax
        self.rangeByteCountMax = rangeByteCountMax
        self.concurrentCallsMax = concurrentCallsMax
    }

    /// Checks the size of an object.
    ///
    /// - Throws: `.tooLarge`.
    package func check(object byteCount: Int) throws(RemoteError) {
        guard byteCount <= objectByteCountMax else {
            throw .tooLarge(byteCount: byteCount, limit: objectByteCountMax)
        }
    }

    /// Checks the length of a range.
    ///
    /// - Throws: `.tooLarge`.
    package func check(range: Range<Int>) throws(RemoteError) {
        precondition(range.lowerBound >= 0)
        guard range.count <= rangeByteCountMax else {
            throw .tooLarge(byteCount: range.count, limit: rangeByteCountMax)
        }
    }
}
