/// The answer to a request: any number of `progress`, then one of the other cases.
enum ControlResponse<Answer: Codable & Sendable>: Codable, Sendable {
    case progress(Progress)
    case answer(Answer)
    case failure(code: Int32, message: String)
}

/// The progress of long work.
package struct Progress: Codable, Sendable {
    /// The work that is done, in the unit of `total`; for a check, bytes of content.
    package let done: Int
    /// The whole work.
    ///
    /// It may grow; 0 if unknown, such as while waiting for another person.
    package let total: Int
    /// Whether `done` and `total` are bytes.
    package var isBytes = false
    /// The traffic with a remote; absent for other work.
    package let transfer: Transfer?
    /// A text about what the work waits for; absent if that is obvious.
    package var note: String?
    /// How far a pairing is; absent for other work.
    package var pairing: PairingStep?

    /// Makes a report of progress.
    package init(
        done: Int, total: Int, isBytes: Bool = false, transfer: Transfer? = nil, note: String? = nil,
        pairing: PairingStep? = nil
    ) {
        self.pairing = pairing
        self.note = note
        self.done = done
        self.total = total
        self.isBytes = isBytes
        self.transfer = transfer
    }

    /// The traffic with a remote since the request, and the work that is left.
    package struct Transfer: Codable, Sendable, Equatable {
        /// Bytes of objects sent and fetched.
        package let sent: Int64, received: Int64
        /// The number of items and names with unsent changes, as far as known.
        package let items: Int
        /// The number of known commits of others that are not applied yet.
        package let commits: Int
        /// Bytes of content still to send, as far as known.
        package let left: Int64
        /// A text about what goes on, for when nothing is left to send or apply; absent if unknown.
        package let activity: String?

        /// Makes a report of traffic.
        package init(
            sent: Int64, received: Int64, items: Int, commits: Int, left: Int64 = 0, activity: String? = nil
        ) {
            self.activity = activity
            self.left = left
            self.sent = sent
            self.received = received
            self.items = items
            self.commits = commits
        }
    }
}
