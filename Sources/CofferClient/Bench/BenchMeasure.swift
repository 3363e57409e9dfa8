/// What `coffer bench` measures; the names are those of `--json`.
package enum BenchMeasure: String, Codable, CaseIterable, Sendable {
    case sealLibcrypto, openLibcrypto, sealSodium, openSodium
    case argonInteractive, argonModerate, argonSensitive
    case diskWrite, diskRead, diskAppend, diskAppendSlowest, diskRandomRead
    case mountWrite, mountColdRead, mountWarmRead, mountAppend, mountAppendSlowest
    case mountCreate, mountStat, mountRead, mountUnlink

    /// A part of the machine, or of the way through it.
    package enum Part: String, Codable, CaseIterable, Sendable {
        case cipher, disk, mount
    }

    /// What a value counts.
    package enum Unit: String, Codable, Sendable {
        /// 1,000,000 bytes in a second: more is better.
        case megabytesPerSecond = "MB/s"
        /// Of one operation: less is better.
        case microseconds = "µs"
        /// The same for what takes longer.
        case milliseconds = "ms"
    }

    /// The part that it belongs to.
    package var part: Part {
        switch self {
        case .sealLibcrypto, .openLibcrypto, .sealSodium, .openSodium: .cipher
        case .argonInteractive, .argonModerate, .argonSensitive: .cipher
        case .diskWrite, .diskRead, .diskAppend, .diskAppendSlowest, .diskRandomRead: .disk
        default: .mount
        }
    }

    /// The unit of its values.
    package var unit: Unit {
        switch self {
        case .sealLibcrypto, .openLibcrypto, .sealSodium, .openSodium: .megabytesPerSecond
        case .diskWrite, .diskRead, .mountWrite, .mountColdRead, .mountWarmRead: .megabytesPerSecond
        case .argonInteractive, .argonModerate, .argonSensitive: .milliseconds
        default: .microseconds
        }
    }

    /// For people.
    package var title: String {
        switch self {
        case .sealLibcrypto: "seal blocks of 4 KiB, libcrypto"
        case .openLibcrypto: "open blocks of 4 KiB, libcrypto"
        case .sealSodium: "seal blocks of 4 KiB, libsodium"
        case .openSodium: "open blocks of 4 KiB, libsodium"
        case .argonInteractive: "try a passphrase, interactive"
        case .argonModerate: "try a passphrase, moderate"
        case .argonSensitive: "try a passphrase, sensitive"
        case .diskWrite: "large write"
        case .diskRead: "large read"
        case .diskAppend: "append 4 KiB and flush"
        case .diskAppendSlowest: "append and flush, 99th percentile"
        case .diskRandomRead: "random read of 4 KiB"
        case .mountWrite: "large write and flush"
        case .mountColdRead: "large read, cold"
        case .mountWarmRead: "large read, warm"
        case .mountAppend: "append 4 KiB and flush"
        case .mountAppendSlowest: "append and flush, 99th percentile"
        case .mountCreate: "create a file of 4 KiB"
        case .mountStat: "stat a file"
        case .mountRead: "read a file of 4 KiB"
        case .mountUnlink: "unlink a file"
        }
    }
}
