import CofferFormat
import CofferSystem
import CofferTestSupport

import CofferVault

/// Makes random file operations, as programs do.
struct RandomProgram {
    private var random: SplitMix64
    private let device: ReplicaDevice
    private var counter = 0

    init(seed: UInt64, on device: ReplicaDevice) {
        random = SplitMix64(seed: seed)
        self.device = device
    }

    /// This program after one operation, on a thread of its own.
    func acted() async throws -> RandomProgram {
        try await onThread {
            var program = self
            try program.act()
            return program
        }
    }

    /// Has devices act, sync, look at their packs, and drop what the remote has, in a random order.
    ///
    /// - Parameters:
    ///   - look: Makes the next round of a device look at the packs.
    ///   - check: Called after each 40 steps.
    static func play(
        _ steps: Int, on devices: [ReplicaDevice], seed: UInt64, look: (ReplicaDevice) async -> Void,
        check: (Int) async throws -> Void
    ) async throws {
        var random = SplitMix64(seed: seed)
        var programs = devices.map { RandomProgram(seed: random.next(), on: $0) }
        for step in 0..<steps {
            let number = random.below(devices.count)
            let device = devices[number]
            switch random.below(10) {
            case 0: await look(device)
            case 1...4:
                if random.oneIn(2) { await look(devices[0]) }
                _ = try await device.round()
            case 5: try await onThread { _ = try device.vault.cache.evict(to: 0) }
            default: programs[number] = try await programs[number].acted()
            }
            if step % 40 == 39 { try await check(step) }
        }
    }

    /// Makes one operation, which may fail as it does for programs.
    mutating func act() throws {
        do {
            try attempt()
        } catch let error as FileSystemError {
            switch error {
            case .damaged, .format, .system, .index, .stopped, .readOnly, .busy: throw error
            default: return
            }
        }
    }

    private mutating func path() throws -> String {
        var path = ""
        while random.oneIn(2), let next = random.pick(try device.names(in: path).filter { $0.hasSuffix("/") })
        {
            path += next
        }
        return path + ["a", "b", "c.txt", "d"][random.below(4)]
    }

    private mutating func attempt() throws {
        let (path, other) = (try path(), try path())
        counter += 1
        switch random.below(16) {
        case 0..<3: try device.makeDirectory(path)
        case 3..<8:
            let size = random.oneIn(12) ? (9 << 20) + random.below(3 << 20) : random.below(9000)
            try device.write(random.bytes(size), to: path)
        case 8..<11: try device.move(path, to: other)
        case 11: try device.remove(path)
        case 12: try device.link(path, as: other)
        case 13: try device.setAttribute("user.x", to: "\(device.label) \(counter)", of: path)
        case 14: try device.setMode(UInt16(0o600 + random.below(8)), of: path)
        default:
            try device.put(random.bytes(1 + random.below(5000)), to: path, at: Int64(random.below(20_000)))
        }
    }
}
