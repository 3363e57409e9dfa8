/// Every case, in the order of the groups.
package enum PosixCatalogue {
    /// All cases; their names are distinct.
    package static let all: [PosixCase] = groups.flatMap(\.self)

    /// Runs every case, each in a fresh directory inside `directory`, and removes what it left.
    ///
    /// Skips the cases that need something that is in `lacking`, or that this process cannot do.
    package static func run(in directory: String, lacking: Set<Requirement> = []) -> [Outcome] {
        all.enumerated().map { index, posixCase in
            run(posixCase, in: directory, as: "posix-case-\(index)", lacking: lacking)
        }
    }

    /// Runs one case in a fresh directory `name` inside `directory`, and removes it.
    package static func run(
        _ posixCase: PosixCase, in directory: String, as name: String, lacking: Set<Requirement> = []
    ) -> Outcome {
        let missing = posixCase.requires.intersection(lacking.union(Requirement.lacking()))
        guard missing.isEmpty else {
            return Outcome(name: posixCase.name, result: .skipped(lacking: missing), duration: .zero)
        }
        let start = ContinuousClock.now
        let result = perform(posixCase, in: Sandbox(root: directory), as: name)
        return Outcome(name: posixCase.name, result: result, duration: ContinuousClock.now - start)
    }

    private static func perform(
        _ posixCase: PosixCase, in parent: Sandbox, as name: String
    ) -> Outcome.Result {
        do {
            parent.removeTree(name)
            try parent.makeDirectory(name)
            defer { parent.removeTree(name) }
            try parent.changeMode(name, 0o755)
            try posixCase.run(Sandbox(root: parent.path(name)))
        } catch let lacking as Lacking {
            return .skipped(lacking: [lacking.requirement])
        } catch {
            return .failed(reason: "\(error)")
        }
        return parent.exists(name) ? .failed(reason: "the directory of the case cannot be removed") : .passed
    }
}
