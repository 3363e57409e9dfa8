internal import CofferFormat
internal import CofferStore
internal import CofferSystem

// Content that only the history has.
extension CheckWalk {
    /// Reads what versions have: the content that items have lost since.
    ///
    /// A version that goes meanwhile gives what it has to a later one, which is read after it.
    mutating func readPast(_ progress: (Int, Int) -> Void) {
        var damaged: [(version: VersionRow, found: Range<Int>)] = []
        var last: (item: Int64, moment: Int64) = (0, 0)
        do throws(FileSystemError) {
            while true {
                let versions = try vault.looking { state throws(FileSystemError) in
                    guard state.tree.history != nil else { return [VersionRow]() }
                    return try state.index.versions(after: last.item, last.moment, limit: Self.batchCount)
                }
                for version in versions {
                    let count = result.damage.count
                    readVersion(version.version, progress)
                    if result.damage.count > count { damaged.append((version, count..<result.damage.count)) }
                }
                guard versions.count == Self.batchCount, let version = versions.last else { break }
                last = (version.item, version.until)
            }
        } catch {
            note("", nil, "The list of past versions cannot be read: \(error.summary).")
        }
        name(damaged)
    }

    private mutating func readVersion(_ number: Int64, _ progress: (Int, Int) -> Void) {
        do throws(FileSystemError) {
            guard try vault.attributes(of: number).type == .regular else { return }
            try readContent(of: number, "", progress)
        } catch {
            if case .stale = error { return }
            note("", nil, "The item cannot be read: \(error.summary).")
        }
    }

    /// Says of which file, and of which time, each damaged version is.
    private mutating func name(_ damaged: [(version: VersionRow, found: Range<Int>)]) {
        for (moment, versions) in Dictionary(grouping: damaged, by: \.version.until) {
            let view = try? vault.history.view(ofMoment: moment)
            defer { view?.close() }
            let paths = view.map { Self.paths(of: Set(versions.map(\.version.item)), in: $0) } ?? [:]
            let time = view.flatMap { PastTime.forms(of: $0.since).first }.map { "as of \($0)" }
            for (version, found) in versions {
                for index in found {
                    let damage = result.damage[index]
                    result.damage[index] = .init(
                        path: paths[version.item].map { String($0.dropFirst()) }, range: damage.range,
                        text:
                            "Only the history has this content, \(time ?? "of item \(version.item)"). \(damage.text)"
                    )
                }
            }
        }
    }

    /// The paths of items in a past state, each by one of its names.
    private static func paths(of items: Set<Int64>, in view: HistoryView) -> [Int64: String] {
        var paths: [Int64: String] = [:]
        var directories: [(number: Int64, path: String)] = [(Vault.rootNumber, "")]
        var seen: Set<Int64> = [Vault.rootNumber]
        while let directory = directories.popLast(), paths.count < items.count {
            for entry in (try? view.entries(of: directory.number)) ?? [] {
                let path = directory.path + "/" + String(decoding: entry.name, as: UTF8.self)
                if items.contains(entry.item) { paths[entry.item] = path }
                if FileType(rawValue: entry.type) == .directory, seen.insert(entry.item).inserted {
                    directories.append((entry.item, path))
                }
            }
        }
        return paths
    }
}
