package import CofferFormat

/// The names of a vault's objects (docs/protocol.md, "What is on the remote").
///
/// Numbers are 16 hexadecimal digits, so that the order of names is the order of numbers.
package struct RemoteLayout: Hashable, Sendable {
    /// The vault.
    package let vault: VaultID

    /// The names of the objects of one vault.
    package init(_ vault: VaultID) {
        self.vault = vault
    }

    /// The prefix of all names of the vault: "vaults/ID/".
    package var prefix: RemotePrefix { RemotePrefix(checked: "vaults/\(vault)/") }

    /// The object that shows that this remote has the vault.
    ///
    /// It is put first and deleted last.
    package var format: RemoteName { name("format") }

    /// The prefix of the member chain.
    package var members: RemotePrefix { prefix("members") }

    /// A link of the member chain; put only if absent.
    package func member(_ sequence: UInt64) -> RemoteName { name("members/\(Self.digits(sequence))") }

    /// The prefix of an epoch's sets of wraps.
    package func wraps(epoch: UInt64) -> RemotePrefix { prefix("wraps/\(Self.digits(epoch))") }

    /// A set of wraps of an epoch's key, named by the hash of its bytes.
    package func wraps(epoch: UInt64, hash: [UInt8]) -> RemoteName {
        name("wraps/\(Self.digits(epoch))/\(Self.digits(hash))")
    }

    /// The prefix of the records of identities.
    package var identities: RemotePrefix { prefix("identities") }

    /// A link of an identity's chain; put only if absent.
    package func identityLink<Kind>(_ user: Identifier<Kind>, _ sequence: UInt64) -> RemoteName {
        name("identities/\(user)/chain/\(Self.digits(sequence))")
    }

    /// An identity's current signed transient key; overwritten when the key is replaced.
    package func transientKey<Kind>(_ user: Identifier<Kind>) -> RemoteName {
        name("identities/\(user)/transient")
    }

    /// The prefix of all logs.
    package var logs: RemotePrefix { prefix("log") }

    /// The prefix of one log's commits.
    package func log<Kind>(_ log: Identifier<Kind>) -> RemotePrefix { prefix("log/\(log)") }

    /// A commit; put only if absent.
    package func commit<Kind>(_ log: Identifier<Kind>, _ sequence: UInt64) -> RemoteName {
        name("log/\(log)/\(Self.digits(sequence))")
    }

    /// The prefix of all packs.
    package var packs: RemotePrefix { prefix("packs") }

    /// A pack.
    package func pack(_ pack: PackID) -> RemoteName { name("packs/\(pack)") }

    /// The prefix of all checkpoints.
    package var checkpoints: RemotePrefix { prefix("checkpoints") }

    /// The checkpoint after a commit.
    package func checkpoint<Kind>(_ log: Identifier<Kind>, _ sequence: UInt64) -> RemoteName {
        name("checkpoints/\(log)/\(Self.digits(sequence))")
    }

    /// A piece of a checkpoint; its number is 8 hexadecimal digits.
    package func checkpointPiece<Kind>(
        _ log: Identifier<Kind>, _ sequence: UInt64, _ number: UInt32
    ) -> RemoteName {
        name("checkpoints/\(log)/\(Self.digits(sequence))-\(Self.digits(UInt64(number)).suffix(8))")
    }

    /// The prefix of all requests to join.
    package var requests: RemotePrefix { prefix("requests") }

    /// A request to join.
    package func request<Kind>(_ request: Identifier<Kind>) -> RemoteName { name("requests/\(request)") }

    /// The number in a name's last segment; nil if that is not a number in the form above.
    package static func sequence(of name: RemoteName) -> UInt64? {
        let last = name.last
        guard last.utf8.count == 16, let number = UInt64(last, radix: 16), digits(number) == last else {
            return nil
        }
        return number
    }

    private func name(_ rest: String) -> RemoteName { RemoteName(checked: prefix.text + rest) }

    private func prefix(_ rest: String) -> RemotePrefix { RemotePrefix(checked: "\(prefix.text)\(rest)/") }

    private static func digits(_ number: UInt64) -> String {
        let digits = String(number, radix: 16)
        return String(repeating: "0", count: 16 - digits.utf8.count) + digits
    }

    private static func digits(_ bytes: [UInt8]) -> String {
        precondition(bytes.count <= RemoteName.segmentByteCountMax / 2)
        return bytes.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
    }
}

extension RemoteName {
    /// The format object of the vault that this name belongs to; nil outside "vaults/ID/".
    package var vaultFormat: RemoteName? { Self.vaultFormat(segments) }

    static func vaultFormat(_ segments: [Substring]) -> RemoteName? {
        guard segments.count >= 2, segments[0] == "vaults" else { return nil }
        return RemoteName(checked: "vaults/\(segments[1])/format")
    }
}
