package import CofferFacts
package import CofferFormat

/// A store of facts that histories run on.
package protocol TestedFactStore: FactStore {
    /// An empty store.
    ///
    /// - Parameter seed: What to choose by, if there is anything to choose.
    init(seed: UInt64) throws
    /// All values of all registers, as the full evaluation wants them.
    var allValues: [Register: [RegisterValue]] { get }
    /// The labels of all logs.
    var allLabels: [LogID: String] { get }
    /// Is called between two steps: whatever happens to a store in the meantime may happen now.
    func rest() throws(Failure)
}

extension MemoryFactStore: TestedFactStore {
    package init(seed: UInt64) { self.init() }
    package func rest() {}
}
