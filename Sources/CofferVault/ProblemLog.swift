internal import CofferSystem

/// What went wrong lately, for `coffer status`; names of files stay in memory and reach no system log.
package final class ProblemLog: Sendable {
    /// One thing that went wrong.
    package struct Problem: Sendable, Equatable {
        /// Nanoseconds since 1970.
        package let time: Int64
        /// A sentence; may name files.
        package let text: String
    }

    private static let countMax = 100
    private let problems = Condition([Problem]())
    private let report: @Sendable (String) -> Void

    /// - Parameter report: Told of each new problem, at once.
    package init(report: @escaping @Sendable (String) -> Void = { _ in }) {
        self.report = report
    }

    /// Takes note of a problem; the same one twice in a row counts once.
    package func add(_ text: String) {
        let isNew = problems.withLock { problems in
            if problems.last?.text == text { return false }
            if problems.count == Self.countMax { problems.removeFirst() }
            problems.append(Problem(time: Clock.realTime, text: text))
            return true
        }
        if isNew { report(text) }
    }

    /// The latest problems, oldest first.
    package var all: [Problem] { problems.withLock { $0 } }
}
