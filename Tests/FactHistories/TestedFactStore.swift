package import CofferFacts
package import CofferFormat

/// A store of facts that histories run on.
package protocol TestedFactStore: FactStore {
    /// An empty store.
    ///
    /// - Parameter seed: Determines all random choices.
    init(seed: UInt64) throws
    /// All values of all registers, in the form that the full evaluation takes.
    var allValues: [Register: [RegisterValue]] { get }
    /// The labels of all logs.
    var allLabels: [LogID: String] { get }
    /// Called between two steps: a store may do anything here that can happen to it in between.
    func rest() throws(Failure)
}

extension MemoryFactStore: TestedFactStore {
    package init(seed: UInt64) { self.init() }
    package func rest() {}
}
