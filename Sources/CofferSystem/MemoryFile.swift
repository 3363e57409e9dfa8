internal import CCofferSystem

/// A file without a name, in memory only.
package enum MemoryFile {
    /// Makes an empty one.
    ///
    /// The corresponding C function is memfd_create(2).
    ///
    /// - Parameter name: Shown in proc(5).
    package static func make(_ name: String) throws(SystemError) -> Descriptor {
        Descriptor(owning: try checkingNegative("memfd_create") { unsafe coffer_make_memory_file(name) })
    }
}
