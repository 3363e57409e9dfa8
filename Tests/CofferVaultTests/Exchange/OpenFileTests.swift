import CofferFormat
import CofferSystem
import CofferTestSupport
import Testing

import CofferVault

/// Programs that keep files open while commits of other devices arrive.
///
/// A program sees its file as it was when it opened it: with what it wrote itself, and with bytes that others appended.
@Suite struct OpenFileTests {
    /// The programs of a device, as a mount presents them: each writes through a cache.
    private final class OpenFiles: ChangeSink {
        private struct State {
            var open: Set<Int64> = []
            /// What open files contain as their programs see it, by number; not those whose writes failed.
            var seen: [Int64: [UInt8]] = [:]
            /// What programs wrote, and the vault does not have yet.
            var dirty: [Int64: [UInt8]] = [:]
            var grown: Set<Int64> = []
        }

        private let state = Condition(State())
        let vault: Vault

        init(_ vault: Vault) { self.vault = vault }

        func open(_ number: Int64) { state.withLock { _ = $0.open.insert(number) } }
        func isOpen(_ number: Int64) -> Bool { state.withLock { $0.open.contains(number) } }

        func close(_ number: Int64) {
            state.withLock { _ = $0.open.remove(number) }
            vault.release(number)
        }

        /// Writes at the beginning of an open file, into the cache.
        func write(_ bytes: [UInt8], to number: Int64) { state.withLock { $0.dirty[number] = bytes } }

        var numbers: [Int64] { state.withLock { $0.open.sorted() } }

        /// Looks at the contents of all open files.
        func look() throws {
            for number in numbers {
                let bytes = try vault.content(of: number)
                state.withLock { $0.seen[number] = bytes }
            }
            state.withLock { $0.grown = [] }
        }

        /// The files whose content is not what their programs expect.
        func surprises() throws -> [String] {
            try numbers.compactMap { number in
                let (expected, hasGrown) = state.withLock { ($0.seen[number], $0.grown.contains(number)) }
                guard let expected else { return nil }
                let found = try vault.content(of: number)
                if found == expected || hasGrown && found.starts(with: expected) { return nil }
                return "\(number): \(String(decoding: expected, as: UTF8.self)), not "
                    + String(decoding: found, as: UTF8.self)
            }
        }

        func begin() {}
        func end() {}
        func awaitShown() {}
        func knows(_ item: Int64) -> Bool { true }
        func noteAtOnce(_ change: VaultChange, in vault: Vault) {}

        func note(_ changes: [VaultChange], in vault: Vault) {
            for change in changes {
                switch change {
                case .growth(let number, _, _): state.withLock { _ = $0.grown.insert(number) }
                case .nameless(let number):
                    if !isOpen(number) { vault.release(number) }
                case .entry, .attributes: break
                }
            }
        }

        func flush(_ number: Int64) {
            let bytes = state.withLock { $0.dirty.removeValue(forKey: number) }
            guard let bytes else { return }
            let isDone: Void? = try? vault.contents.write(
                bytes.span.bytes, to: number, at: 0, touches: false, dropsPrivileges: false)
            state.withLock { state in
                let seen = state.seen[number]
                state.seen[number] = isDone == nil ? nil : seen.map { bytes + $0.dropFirst(bytes.count) }
            }
        }

        func flushAll() { for number in numbers { flush(number) } }
    }

    @Test("Open files keep their contents", arguments: Seeds.first(60))
    func contentsStay(seed: UInt64) throws {
        var random = SplitMix64(seed: seed)
        let devices = try ExchangeDevice.make(3)
        let sinks = devices.map { OpenFiles($0.vault) }
        for (device, sink) in zip(devices, sinks) { device.vault.setSink(sink) }
        var programs = devices.enumerated().map { number, device in
            RandomProgram(seed: seed &* 10 &+ UInt64(number), in: device.vault, mark: "\(number).")
        }
        for number in devices.indices {
            programs[number].release = { [sink = sinks[number]] in
                if !sink.isOpen($0) { sink.vault.release($0) }
            }
        }
        for step in 0..<200 {
            let number = random.below(devices.count)
            let (device, sink) = (devices[number], sinks[number])
            switch random.below(12) {
            case 0: try device.collect()
            case 1, 2:
                for file in try device.files() where random.oneIn(2) { sink.open(file) }
                try sink.look()
                for file in sink.numbers where random.oneIn(4) {
                    sink.write(Array("w\(step)".utf8), to: file)
                }
                switch random.below(3) {
                case 0: _ = try device.sync()
                case 1: _ = try device.fetch()
                default: _ = try device.fetch(isAlone: true)
                }
                sink.flushAll()
                #expect(try sink.surprises() == [], "seed \(seed), step \(step), \(device.name)")
                for file in sink.numbers where random.oneIn(2) { sink.close(file) }
            case 3: try device.send()
            default: try programs[number].act()
            }
        }
        for sink in sinks { for file in sink.numbers { sink.close(file) } }
        try ExchangeDevice.meet(devices)
        let first = try devices[0].tree()
        for device in devices {
            #expect(try device.tree() == first, "seed \(seed)")
            #expect(try device.flaws() == [], "seed \(seed)")
        }
    }
}

extension ExchangeDevice {
    /// The numbers of all regular files.
    fileprivate func files() throws -> [Int64] {
        var (files, directories): (Set<Int64>, [Int64]) = ([], [Vault.rootNumber])
        while let number = directories.popLast() {
            for entry in try vault.readDirectory(number, after: 2, limit: .max - 1, attributes: false) {
                if entry.type == FileType.directory.rawValue { directories.append(entry.item) }
                if entry.type == FileType.regular.rawValue { files.insert(entry.item) }
            }
        }
        return files.sorted()
    }
}
