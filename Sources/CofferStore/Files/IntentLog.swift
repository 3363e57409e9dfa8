package import CofferCrypto
package import CofferFormat
package import CofferSystem

/// The file of small changes that are on disk, but in no commit yet (docs/format.md, "Intent log").
///
/// Records are valid for one commit of the index only. The next commit invalidates them, and the file is
/// overwritten from its beginning. Its space is kept while the vault is open: once the file is long enough, a
/// record does not change the file's metadata.
///
/// For one thread at a time: it belongs to the lock under which commits are made.
package final class IntentLog {
    static let name = "intents"
    /// The largest size of the file, in bytes: about as much as the tail of small extents holds.
    package static let byteCountMax = 2 << 20
    /// The number of zero bytes by which the file grows.
    private static let growthByteCount = 256 << 10

    private let directory: any StorageDirectory
    private let vault: VaultID
    private let key: SymmetricKey<IntentRole>
    private let cipher = LibcryptoBlockCipher()
    private var file: (any StorageFile)?
    private var fileByteCount = 0
    /// The commit that the next records build on; nil unless that commit is known to be on disk.
    private var associated: IntentAssociatedData?
    /// The last commit passed to `begin`, which is the last one known to be on disk.
    package private(set) var base: IndexBase?
    /// The offset of the next record.
    private var end = 0
    private lazy var body = AlignedBuffer(count: IntentLayout.recordByteCountMax)
    private lazy var sealed = AlignedBuffer(count: IntentLayout.recordByteCountMax)
    /// The number of records written since the log was opened.
    package private(set) var recordCount = 0

    /// Makes a log in a vault's directory; the first record creates the file.
    package init(
        in directory: any StorageDirectory, vault: VaultID, key: borrowing SymmetricKey<StoreRole>
    ) {
        self.directory = directory
        self.vault = vault
        self.key = unsafe key.derive(IntentRole.self, context: vault.bytes.span.bytes)
    }

    // MARK: Writing

    /// Whether a record can be written.
    package var isReady: Bool { associated != nil }

    /// Starts again from the beginning, on a commit that is on disk; has no effect the second time for the
    /// same commit.
    package func begin(on base: IndexBase) {
        // A second time would overwrite records that are still needed.
        guard base != self.base else { return }
        self.base = base
        associated = IntentAssociatedData(vault: vault, commits: base.commits, digests: base.digests)
        end = 0
    }

    /// Allows no record until `begin`: a commit is in progress, or something failed.
    package func suspend() {
        associated = nil
    }

    /// Makes a writer for the body of the next record, to be filled and passed to `append`.
    package func makeWriter() -> IntentWriter { IntentWriter(body) }

    /// Writes a record to disk.
    ///
    /// - Returns: False if there is no space for it, and the caller has to commit instead.
    /// - Throws: `.stopped` if the disk failed.
    package func append(_ writer: consuming IntentWriter) throws(FileSystemError) -> Bool {
        guard var associated else { return false }
        // Set again on success: a record that failed is not written a second time.
        self.associated = nil
        let bodyCount = writer.finish()
        let count = bodyCount + IntentLayout.overhead
        guard end + count <= Self.byteCountMax, let file = openForWriting() else { return false }
        associated.select(offset: end, byteCount: count)
        seal(bodyCount, associated)
        do throws(SystemError) {
            try grow(file, to: end + count)
            let start = end
            try sealed.withBytes(0..<count) { bytes throws(SystemError) in try file.write(bytes, at: start) }
            try file.dataSync()
        } catch {
            if error.isNoSpace { return false }
            throw .stopped(reason: "the disk failed to store the intent log (\(error))")
        }
        end += count
        recordCount += 1
        self.associated = associated
        return true
    }

    /// The file, or nil on failure; the commit that follows instead reports an error that persists.
    private func openForWriting() -> (any StorageFile)? {
        if let file { return file }
        guard let file = try? directory.open(Self.name, create: true), let size = try? file.size(),
            (try? directory.sync()) != nil
        else { return nil }
        fileByteCount = size
        self.file = file
        return file
    }

    /// Extends the file in large steps.
    private func grow(_ file: any StorageFile, to count: Int) throws(SystemError) {
        guard count > fileByteCount else { return }
        let step = Self.growthByteCount
        let target = (count + step - 1) / step * step
        let zeros = AlignedBuffer(count: min(step, target - fileByteCount))
        while fileByteCount < target {
            let start = fileByteCount
            let piece = min(zeros.count, target - start)
            try zeros.withBytes(0..<piece) { bytes throws(SystemError) in try file.write(bytes, at: start) }
            fileByteCount += piece
        }
    }

    private func seal(_ bodyCount: Int, _ associated: IntentAssociatedData) {
        let nonce = Nonce.random()
        let count = bodyCount + IntentLayout.overhead
        cipher.begin(key, nonce.prefix)
        body.withBytes(0..<bodyCount) { body in
            sealed.withMutableBytes(0..<count) { record in
                record.storeLittleEndian(UInt32(count), at: 0)
                nonce.store(into: &record, at: IntentLayout.nonceOffset)
                var target = record._mutatingExtracting(IntentLayout.bodyOffset..<count)
                unsafe cipher.seal(
                    body, number: nonce.number, associated: associated.bytes.span.bytes, into: &target)
            }
        }
    }

    /// Removes the file, once the index contains all its records.
    package func remove() {
        suspend()
        file = nil
        // If this fails, its records are invalid anyway.
        if (try? directory.contains(Self.name)) == true { try? directory.remove(Self.name) }
    }

    // MARK: Reading

    /// The records that build on a commit, as a crash left them.
    package func records(on base: IndexBase) throws(FileSystemError) -> Records {
        do throws(SystemError) {
            let isThere = try directory.contains(Self.name)
            let file = isThere ? try directory.open(Self.name, create: false) : nil
            return Records(
                file: file, byteCount: min(try file?.size() ?? 0, Self.byteCountMax), key: key.duplicate(),
                associated: IntentAssociatedData(vault: vault, commits: base.commits, digests: base.digests))
        } catch {
            throw FileSystemError(error)
        }
    }

    /// A sequence of records.
    package struct Records: ~Copyable {
        private let file: (any StorageFile)?
        private let byteCount: Int
        private let key: SymmetricKey<IntentRole>
        private let cipher = LibcryptoBlockCipher()
        private var associated: IntentAssociatedData
        private var offset = 0

        fileprivate init(
            file: (any StorageFile)?, byteCount: Int, key: consuming SymmetricKey<IntentRole>,
            associated: IntentAssociatedData
        ) {
            self.file = file
            self.byteCount = byteCount
            self.key = key
            self.associated = associated
        }

        /// The body of the next record; nil at the end, which is the first record that fails to open.
        package mutating func next() throws(FileSystemError) -> [UInt8]? {
            guard let (body, count) = try open(at: offset) else { return nil }
            offset += count
            return body
        }

        /// The number of valid records after the end; if there are any, something before them is damaged.
        package mutating func countRest() throws(FileSystemError) -> Int {
            var count = 0
            while offset < byteCount {
                if let (_, byteCount) = try open(at: offset) {
                    count += 1
                    offset += byteCount
                } else {
                    offset += IntentLayout.unitByteCount
                }
            }
            return count
        }

        private mutating func open(at offset: Int) throws(FileSystemError) -> (body: [UInt8], count: Int)? {
            let head = try read(IntentLayout.nonceOffset, at: offset)
            guard let count = unsafe IntentLayout.recordByteCount(head.span.bytes, room: byteCount - offset)
            else { return nil }
            let record = try read(count, at: offset)
            guard record.count == count else { return nil }
            associated.select(offset: offset, byteCount: count)
            let bytes = unsafe record.span.bytes
            let nonce = Nonce(bytes, at: IntentLayout.nonceOffset)
            cipher.begin(key, nonce.prefix)
            var body = [UInt8](repeating: 0, count: count - IntentLayout.overhead)
            do throws(CryptoError) {
                try body.withMutableRawSpan { (target: inout MutableRawSpan) throws(CryptoError) in
                    try unsafe cipher.open(
                        bytes.extracting(IntentLayout.bodyOffset..<count), number: nonce.number,
                        associated: associated.bytes.span.bytes, into: &target)
                }
                return (body, count)
            } catch {
                return nil
            }
        }

        private func read(_ count: Int, at offset: Int) throws(FileSystemError) -> [UInt8] {
            guard let file, offset < byteCount else { return [] }
            var bytes = [UInt8](repeating: 0, count: count)
            do throws(SystemError) {
                let got = try bytes.withMutableRawSpan { (target: inout MutableRawSpan) throws(SystemError) in
                    try file.read(into: &target, at: offset)
                }
                return Array(bytes[..<got])
            } catch {
                throw FileSystemError(error)
            }
        }
    }
}
