import Foundation

/// The files of the project, as on disk.
enum Project {
    /// The directory of Package.swift.
    static let root = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        .deletingLastPathComponent()

    /// Every Swift file of Sources, ordered by path.
    static let sources: [SourceFile] = files(below: "Sources") { $0.hasSuffix(".swift") }

    /// Every file of Sources: Swift, C, headers and module maps.
    static let allSources: [SourceFile] = files(below: "Sources") { _ in true }

    /// Every Swift file of Benchmarks.
    static let benchmarks: [SourceFile] = files(below: "Benchmarks") { $0.hasSuffix(".swift") }

    /// Every Swift file of Tests.
    static let tests: [SourceFile] = files(below: "Tests") { $0.hasSuffix(".swift") }

    /// Other files written by hand: tests, scripts, build files, documents.
    static let others: [SourceFile] =
        ["Tests", "Benchmarks", "docs", "tools", "mount-helpers", ".ci"].flatMap { directory in
            files(below: directory, isCode: false) { path in !path.contains("/Vectors/") }
        } + files(below: "", deeply: false, isCode: false) { _ in true }

    /// The targets that have a directory in Sources or Benchmarks.
    static func targets() throws -> [String] {
        try ["Sources", "Benchmarks"].flatMap { directory in
            let path = root.appending(path: directory).path
            // Documents and scripts are no targets.
            return try FileManager.default.contentsOfDirectory(atPath: path).filter {
                !$0.hasSuffix(".md") && !$0.hasSuffix(".sh")
            }
        }.sorted()
    }

    /// The declarations of Package.swift.
    static func manifest() throws -> Manifest {
        Manifest(try String(contentsOf: root.appending(path: "Package.swift"), encoding: .utf8))
    }

    private static func files(
        below directory: String, deeply: Bool = true, isCode: Bool = true, where isWanted: (String) -> Bool
    ) -> [SourceFile] {
        let start = directory.isEmpty ? root : root.appending(path: directory)
        let found = FileManager.default.enumerator(
            at: start, includingPropertiesForKeys: [.isRegularFileKey],
            options: deeply ? [] : [.skipsSubdirectoryDescendants])
        let urls = (found?.allObjects ?? []).compactMap { $0 as? URL }
        return urls.compactMap { url in
            let isFile = (try? url.resourceValues(forKeys: [.isRegularFileKey]).isRegularFile) ?? false
            let path = String(url.path.dropFirst(root.path.count + 1))
            // The rules do not apply to binary files.
            guard isFile, isWanted(path), let text = try? String(contentsOf: url, encoding: .utf8) else {
                return nil
            }
            return SourceFile(path: path, text, isCode: isCode)
        }.sorted { $0.path < $1.path }
    }
}
