// Release builds cannot access internal declarations, and have no tests that need them.
#if DEBUG
package import CofferFormat
internal import CofferStore
@testable package import CofferVault

extension Vault {
    /// Gives a file new content from elsewhere, in one step.
    ///
    /// Like a rename over the file: the new version is an item with a new number, to which all names lead
    /// from now on. Programs that have the file open keep the old version (docs/posix.md, "Changes from elsewhere").
    /// May wait, as `changeElsewhere`, which need not be called around it.
    ///
    /// - Parameters:
    ///   - names: All names of the file.
    ///   - bytes: The whole content, up to 1 MiB.
    ///   - modified: The time of the write, in nanoseconds since 1970.
    /// - Returns: The number of the new version.
    /// - Throws: `.notFound` if a name no longer leads to the file.
    package func replaceContent(
        of number: Int64, names: [Name], with bytes: RawSpan, modified: Int64
    ) throws(FileSystemError) -> Int64 {
        guard bytes.byteCount <= ExtentLayout.byteCountMax else { throw .fileTooLarge }
        let (origin, version) = try changing { state throws(FileSystemError) in
            (try state.tree.peek(number).origin, state.index.nextItemNumber())
        }
        return try changeElsewhere { changes throws(FileSystemError) in
            if bytes.byteCount == 0 {
                try changing { state throws(FileSystemError) in
                    try state.supersede(number, by: version, names).row.modified = modified
                }
            } else {
                try contents.store(bytes, of: origin, version, at: 0) { row, state throws(FileSystemError) in
                    let item = try state.supersede(number, by: version, names)
                    try state.index.insert(row)
                    item.row.size = row.length
                    item.row.allocated = row.length
                    item.row.modified = modified
                }
            }
            changes = names.map { .entry($0) } + [.nameless(item: number)]
            return version
        }
    }
}
#endif
