package import CofferFormat
internal import CofferSystem

/// Recent problems, for `coffer status`; names of files stay in memory and reach no system log.
package final class ProblemLog: Sendable {
    /// One problem.
    package struct Problem: Sendable, Equatable {
        /// Nanoseconds since 1970.
        package let time: Int64
        /// A sentence; may name files.
        package let text: String
        /// What the problem is about, if it may go away by itself.
        var subject: Subject?
    }

    /// The subject of a problem that may go away by itself.
    package enum Subject: Hashable, Sendable {
        /// The content of a file that is only on a remote, by vault and item number.
        case content(VaultID, Int64)
        /// The description of a file's content on a remote, by vault and item number.
        case pages(VaultID, Int64)
        /// Changes of a vault that are not on this disk yet.
        case storing(VaultID)
        /// Work on a vault's packs in the background.
        case upkeep(VaultID)
        /// A remote pack.
        case remotePack(PackID)
    }

    private static let countMax = 100
    private let problems = RankedMutex([Problem](), rank: .leaf)
    private let reporter: @Sendable (String) -> Void
    /// The log that this one is a part of, and the name of the vault that its problems are about.
    private let parent: ProblemLog?
    private let vault: RankedMutex<String>

    /// - Parameter reporter: Called at once with each new problem.
    package init(reporter: @escaping @Sendable (String) -> Void = { _ in }) {
        self.reporter = reporter
        parent = nil
        vault = RankedMutex("", rank: .leaf)
    }

    /// Makes a log of one vault, whose problems go to another log with the vault's name.
    package init(ofVault name: String, in log: ProblemLog) {
        parent = log
        vault = RankedMutex(name, rank: .leaf)
        reporter = { _ in }
    }

    /// Uses another name of the vault for further problems.
    package func renameVault(_ name: String) { vault.withLock { $0 = name } }

    /// A problem's text with the name of the vault.
    private func named(_ text: String) -> String { "“\(vault.withLock { $0 })”: \(text)" }

    /// Reports a problem that is kept elsewhere, for as long as it exists.
    package func report(_ text: String) {
        if let parent { return parent.report(named(text)) }
        reporter(text)
    }

    /// Adds a problem; repeating the latest one does nothing.
    package func add(_ text: String) {
        if let parent { return parent.add(named(text)) }
        let isNew = problems.withLock { problems in
            if problems.last?.text == text { return false }
            Self.append(Problem(time: Clock.realTime, text: text), to: &problems)
            return true
        }
        if isNew { reporter(text) }
    }

    /// Adds a problem that may go away by itself; it replaces an earlier one about the same subject.
    package func add(_ text: String, about subject: Subject) {
        if let parent { return parent.add(named(text), about: subject) }
        let isNew = problems.withLock { problems in
            let known = problems.firstIndex { $0.subject == subject }
            if let known, problems[known].text == text { return false }
            if let known { problems.remove(at: known) }
            Self.append(Problem(time: Clock.realTime, text: text, subject: subject), to: &problems)
            return known == nil
        }
        if isNew { reporter(text) }
    }

    /// Removes a problem that no longer exists.
    package func remove(about subject: Subject) {
        if let parent { return parent.remove(about: subject) }
        problems.withLock { $0.removeAll { $0.subject == subject } }
    }

    private static func append(_ problem: Problem, to problems: inout [Problem]) {
        if problems.count == countMax { problems.removeFirst() }
        problems.append(problem)
    }

    /// The latest problems, oldest first.
    package var all: [Problem] { parent?.all ?? problems.withLock { $0 } }
}
