internal import CofferFormat
internal import CofferSystem
internal import CofferVault
internal import Synchronization

/// Settings of a vault on this device that apply when it is opened.
struct VaultUse: Equatable, Sendable {
    /// The vault.
    let vault: VaultID
    /// Whether the person had only the right to read it when that was last checked.
    var isForReading = false
    /// Whether its copy at the remote is being deleted, or was, while the vault is still here.
    var isBeingDeleted = false
    /// The number of bytes of content to keep here that are also at the remote; nil for no limit.
    var cacheLimit: Int64?

    init(of vault: VaultID) {
        self.vault = vault
    }

    /// Whether all settings are the default, so that no record is needed.
    var isUsual: Bool { self == VaultUse(of: vault) }

    /// Applies the settings to an open vault that has a remote.
    func apply(to opened: Vault) {
        opened.setForReading(isForReading)
        opened.cache.setCacheLimit(cacheLimit)
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
    /// The settings of a vault on this device.
    func use(of vault: VaultID) -> VaultUse {
        state.withLock { $0.body.uses.first { $0.vault == vault } } ?? VaultUse(of: vault)
    }

    /// Changes the settings of a vault; they are on disk when it returns.
    func changeUse(of vault: VaultID, _ edit: (inout VaultUse) -> Void) throws(ClientError) {
        let old = use(of: vault)
        var new = old
        edit(&new)
        if new == old { return }
        try change { state throws(ClientError) in
            var use = state.body.uses.first { $0.vault == vault } ?? VaultUse(of: vault)
            edit(&use)
            state.body.uses.removeAll { $0.vault == vault }
            if !use.isUsual { state.body.uses.append(use) }
        }
    }
}
