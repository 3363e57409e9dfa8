/// Names that a change from elsewhere has given to files, and that the kernel has not looked up since.
///
/// The kernel uses what it knew of a name until it is notified. So a request to remove or to replace such a
/// name means the file that had the name before.
struct UnseenNames {
    /// How many names are remembered.
    private static let countMax = 16_384

    private var items: [Vault.Name: Int64] = [:]

    var isEmpty: Bool { items.isEmpty }

    func contains(_ name: Vault.Name, leadingTo item: Int64) -> Bool { items[name] == item }

    mutating func insert(_ name: Vault.Name, leadingTo item: Int64) {
        // After a change of so many names, the kernel is notified of the first ones long before the last.
        if items.count >= Self.countMax { items = [:] }
        items[name] = item
    }

    /// Records that the kernel looks a name up.
    mutating func remove(_ name: @autoclosure () -> Vault.Name) {
        if !items.isEmpty { items[name()] = nil }
    }
}
