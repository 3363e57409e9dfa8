internal import CofferStore
internal import CofferSystem

extension Vault {
    /// What a check of a vault found.
    package struct CheckResult: Sendable {
        package var items = 0
        package var blocks = 0
        /// Bytes of content that were read and found right.
        package var bytes = 0
        package var damage: [Damage] = []

        /// Something that is hurt.
        package struct Damage: Sendable, Equatable {
            /// The file, as a path in the vault.
            package let path: String?
            /// The bytes of it that cannot be read.
            package let range: Range<Int64>?
            package let text: String
        }
    }

    /// Reads every row and block. Others can work meanwhile.
    package func check(progress: (Int, Int) -> Void) throws(FileSystemError) -> CheckResult {
        CheckResult()
    }

    /// Items, bytes of content, bytes on disk.
    package func storeSize() -> (items: Int64, content: Int64, store: Int64) {
        (0, 0, 0)
    }

    /// Why nothing can be written, if so.
    package var stoppedReason: String? { state.withLock { $0.stopped } }
}
