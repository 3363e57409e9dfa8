package import CofferFormat
package import CofferSystem

/// Why content could not be fetched from a remote, or sent to it.
package enum TransferError: Error, Equatable {
    /// The remote has no such pack, or fewer bytes of it than requested.
    case missing
    /// The remote did not answer in time.
    case timedOut
    /// Any other reason, as a phrase for users.
    case failed(reason: String)
}

/// The source of remote contents: remote packs, by id.
package protocol ContentSource: AnyObject, Sendable {
    /// Fetches a range of a remote pack; the bytes are untrusted, and the caller checks them.
    ///
    /// Called from several threads at once, without any lock; may block for as long as necessary.
    func fetch(_ pack: PackID, _ range: Range<Int>) throws(TransferError) -> BufferPart

    /// Fetches a range of a remote pack and, in the same round trip, another one that is small; nil for the other
    /// one if it cannot be fetched.
    ///
    /// Called as `fetch(_:_:)` is.
    func fetch(
        _ pack: PackID, _ range: Range<Int>, with other: Range<Int>
    ) throws(TransferError) -> (BufferPart, BufferPart?)

    /// Asks the remote for the current size of a pack, in bytes; the answer is not cached.
    ///
    /// Called as `fetch` is.
    func byteCount(of pack: PackID) throws(TransferError) -> Int

    /// Asks for the sizes of many packs, as many at once as suits the remote.
    func byteCounts(of packs: [PackID]) -> [PackID: Result<Int, TransferError>]
}
