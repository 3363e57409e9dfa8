/// A directory in which a case or a workload makes its calls; names resolve against it.
package struct Sandbox: Sendable {
    /// The path of the directory.
    package let root: String

    /// The directory at `root`, which must exist.
    package init(root: String) {
        self.root = root
    }

    /// The path of a name; the empty name is the directory itself.
    func path(_ name: String) -> String {
        name.isEmpty ? root : "\(root)/\(name)"
    }
}
