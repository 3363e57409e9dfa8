internal import Glibc

/// What a check of a directory against its manifest found.
package struct ManifestReport: Sendable {
    /// How many changes the manifest says are durable.
    package let acknowledged: Int
    /// How many files and pages were compared.
    package let files: Int
    package let pages: Int
    /// How many pages hold overwritten bytes that were never made durable.
    package let laterPages: Int
    /// What is lost, torn, or present without reason.
    package let problems: [String]
}

/// Checks a directory after a crash against what its manifest says is durable.
///
/// The rules, which ext4 keeps:
/// - A file whose last change is done exists, with exactly its durable size.
/// - Each of its pages is one whole generation: the durable one, or a later one that was written to the page
///   and not made durable. A page that mixes generations is torn.
/// - The change that is open at the end may have happened or not. A rename or a replacement happened as a whole
///   or not at all; a removed file is whole or gone; a truncated file has its old size or the new one. A file that
///   was being created or appended to has some size up to the new one: its durable part is intact, and new bytes
///   or zeros follow.
/// - No other name exists: removed, renamed and replaced files do not come back.
package struct ManifestChecker {
    let box: Sandbox
    private let state: DurableState
    private var problems: [String] = []
    private var checkedFiles = 0
    var checkedPages = 0
    var laterPages = 0

    /// Reads the manifest; a last line that was cut off is left out.
    package init(directory: String, manifest: String) throws {
        box = Sandbox(root: directory)
        let text = String(decoding: try Sandbox.open(path: manifest, O_RDONLY).contents(), as: UTF8.self)
        var state = DurableState()
        for line in text[..<(text.lastIndex(of: "\n") ?? text.startIndex)].split(separator: "\n") {
            guard let record = ManifestRecord(line: line) else {
                throw CaseFailure("not a line of a manifest: \(line)", #line)
            }
            state.apply(record)
        }
        self.state = state
    }

    /// Compares everything.
    package mutating func check() -> ManifestReport {
        var expected = Set(state.files.keys)
        for (path, file) in state.files.sorted(by: { $0.key < $1.key }) where !isOpen(path) {
            note(path, inspect(path, file))
        }
        for path in checkOpenChange() { expected.insert(path) }
        for directory in ManifestWriter.directories {
            for name in (try? box.names(directory)) ?? [] where !expected.contains("\(directory)/\(name)") {
                problems.append("\(directory)/\(name): is there, but was removed or never made")
            }
        }
        return ManifestReport(
            acknowledged: state.done, files: checkedFiles, pages: checkedPages, laterPages: laterPages,
            problems: problems)
    }

    private func isOpen(_ path: String) -> Bool {
        switch state.open {
        case .replace(path, _, _, _), .append(path, _, _), .truncate(path, _), .remove(path),
            .rename(path, _), .rename(_, path):
            true
        default: false
        }
    }

    private mutating func note(_ path: String, _ problem: String?) {
        checkedFiles += 1
        if let problem { problems.append("\(path): \(problem)") }
    }

    /// Checks the open change, and returns the names that it may leave.
    private mutating func checkOpenChange() -> [String] {
        switch state.open {
        case .create(let path, let number, let generation, let size):
            let new = DurableFile(file: number, generation: generation, size: size)
            if box.exists(path) { note(path, inspect(path, new, durable: 0)) }
            return [path]
        case .replace(let path, let number, let generation, let size):
            let new = DurableFile(file: number, generation: generation, size: size)
            let old = inspect(path, new) == nil ? nil : state.files[path].flatMap { inspect(path, $0) }
            note(path, old.map { "is neither the new file nor the old one, which \($0)" })
            let part = path + ".tmp"
            if box.exists(part) { note(part, inspect(part, new, durable: 0)) }
            return [path, part]
        case .append(let path, let generation, let size):
            guard var file = state.files[path] else { return [] }
            let durable = file.size
            file.grow(to: size, generation: generation)
            note(path, inspect(path, file, durable: durable))
            return [path]
        case .truncate(let path, let size):
            guard let old = state.files[path] else { return [] }
            var new = old
            new.shrink(to: size)
            if let problem = inspect(path, new) {
                note(path, inspect(path, old).map { "is neither cut (\(problem)) nor as before (\($0))" })
            }
            return [path]
        case .rename(let path, let target): return checkRename(path, target)
        case .remove(let path):
            if box.exists(path), let file = state.files[path] { note(path, inspect(path, file)) }
            return [path]
        default: return []
        }
    }

    private mutating func checkRename(_ path: String, _ target: String) -> [String] {
        guard let moved = state.files[path] else { return [] }
        let old = state.files[target]
        if box.exists(path) {
            note(path, inspect(path, moved))
            note(
                target, old.map { inspect(target, $0) } ?? (box.exists(target) ? "both names are there" : nil)
            )
        } else {
            note(target, inspect(target, moved))
        }
        return [path, target]
    }
}
