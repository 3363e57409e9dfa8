/// A failure that concerns the name of a vault.
package enum VaultNameError: Error {
    case noSuchVault(name: String)
    case vaultExists(name: String)
    case invalidVaultName(name: String)
}

extension VaultNameError: CustomStringConvertible {
    package var description: String {
        switch self {
        case .noSuchVault(let name): "There is no vault named “\(name)”. List them with: coffer vault list"
        case .vaultExists(let name): "There is already a vault named “\(name)”. Choose another name."
        case .invalidVaultName(let name):
            """
            “\(name)” cannot be the name of a vault: use 1 to 255 bytes without “/”, and no dot at the \
            beginning.
            """
        }
    }

    var exitCode: Int32 {
        switch self {
        case .noSuchVault: 66  // EX_NOINPUT
        case .vaultExists: 73  // EX_CANTCREAT
        case .invalidVaultName: 64  // EX_USAGE
        }
    }
}
