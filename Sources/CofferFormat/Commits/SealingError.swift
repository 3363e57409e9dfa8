/// Why a commit of this device could not be sealed.
package enum SealingError: Error, Equatable {
    /// The commits that are applied are not those for which the draft was made.
    case otherVersions
    /// The sealed record would be longer than `SignedRecord.byteCountMax`.
    case tooLarge(byteCount: Int)
    /// The record does not parse.
    case format(FormatError)
}
