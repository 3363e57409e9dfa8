package import CofferSystem

/// A place that stores opaque objects by name.
///
/// A backend is the code for one kind of it.
///
/// What each must give is in docs/protocol.md, "What a backend promises", and each promise is a case of
/// RemoteConformance. What none promises: that the storage is honest, fresh or complete. A listing may lack what is
/// there and have what is gone, and a read may be old; those above check what they get. All calls may be made from
/// any number of tasks. A call that is cancelled throws `.cancelled` soon; what it had begun may still happen.
package protocol RemoteBackend: Sendable {
    /// What the storage allows.
    var limits: RemoteLimits { get }

    /// Names the place in messages to people; holds no credentials.
    func describe() -> String

    /// Reads bytes of an object: those of the range that it has.
    ///
    /// A range that begins at the object's end or behind it, or that is empty, gives no bytes, and the object's size.
    ///
    /// - Parameter range: In bytes; not negative, and at most `limits.rangeByteCountMax` long.
    /// - Throws: `.absent`; `.tooLarge`; `.unreachable` rather than `.absent` where the whole vault is missing.
    func get(_ name: RemoteName, _ range: Range<Int>) async throws(RemoteError) -> RemoteContent

    /// As `get`, for many bytes: they come into a buffer without being copied, where the backend can do that.
    func getBuffer(_ name: RemoteName, _ range: Range<Int>) async throws(RemoteError) -> BufferPart

    /// Stores an object, whole or not at all: whoever reads sees all of its bytes or nothing of it.
    ///
    /// It has survived a power cut of the storage's machine when this returns, as far as the storage allows to ask
    /// for that.
    ///
    /// - Parameter ifAbsent: Whether an object that is there stays, and `.exists` is thrown: of several who put at
    ///   once, one succeeds. Else what is there is replaced at one instant.
    func put(_ name: RemoteName, _ bytes: RemoteBytes, ifAbsent: Bool) async throws(RemoteError)

    /// Lists objects in the order of their names.
    ///
    /// Objects that are put or deleted meanwhile may be in it or not; no other is left out or listed twice.
    ///
    /// - Parameters:
    ///   - prefix: With which their names begin.
    ///   - after: Only names greater than this one.
    func list(_ prefix: RemotePrefix, after: RemoteName?) async throws(RemoteError) -> RemotePage

    /// Removes an object; one that is not there is removed already.
    func delete(_ name: RemoteName) async throws(RemoteError)

    /// Says what would keep this user from changing objects below a prefix, for people; nothing where all is well, or
    /// where nobody can tell without trying. Changes nothing.
    func obstacles(below prefix: RemotePrefix) async throws(RemoteError) -> [String]

    /// Removes what is left below a prefix, of which every object was deleted; nothing where a storage has objects
    /// alone.
    func tidy(_ prefix: RemotePrefix) async throws(RemoteError)

    /// Whether others may change it without `changes` telling at once: then who wants to know soon has to look.
    func needsLooks() async -> Bool

    /// Tells when something may have changed below a prefix: at once, for what came before, and from then on.
    ///
    /// Each element names the part that may have changed; changes that nobody has asked for yet become one. It never
    /// ends by itself, and watches only while it is kept. It is a hint: who must know lists now and then.
    func changes(below prefix: RemotePrefix) -> RemoteChanges
}

extension RemoteBackend {
    /// Nobody tells.
    package func needsLooks() async -> Bool { true }

    /// Nobody can tell without trying.
    package func obstacles(below prefix: RemotePrefix) async throws(RemoteError) -> [String] { [] }

    /// Nothing is left.
    package func tidy(_ prefix: RemotePrefix) async throws(RemoteError) {}

    /// The bytes of `get`, copied.
    package func getBuffer(_ name: RemoteName, _ range: Range<Int>) async throws(RemoteError) -> BufferPart {
        BufferPart(copying: try await get(name, range).bytes)
    }
}

/// Prefixes below which something may have changed.
package typealias RemoteChanges = AsyncStream<RemotePrefix>

/// Bytes of an object, and how many it has in all.
package struct RemoteContent: Equatable, Sendable {
    /// Those that were asked for.
    package let bytes: [UInt8]
    /// The object's size.
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
        /// Its name.
        package let name: RemoteName
        /// Its size.
        package let byteCount: Int

        package init(name: RemoteName, byteCount: Int) {
            self.name = name
            self.byteCount = byteCount
        }
    }

    /// Objects in the order of their names; there may be none although more follow.
    package let entries: [Entry]
    /// After which name the next page begins; nil if this is the last.
    package let next: RemoteName?

    package init(entries: [Entry], next: RemoteName?) {
        self.entries = entries
        self.next = next
    }
}

/// What a storage allows.
package struct RemoteLimits: Equatable, Sendable {
    /// Bytes of the largest object.
    package let objectByteCountMax: Int
    /// Bytes that one `get` reads at most.
    package let rangeByteCountMax: Int
    /// How many calls are worth making at a time; more wait for each other.
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
