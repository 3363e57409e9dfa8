package import CofferFormat

/// The packs at the remote that a device's contents refer to.
package struct ContentPacks: Equatable, Sendable {
    /// The known ones.
    package var packs: Set<PackID>
    /// Whether there are no others: a content whose pages have not arrived may refer to any pack.
    package var isComplete: Bool

    package init(_ packs: Set<PackID> = [], isComplete: Bool = true) {
        self.packs = packs
        self.isComplete = isComplete
    }
}
