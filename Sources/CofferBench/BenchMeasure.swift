/// A measure of `coffer bench`; `--json` uses the names of the cases.
package enum BenchMeasure: String, Codable, CaseIterable, Sendable {
    case sealLibcrypto, openLibcrypto, sealSodium, openSodium
    case argonInteractive, argonModerate, argonSensitive
    case diskWrite, diskRead, diskAppend, diskAppendSlowest, diskRandomRead
    case mountWrite, mountColdRead, mountWarmRead, mountAppend, mountAppendSlowest
    case mountCreate, mountStat, mountRead, mountUnlink

    /// The part of the system that a measure is about.
    package enum Part: String, Codable, CaseIterable, Sendable {
        case cipher, disk, mount
    }

    /// The unit of a value.
    package enum Unit: String, Codable, Sendable {
        /// 1,000,000 bytes per second; more is better.
        case megabytesPerSecond = "MB/s"
        /// The duration of one operation; less is better.
        case microseconds = "µs"
        /// The duration of one long operation; less is better.
        case milliseconds = "ms"
    }

    /// The part that it measures.
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

    /// The name in reports.
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
