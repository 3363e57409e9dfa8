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
