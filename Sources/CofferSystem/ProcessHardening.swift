internal import CCofferSystem

/// Keeps other processes of this user, and core dumps, away from the keys in memory.
package enum ProcessHardening {
    /// Makes this process undumpable (so ptrace(2) by others is refused too) and forbids core files.
    package static func apply() throws(SystemError) {
        try checkingNegative("prctl") { coffer_forbid_core_dumps() }
    }
}
