import CofferFormat
import CofferSystem
import CofferTestSupport
import Foundation
import Testing

@testable import CofferFUSE
@testable import CofferVault

/// A vault that this process mounts itself, so that a test can change it behind the kernel's back.
final class LiveMount: Sendable {
    static let isPossible = access("/dev/fuse", R_OK | W_OK) == 0

    let test: TestVault
    let vault: Vault
    let session: Session
    private let point: String
    private let thread: Condition<CofferSystem.Thread?>

    struct NeverServed: Error {}

    private init(_ open: (TestVault) throws -> Vault, _ pastIdleTime: Int64?) throws {
        test = try TestVault.create()
        vault = try open(test)
        point = "\(NSTemporaryDirectory())/coffer-live-\(UUID().uuidString)"
        try FileManager.default.createDirectory(atPath: point, withIntermediateDirectories: false)
        let served = Condition(false)
        session = try Session(
            root: OneVault(vault: vault), keepsAccessTimes: true, pastIdleTime: pastIdleTime
        ) {
            served.update { $0 = true }
        }
        vault.setSink(session.changes(OneVault.slot))
        try session.mount(at: point, options: ["default_permissions", "fsname=coffer-live"])
        thread = Condition(try CofferSystem.Thread.start("live-mount") { [session] in session.run() })
        _ = served.wait { $0 ? true : nil }
    }

    /// Mounts, runs `body`, unmounts, and checks that the vault is sound.
    ///
    /// - Parameters:
    ///   - open: Opens the vault.
    ///   - pastIdleTime: As for `Session`.
    static func run(
        opening open: (TestVault) throws -> Vault = { try $0.open() }, pastIdleTime: Int64? = nil,
        _ body: (LiveMount) throws -> Void
    ) throws {
        let mount = try LiveMount(open, pastIdleTime)
        defer { rmdir(mount.point) }
        do {
            try body(mount)
        } catch {
            mount.end()
            throw error
        }
        mount.end()
        mount.vault.setSink(nil)
        try mount.vault.close()
        #expect(try mount.test.open().check { _, _ in }.damage.map(\.text) == [])
    }

    /// Unmounts, at once if the mount is idle.
    ///
    /// If programs use it, their calls wait until the session is gone.
    func end() {
        let thread = thread.withLock { thread in
            defer { thread = nil }
            return thread
        }
        guard let thread else { return }
        if umount2(point, 0) != 0 {
            umount2(point, Int32(MNT_DETACH))
            session.end()
        }
        thread.join()
    }

    /// The number of requests passed to the thread that waits for held names.
    var handedOverCount: Int { session.namesThread.count }

    /// The number of files that the notifier goes on trying to make the kernel forget.
    var outdatedCount: Int { session.notifier.outdatedCount }

    func path(_ name: String = "") -> String { "\(point)/vault/\(name)" }

    /// Whether the kernel does not know an item any more, once its FORGET has arrived behind other requests.
    func isForgotten(_ number: Int64) -> Bool {
        let node = Node(slot: OneVault.slot, item: number)
        for round in 0..<1000 where session.lookups.isKnown(node) {
            _ = try? Program.status(path("no such name \(round)"))
        }
        return !session.lookups.isKnown(node)
    }

    /// Whether an item is gone, after the kernel's FORGET has arrived behind other requests.
    func isGone(_ number: Int64) -> Bool {
        for round in 0..<1000 {
            _ = try? Program.status(path("no such name \(round)"))
            do { _ = try vault.attributes(of: number) } catch { return true }
        }
        return false
    }

    /// A number as programs see it.
    func inode(_ number: Int64) -> UInt64 { Node(slot: OneVault.slot, item: number).number }
}

/// The root of a mount with a single vault.
private struct OneVault: VaultDirectory {
    static let slot: UInt16 = 1
    let vault: Vault

    private var mounted: MountedVault { MountedVault(slot: Self.slot, name: "vault", vault: vault) }
    var vaults: [MountedVault] { [mounted] }
    func vault(slot: UInt16) -> MountedVault? { slot == Self.slot ? mounted : nil }
    func vault(named name: [UInt8]) -> MountedVault? { name == Array("vault".utf8) ? mounted : nil }
    func createVault(named name: [UInt8], by caller: Caller) throws(FileSystemError) -> MountedVault {
        throw .notPermitted
    }
    func renameVault(_ name: [UInt8], to newName: [UInt8]) throws(FileSystemError) { throw .notPermitted }
    func removeEmptyVault(named name: [UInt8]) throws(FileSystemError) { throw .notPermitted }
    var owner: (user: UInt32, group: UInt32) { (getuid(), getgid()) }
    let changed: Int64 = 0
}

/// Waits for a condition, with a generous deadline.
func eventually(_ isTrue: () -> Bool) -> Bool {
    let deadline = Clock.monotonic + 90_000_000_000
    while !isTrue() {
        if Clock.monotonic > deadline { return false }
        usleep(1_000)
    }
    return true
}

/// Changes from elsewhere: made in the vault itself, announced, and awaited.
struct Elsewhere {
    let vault: Vault
    private static let caller = Caller(user: getuid(), group: getgid(), umask: 0)

    init(_ mount: LiveMount) {
        self.init(mount.vault)
    }

    init(_ vault: Vault) {
        self.vault = vault
    }

    func name(_ text: String, in parent: Int64 = Vault.rootNumber) -> Vault.Name {
        Vault.Name(Array(text.utf8), in: parent)
    }

    /// Says that something changed, and waits until programs see it.
    func show(_ changes: [VaultChange]) throws {
        try change { $0 = changes }
    }

    /// Changes the vault, and waits until programs see it.
    private func change<Result>(
        _ body: (inout [VaultChange]) throws(FileSystemError) -> Result
    ) throws -> Result {
        defer { vault.awaitShown() }
        return try vault.changeElsewhere(body)
    }

    @discardableResult
    func makes(_ text: String, _ content: String = "", in parent: Int64 = Vault.rootNumber) throws -> Int64 {
        try make(text, 0o100644, content, in: parent)
    }

    @discardableResult
    func makesDirectory(_ text: String) throws -> Int64 {
        try make(text, 0o040755, "", in: Vault.rootNumber)
    }

    private func make(_ text: String, _ mode: UInt32, _ content: String, in parent: Int64) throws -> Int64 {
        try change { changes throws(FileSystemError) in
            let item = try vault.create(
                Vault.NewItem(mode: mode), named: Array(text.utf8), in: parent, by: Self.caller)
            changes = [.entry(name(text, in: parent))]
            try append(content, to: item.number, at: 0)
            return item.number
        }
    }

    func append(_ text: String, to item: Int64, at offset: Int64) throws(FileSystemError) {
        let bytes = Array(text.utf8)
        guard !bytes.isEmpty else { return }
        try vault.contents.write(
            bytes.span.bytes, to: item, at: offset, touches: true, dropsPrivileges: false)
    }

    func grows(_ text: String, by content: String) throws {
        let attributes = try vault.attributes(of: number(text))
        try change { changes throws(FileSystemError) in
            try append(content, to: attributes.number, at: attributes.size)
            noteGrowth(of: text, attributes)
            changes = [.growth(item: attributes.number, from: attributes.size, name(text))]
        }
    }

    /// Extends a file, and leaves the kernel in the dark.
    ///
    /// - Returns: What the kernel knows of the file.
    @discardableResult
    func growsUnseen(_ text: String, by content: String) throws -> Attributes {
        let attributes = try vault.attributes(of: number(text))
        try append(content, to: attributes.number, at: attributes.size)
        noteGrowth(of: text, attributes)
        return attributes
    }

    /// Tells the kernel what it does not know of a file.
    func shows(_ old: Attributes, of text: String) throws {
        try change { changes throws(FileSystemError) in
            changes = [.growth(item: old.number, from: old.size, name(text))]
        }
    }

    /// Makes the kernel forget a name; it forgets the item, too, if no program uses it.
    func forgets(_ text: String) throws {
        try change { changes throws(FileSystemError) in changes = [.entry(name(text))] }
    }

    /// Records the size that the kernel knows, as an incoming commit does.
    private func noteGrowth(of text: String, _ attributes: Attributes) {
        vault.state.withLock { state in
            state.tree.growing[attributes.number] = GrowingFile(size: attributes.size, names: [name(text)])
        }
    }

    /// Extends a file by content that cannot be fetched.
    func growsUnreadably(_ text: String, to size: UInt64) throws {
        let attributes = try vault.attributes(of: number(text))
        try change { changes throws(FileSystemError) in
            try vault.changing { state throws(FileSystemError) in
                let item = try state.tree.item(attributes.number)
                try state.setContent(of: item, to: .unreadable(size, of: .random()), like: nil)
            }
            noteGrowth(of: text, attributes)
            changes = [.growth(item: attributes.number, from: attributes.size, name(text))]
        }
    }

    func number(_ text: String, in parent: Int64 = Vault.rootNumber) throws -> Int64 {
        try vault.lookup(Array(text.utf8), in: parent).number
    }

    /// - Returns: The number of the new version.
    @discardableResult
    func replaces(
        _ texts: String..., in parent: Int64 = Vault.rootNumber, with content: String
    ) throws -> Int64 {
        let bytes = Array(content.utf8)
        let version = try vault.replaceContent(
            of: try number(texts[0], in: parent), names: texts.map { name($0, in: parent) },
            with: bytes.span.bytes, modified: 1_000_000_000_000)
        vault.awaitShown()
        return version
    }

    func removes(_ text: String, in parent: Int64 = Vault.rootNumber) throws {
        try change { changes throws(FileSystemError) in
            let (item, isLast) = try vault.unlink(Array(text.utf8), in: parent)
            changes = [.entry(name(text, in: parent))] + (isLast ? [.nameless(item: item)] : [])
        }
    }

    func removesDirectory(_ text: String, in parent: Int64 = Vault.rootNumber) throws {
        try change { changes throws(FileSystemError) in
            let item = try vault.removeDirectory(Array(text.utf8), in: parent)
            changes = [.entry(name(text, in: parent)), .nameless(item: item)]
        }
    }

    func moves(_ text: String, to newText: String) throws {
        try change { changes throws(FileSystemError) in
            let gone = try vault.rename(
                Array(text.utf8), in: Vault.rootNumber, to: Array(newText.utf8), in: Vault.rootNumber,
                .replace)
            changes =
                [.entry(name(text)), .entry(name(newText))] + (gone.map { [.nameless(item: $0)] } ?? [])
        }
    }

    /// The content of a file of the vault, past the kernel.
    func content(_ text: String) throws -> String {
        let attributes = try vault.lookup(Array(text.utf8), in: Vault.rootNumber)
        let buffer = AlignedBuffer(count: max(1, Int(attributes.size)))
        let count = try vault.contents.read(attributes.number, at: 0, count: buffer.count, into: buffer)
        return buffer.withBytes(0..<count) { bytes in
            String(decoding: (0..<count).map { bytes.littleEndian(at: $0, as: UInt8.self) }, as: UTF8.self)
        }
    }

    /// Names in the vault's root, past the kernel.
    func names() throws -> [String] {
        try vault.readDirectory(Vault.rootNumber, after: 2, limit: 10_000, attributes: false)
            .map { String(decoding: $0.name, as: UTF8.self) }
    }
}
