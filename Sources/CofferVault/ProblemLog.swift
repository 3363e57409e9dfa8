package import CofferFormat
internal import CofferSystem

/// What went wrong lately, for `coffer status`; names of files stay in memory and reach no system log.
package final class ProblemLog: Sendable {
    /// One thing that went wrong.
    package struct Problem: Sendable, Equatable {
        /// Nanoseconds since 1970.
        package let time: Int64
        /// A sentence; may name files.
        package let text: String
        /// What it is about, where that may come right by itself.
        var subject: Subject?
    }

    /// Something that may come right by itself, and then is no problem any more.
    package enum Subject: Hashable, Sendable {
        /// The content of a file, by its vault and number, that is at a remote only.
        case content(VaultID, Int64)
        /// What says where the content of a file is at a remote, by its vault and number.
        case pages(VaultID, Int64)
        /// A remote pack.
        case remotePack(PackID)
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
            Self.append(Problem(time: Clock.realTime, text: text), to: &problems)
            return true
        }
        if isNew { report(text) }
    }

    /// Takes note of a problem that may come right by itself; of a subject there is one.
    package func add(_ text: String, about subject: Subject) {
        let isNew = problems.withLock { problems in
            let known = problems.firstIndex { $0.subject == subject }
            if let known, problems[known].text == text { return false }
            if let known { problems.remove(at: known) }
            Self.append(Problem(time: Clock.realTime, text: text, subject: subject), to: &problems)
            return known == nil
        }
        if isNew { report(text) }
    }

    /// Lets go of a problem that is none any more.
    package func remove(about subject: Subject) {
        problems.withLock { $0.removeAll { $0.subject == subject } }
    }

    private static func append(_ problem: Problem, to problems: inout [Problem]) {
        if problems.count == countMax { problems.removeFirst() }
        problems.append(problem)
    }

    /// The latest problems, oldest first.
    package var all: [Problem] { problems.withLock { $0 } }
}
