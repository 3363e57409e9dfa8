internal import CofferFormat
internal import CofferSystem
internal import CofferVault

/// What this device keeps of a vault for the time when it is opened next.
struct VaultUse: Equatable, Sendable {
    /// The vault.
    let vault: VaultID
    /// Whether the person may only read it, as far as that was known last.
    var isForReading = false
    /// Whether what lies at the remote is being deleted, or was, and the vault is here still.
    var isBeingDeleted = false
    /// How many bytes of content stay here that are at the remote, too; nil for all.
    var cacheLimit: Int64?

    init(of vault: VaultID) {
        self.vault = vault
    }

    /// Whether there is nothing to be kept.
    var isUsual: Bool { self == VaultUse(of: vault) }

    /// Has a vault that has a remote used so.
    func apply(to opened: Vault) {
        opened.setForReading(isForReading)
        opened.setCacheLimit(cacheLimit)
    }

    private static let noLimit = UInt64.max
    private static let forReading: UInt8 = 1
    private static let beingDeleted: UInt8 = 2

    func write(into writer: inout ByteWriter) {
        writer.identifier(vault)
        writer.number((isForReading ? Self.forReading : 0) | (isBeingDeleted ? Self.beingDeleted : 0))
        writer.number(cacheLimit.map { UInt64(max($0, 0)) } ?? Self.noLimit)
    }

    init(_ bytes: RawSpan) throws(FormatError) {
        var cursor = ByteCursor()
        vault = try cursor.identifier(VaultID.self, from: bytes)
        let flags = try cursor.number(UInt8.self, from: bytes)
        guard flags & ~(Self.forReading | Self.beingDeleted) == 0 else {
            throw .invalid(field: "use of a vault")
        }
        isForReading = flags & Self.forReading != 0
        isBeingDeleted = flags & Self.beingDeleted != 0
        let limit = try cursor.number(UInt64.self, from: bytes)
        if limit != Self.noLimit {
            guard let known = Int64(exactly: limit) else { throw .invalid(field: "cache limit") }
            cacheLimit = known
        }
        try cursor.expectEnd(of: bytes)
    }
}

extension Profile {
    /// How a vault is used on this device.
    func use(of vault: VaultID) -> VaultUse {
        state.withLock { $0.body.uses.first { $0.vault == vault } } ?? VaultUse(of: vault)
    }

    /// Changes how a vault is used; is on disk when it returns.
    func changeUse(of vault: VaultID, _ edit: (inout VaultUse) -> Void) throws(ProfileError) {
        let old = use(of: vault)
        var new = old
        edit(&new)
        if new == old { return }
        try change { state throws(ProfileError) in
            var use = state.body.uses.first { $0.vault == vault } ?? VaultUse(of: vault)
            edit(&use)
            state.body.uses.removeAll { $0.vault == vault }
            if !use.isUsual { state.body.uses.append(use) }
        }
    }
}
