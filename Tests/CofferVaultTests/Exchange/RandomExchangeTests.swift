import CofferFormat
import CofferSystem
import CofferTestSupport
import Testing

import CofferVault

/// Makes random calls, as programs do.
struct RandomProgram {
    var random: SplitMix64
    let vault: Vault
    /// The prefix of all texts that this program writes.
    let mark: String
    /// Releases an item that lost its last name.
    var release: (Int64) -> Void
    private var counter = 0

    init(seed: UInt64, in vault: Vault, mark: String) {
        random = SplitMix64(seed: seed)
        self.vault = vault
        self.mark = mark
        release = { vault.release($0) }
    }

    private static let names = ["a", "b", "c.txt", "d"].map { Array($0.utf8) }

    /// Makes a call, which may fail as it does for programs.
    mutating func act() throws {
        do throws(FileSystemError) {
            try attempt()
        } catch {
            switch error {
            case .damaged, .format, .system, .index, .stopped, .readOnly, .busy: throw error
            default: return
            }
        }
    }

    private mutating func text() -> [UInt8] {
        counter += 1
        return Array("\(mark)\(counter)".utf8)
    }

    private mutating func directory() throws(FileSystemError) -> Int64 {
        var number = Vault.rootNumber
        while random.oneIn(2) {
            let inside = try vault.readDirectory(number, after: 2, limit: 100, attributes: false)
                .filter { $0.type == FileType.directory.rawValue }
            guard let next = random.pick(inside) else { break }
            number = next.item
        }
        return number
    }

    private mutating func attempt() throws(FileSystemError) {
        let parent = try directory()
        let other = try directory()
        let name = Self.names[random.below(Self.names.count)]
        let newName = Self.names[random.below(Self.names.count)]
        switch random.below(22) {
        case 0..<4: try make(Vault.NewItem(mode: 0o100_644), name, parent)
        case 4..<7: try make(Vault.NewItem(mode: 0o040_755), name, parent)
        case 7: try make(Vault.NewItem(mode: 0o120_777, target: Array("t".utf8)), name, parent)
        case 8: try make(Vault.NewItem(mode: 0o010_600), name, parent)
        case 9: _ = try vault.link(try vault.lookup(name, in: parent).number, as: newName, in: other)
        case 10..<14:
            if let gone = try vault.rename(name, in: parent, to: newName, in: other, .replace) {
                release(gone)
            }
        case 14: _ = try vault.rename(name, in: parent, to: newName, in: other, .exchange)
        case 15..<17:
            let (number, isLast) = try vault.unlink(name, in: parent)
            if isLast { release(number) }
        case 17: release(try vault.removeDirectory(name, in: parent))
        case 18: try write(name, parent)
        case 19:
            var changes = AttributeChanges()
            changes.mode = 0o600 + UInt32(random.below(8))
            _ = try vault.setAttributes(of: try vault.lookup(name, in: parent).number, changes)
        case 20:
            try vault.setExtendedAttribute(
                Array("user.\(random.below(2))".utf8), of: try vault.lookup(name, in: parent).number,
                to: text(),
                .any)
        default:
            var changes = AttributeChanges()
            changes.size = 0
            _ = try vault.setAttributes(of: try vault.lookup(name, in: parent).number, changes)
        }
    }

    private mutating func make(
        _ new: Vault.NewItem, _ name: [UInt8], _ parent: Int64
    ) throws(FileSystemError) {
        let made = try vault.create(new, named: name, in: parent, by: TestVault.owner)
        if made.type == .regular, !random.oneIn(4) { try write(name, parent) }
    }

    private mutating func write(_ name: [UInt8], _ parent: Int64) throws(FileSystemError) {
        let text = text()
        try vault.contents.write(
            text.span.bytes, to: try vault.lookup(name, in: parent).number, at: 0, touches: true,
            dropsPrivileges: false)
    }
}

@Suite struct RandomExchangeTests {
    @Test("Devices that make random changes agree in the end", arguments: Seeds.first(24))
    func agree(seed: UInt64) throws {
        var random = SplitMix64(seed: seed)
        let devices = try ExchangeDevice.make(2 + random.below(2))
        var programs = devices.enumerated().map { number, device in
            RandomProgram(seed: seed &* 10 &+ UInt64(number), in: device.vault, mark: "\(number).")
        }
        for step in 0..<120 {
            let number = random.below(devices.count)
            switch random.below(12) {
            case 0: try devices[number].collect()
            case 1: _ = try devices[number].sync()
            case 2: _ = try devices[number].fetch()
            case 3:
                _ = try devices[number].vault.outgoing.collectChanges(
                    as: devices[number].participant, recorder: PlainRecorder())
            case 4:
                try devices[number].collect()
                #expect(try devices[number].flaws() == [], "seed \(seed), step \(step)")
            default: try programs[number].act()
            }
        }
        try ExchangeDevice.meet(devices)
        let first = try devices[0].tree()
        for device in devices {
            #expect(try device.tree() == first, "seed \(seed)")
            #expect(try device.stateHash() == devices[0].stateHash(), "seed \(seed)")
            #expect(try device.flaws() == [], "seed \(seed)")
        }
    }
}
