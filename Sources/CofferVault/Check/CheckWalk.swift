internal import CofferFormat
internal import CofferStore
internal import CofferSystem

/// A walk that reads everything in a vault.
struct CheckWalk {
    static let batchCount = 256

    let vault: Vault
    var result = Vault.CheckResult()
    var total = 0
    private let buffer = AlignedBuffer(count: ExtentLayout.byteCountMax)
    private var directories: [(number: Int64, path: String)] = [(Vault.rootNumber, "")]
    /// Directories, and files with several names, that were already visited: pages from an older state of the
    /// index may form cycles.
    private var seen: Set<Int64> = [Vault.rootNumber]
    /// The packs on the remote with contents that are not on this device.
    var packs: SeenPacks

    init(vault: Vault) {
        self.vault = vault
        packs = SeenPacks(vault: vault)
    }

    mutating func run(_ progress: (Int, Int) -> Void) {
        result.items = 1
        while let directory = directories.popLast() {
            var cookie: Int64 = 2
            while true {
                let entries: [Vault.Entry]
                do throws(FileSystemError) {
                    entries = try vault.readDirectory(
                        directory.number, after: cookie, limit: Self.batchCount, attributes: false)
                } catch {
                    // A directory that was removed in the meantime has nothing to read.
                    if case .stale = error { break }
                    note(directory.path, nil, "The directory cannot be read: \(error.summary).")
                    break
                }
                for entry in entries {
                    let path = directory.path + "/" + String(decoding: entry.name, as: UTF8.self)
                    check(entry, path, progress)
                    cookie = entry.cookie
                }
                if entries.count < Self.batchCount { break }
            }
        }
    }

    mutating func note(_ path: String, _ range: Range<Int64>?, _ text: String) {
        result.damage.append(.init(path: String(path.dropFirst()), range: range, text: text))
    }

    private mutating func check(_ entry: Vault.Entry, _ path: String, _ progress: (Int, Int) -> Void) {
        do throws(FileSystemError) {
            let attributes = try vault.attributes(of: entry.item)
            if attributes.links > 1 || attributes.type == .directory, !seen.insert(entry.item).inserted {
                return
            }
            result.items += 1
            _ = try vault.extendedAttributeNames(of: entry.item)
            if attributes.type == .directory { directories.append((entry.item, path)) }
            if attributes.type == .regular { try readContent(of: entry.item, path, progress) }
        } catch {
            if case .stale = error { return }
            note(path, nil, "The item cannot be read: \(error.summary).")
        }
    }

    mutating func readContent(
        of number: Int64, _ path: String, _ progress: (Int, Int) -> Void
    ) throws(FileSystemError) {
        var offset: Int64 = 0
        while let start = try nextData(number, from: offset) {
            let end = try vault.contents.seek(number, from: start, toData: false)
            offset = start
            while offset < end {
                let count = Int(min(Int64(ExtentLayout.byteCountMax), end - offset))
                let missing = readPresent(of: number, offset..<offset + Int64(count), path)
                offset += Int64(count)
                result.blocks += ExtentLayout.blockCount(count - missing)
                result.bytes += count - missing
                result.missingBytes += missing
                let done = result.bytes + result.missingBytes
                progress(done, max(total, done))
            }
        }
    }

    private func nextData(_ number: Int64, from offset: Int64) throws(FileSystemError) -> Int64? {
        do throws(FileSystemError) {
            return try vault.contents.seek(number, from: offset, toData: true)
        } catch {
            if case .beyondEnd = error { return nil }
            throw error
        }
    }

    /// Reads those parts of a range that are on this device.
    ///
    /// - Returns: The number of bytes in the other parts.
    private mutating func readPresent(of number: Int64, _ range: Range<Int64>, _ path: String) -> Int {
        var count = 0
        var start = range.lowerBound
        var lost: [Range<Int64>] = []
        for missing in (try? vault.contents.missingRanges(of: number, range)) ?? [] {
            if packs.isLost(missing, of: number) { lost.append(missing) }
            if start < missing.lowerBound { readRange(of: number, start..<missing.lowerBound, path) }
            count += missing.count
            start = missing.upperBound
        }
        if start < range.upperBound { readRange(of: number, start..<range.upperBound, path) }
        for range in lost {
            note(
                path, range,
                "The content is not on this device, and it has not arrived at the remote or is lost there.")
        }
        return count
    }

    /// Reads a range; if that fails, reads it block by block, to find the damaged bytes.
    private mutating func readRange(of number: Int64, _ range: Range<Int64>, _ path: String) {
        if damage(of: number, range) == nil { return }
        var hurt: (range: Range<Int64>, text: String)?
        var start = range.lowerBound
        while start < range.upperBound {
            let step = Int64(ExtentLayout.blockByteCount)
            let end = min(range.upperBound, (start / step + 1) * step)
            if let text = damage(of: number, start..<end) {
                hurt = ((hurt?.range.lowerBound ?? start)..<end, text)
            } else if let found = hurt {
                note(path, found.range, found.text)
                hurt = nil
            }
            start = end
        }
        if let hurt { note(path, hurt.range, hurt.text) }
    }

    private func damage(of number: Int64, _ range: Range<Int64>) -> String? {
        do throws(FileSystemError) {
            _ = try vault.contents.read(number, at: range.lowerBound, count: range.count, into: buffer)
            return nil
        } catch {
            if case .stale = error { return nil }
            return "The content cannot be read: \(error.summary)."
        }
    }
}
