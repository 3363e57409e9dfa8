internal import Glibc

/// The same random operations in two directories: a reference, whose filesystem is trusted, and a subject.
///
/// The sequence depends on the seed alone. The result of every operation is compared, and at intervals the
/// whole trees: names, types, modes, owners, links, sizes, contents, extended attributes, targets of
/// symbolic links, and modification times where an operation set them.
package final class RandomOperations {
    private let seed: UInt64
    private var generator: OperationGenerator
    private let reference: OperationRunner
    private let subject: OperationRunner
    private var index = 0
    private var script: [String] = []

    /// The number of operations that succeeded in both directories so far; the others failed alike.
    package private(set) var successes = 0

    /// The number of operations between two comparisons of the whole trees.
    package var interval = 250

    /// Takes two directories that are equal, for example empty; kinds in `excluded` are not drawn.
    package init(seed: UInt64, reference: String, subject: String, without excluded: Set<OperationKind> = [])
    {
        self.seed = seed
        generator = OperationGenerator(seed: seed, without: excluded)
        self.reference = OperationRunner(root: reference)
        self.subject = OperationRunner(root: subject)
    }

    /// Continues the sequence by a number of operations; compares the trees at the end, too.
    package func run(operations: Int) throws(Mismatch) {
        for _ in 0..<operations {
            let operation = generator.next()
            let expected = reference.perform(operation)
            let found = subject.perform(operation)
            record("#\(index) \(operation) -> \(expected)")
            if expected != found {
                throw mismatch("reference \(expected), subject \(found)")
            }
            if expected.code == 0 { successes += 1 }
            index += 1
            if index % interval == 0 { try compareTrees() }
        }
        try compareTrees()
    }

    /// Closes the files that operations hold open, so that the subject can be remounted.
    package func closeAll() {
        reference.closeAll()
        subject.closeAll()
    }

    /// Compares the whole trees.
    package func compareTrees() throws(Mismatch) {
        let comparison = TreeComparison(reference: reference.box, subject: subject.box)
        if let difference = comparison.difference() { throw mismatch(difference) }
    }

    private func record(_ line: String) {
        script.append(line.replacing(OperationGenerator.longName, with: "<long name>"))
        if script.count > 20 { script.removeFirst() }
    }

    private func mismatch(_ difference: String) -> Mismatch {
        Mismatch(seed: seed, index: index, difference: difference, script: script)
    }
}
