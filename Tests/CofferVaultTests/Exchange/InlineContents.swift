import CofferCrypto
import CofferFacts
import CofferFormat
import CofferStore
import CofferSystem

@testable import CofferVault

/// Content as plain bytes: for files of up to 60,000 bytes.
struct InlineContents: ContentPublishing {
    static let byteCountMax = 60_000

    /// The number of content bytes after which the rest waits for the next commit.
    private static let commitByteCountMax = 4 << 20

    func contents(of numbers: [Int64], in vault: Vault) throws(FileSystemError) -> [Int64: Fact.Content] {
        var contents: [Int64: Fact.Content] = [:]
        var byteCount = 0
        for number in numbers where byteCount < Self.commitByteCountMax {
            do throws(FileSystemError) {
                let content = try Self.content(of: number, in: vault)
                byteCount += content.bytes.count
                contents[number] = content
            } catch {
                guard case .stale = error else { throw error }
            }
        }
        return contents
    }

    static func content(of number: Int64, in vault: Vault) throws(FileSystemError) -> Fact.Content {
        let size = try vault.attributes(of: number).size
        guard size <= byteCountMax else { throw .fileTooLarge }
        let buffer = AlignedBuffer(count: byteCountMax)
        let count = try vault.contents.read(number, at: 0, count: Int(size), into: buffer)
        return Fact.Content(bytes: buffer.withBytes(0..<count) { $0.array }, size: UInt64(count))
    }

    func prepare(_ content: Fact.Content, of item: ItemID, in vault: Vault) throws(FileSystemError) {}

    func begins(
        _ new: Fact.Content, with old: Fact.Content, at number: Int64?, in vault: Vault
    ) throws(FileSystemError) -> Bool {
        new.bytes.starts(with: old.bytes)
    }

    func placeArrived(in vault: Vault) throws(FileSystemError) {}
    func forgetPrepared() {}

    func apply(
        _ content: Fact.Content?, to file: ContentTarget, _ state: inout VaultState
    ) throws(FileSystemError) {
        try file.replace(with: content?.bytes ?? [], &state)
    }

    func move(
        _ content: Fact.Content, of file: ContentTarget, _ state: inout VaultState
    ) throws(FileSystemError) {}

    /// Whether a file has a content.
    static func compare(
        _ number: Int64, _ content: Fact.Content?, in vault: Vault
    ) throws(FileSystemError) -> Bool {
        try Self.content(of: number, in: vault).bytes == content?.bytes ?? []
    }
}

extension ContentTarget {
    /// Gives the file small content, freshly sealed, in a row of the index.
    ///
    /// - Parameter bytes: Up to 1 MiB.
    func replace(with bytes: [UInt8], _ state: inout VaultState) throws(FileSystemError) {
        try clear(&state)
        // It may have been another file's until now.
        item.row.origin = id
        if bytes.isEmpty { return }
        item.row.size = Int64(bytes.count)
        let buffers = vault.buffers.take()
        defer { vault.buffers.giveBack(buffers) }
        let (prefix, keys) = (NoncePrefix.random(), vault.keys)
        try vault.contents.seal(
            unsafe bytes.span.bytes, of: id, at: 0, prefix, keys, buffers, into: buffers.sealed)
        let sealed = buffers.sealed.withBytes(0..<ExtentLayout.sealedByteCount(bytes.count)) { $0.array }
        let count = Int64(bytes.count)
        let place = try state.index.insertContent(sealed, live: count)
        try state.index.insert(
            ExtentRow(
                item: number, offset: 0, length: count, place: .row(place), prefix: prefix,
                epoch: keys.current))
        item.row.allocated += count
    }
}
