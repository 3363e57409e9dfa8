package import CofferFormat
package import CofferSystem

/// Why content could not be fetched from a remote, or sent to it.
package enum TransferError: Error, Equatable {
    /// The remote has no such pack, or fewer bytes of it than asked for.
    case missing
    /// The remote did not answer in time.
    case timedOut
    /// Anything else, as a phrase for people.
    case failed(reason: String)
}

/// Where contents are fetched from: remote packs, by their ids.
package protocol ContentSource: AnyObject, Sendable {
    /// The bytes of a range of a remote pack; they may be anything, and are checked.
    ///
    /// Called from several threads at once, without any lock held; may take as long as it takes.
    func fetch(_ pack: PackID, _ range: Range<Int>) throws(TransferError) -> BufferPart

    /// How many bytes of a remote pack are there; asked of the remote now, not remembered.
    ///
    /// Called as `fetch` is.
    func byteCount(of pack: PackID) throws(TransferError) -> Int

    /// The same for many packs, as many of which are asked for at once as the remote likes.
    func byteCounts(of packs: [PackID]) -> [PackID: Result<Int, TransferError>]
}
