internal import CCofferSystem

/// The clocks of this machine, in nanoseconds.
package enum Clock {
    /// Wall clock since 1970; may jump.
    package static var realTime: Int64 { coffer_real_time_ns() }
    /// What files are stamped with: in order with all stamps of the kernel.
    ///
    /// Some programs compare times of files that are a moment apart, and the kernel stamps a part of them: those of
    /// files that are written. A system call or two; `realTime` is for all else.
    package static var fileTime: Int64 { coffer_file_time_ns() }
    /// Runs through suspend, cannot be set; starts anew at boot.
    package static var bootTime: Int64 { coffer_boot_time_ns() }
    /// For intervals; stands still in suspend.
    package static var monotonic: Int64 { coffer_monotonic_time_ns() }

    /// Names this boot of this machine, so that two boot times can be compared.
    ///
    /// From /proc/sys/kernel/random/boot_id.
    package static func bootIdentifier() throws(SystemError) -> String {
        let bytes = try WholeFile.read("/proc/sys/kernel/random/boot_id", limit: 128)
        return String(decoding: bytes.prefix { $0 != UInt8(ascii: "\n") }, as: UTF8.self)
    }
}
