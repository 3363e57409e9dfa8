internal import CCofferSystem

/// Protects the keys in memory from other processes of this user, and from core dumps.
package enum ProcessHardening {
    /// Makes this process undumpable (so that ptrace(2) by others is refused, too), and forbids core files.
    package static func apply() throws(SystemError) {
        try checkingNegative("prctl") { coffer_forbid_core_dumps() }
    }
}
