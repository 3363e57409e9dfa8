/// Something that sync must find again after a crash; kept with the facts, in the same transaction.
///
/// It maps to one table: kind, id and number are the key. What is kept in it never leaves the device.
package struct SyncRow: Equatable, Sendable {
    /// By what it is found.
    package struct Key: Hashable, Sendable {
        /// What a row is about.
        package enum Kind: UInt8, Sendable {
            /// A log: `LogSummary`; the id is the log's.
            case log = 1
            /// A commit of this device that may not be at the remote yet, as it is to be stored; by its number.
            case outgoing = 2
            /// A link of the member chain, by its number.
            case memberLink = 3
            /// A link of an identity chain; the id is the user's.
            case identityLink = 4
            /// The checkpoint that commits may be deleted for: `CheckpointStanding`; with the id of a log, one that
            /// nobody has confirmed yet, by its number: `UnconfirmedCheckpoint`.
            case checkpoint = 5
            /// A link of the member chain that may not be at the remote yet (0), and the set of wraps that it names (1).
            case pendingLink = 6
            /// What was last seen of a member (`KeptCard`); the id is the user's.
            case memberCard = 7
            /// A set of wraps of the present epoch, as stored; the id is the first 16 bytes of its hash.
            case wraps = 8
        }

        /// What it is about.
        package let kind: Kind
        /// Whose it is: 16 bytes; zeros where there is only one.
        package let id: [UInt8]
        /// Which of several.
        package let number: UInt64

        package init(_ kind: Kind, id: [UInt8] = [UInt8](repeating: 0, count: 16), number: UInt64 = 0) {
            self.kind = kind
            self.id = id
            self.number = number
        }
    }

    /// By what it is found.
    package let key: Key
    /// What is kept; nil removes the row.
    package let value: [UInt8]?

    package init(_ key: Key, _ value: [UInt8]?) {
        self.key = key
        self.value = value
    }
}
