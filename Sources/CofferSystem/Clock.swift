internal import CCofferSystem

/// The clocks of this machine, in nanoseconds.
package enum Clock {
    /// Wall-clock time since 1970; may jump.
    package static var realTime: Int64 { coffer_real_time_ns() }
    /// The time with which the kernel would stamp a file now: in order with all stamps of the kernel.
    ///
    /// Some programs compare the times of files that change a moment apart, and some of these stamps come
    /// from the kernel itself: those of files that are written. Costs a system call or two; use `realTime`
    /// for everything else.
    package static var fileTime: Int64 { coffer_file_time_ns() }
    /// Runs through suspend, cannot be set, and starts again at boot.
    package static var bootTime: Int64 { coffer_boot_time_ns() }
    /// For intervals; stops during suspend.
    package static var monotonic: Int64 { coffer_monotonic_time_ns() }

    /// Identifies this boot of this machine, so that two boot times can be compared.
    ///
    /// From /proc/sys/kernel/random/boot_id.
    package static func bootIdentifier() throws(SystemError) -> String {
        let bytes = try WholeFile.read("/proc/sys/kernel/random/boot_id", limit: 128)
        return String(decoding: bytes.prefix { $0 != UInt8(ascii: "\n") }, as: UTF8.self)
    }
}
