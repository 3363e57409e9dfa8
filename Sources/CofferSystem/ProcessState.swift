/// The states of other processes, as the kernel reports them.
package enum ProcessState {
    /// Whether a process has ended, or is ending: it was killed, but may still be closing its files.
    ///
    /// True for states Z and X of proc_pid_stat(5), and if there is no such process.
    package static func isEnding(_ process: Int32) -> Bool {
        guard let text = try? WholeFile.read("/proc/\(process)/stat", limit: 4096) else { return true }
        // A blank and the state follow the name, which may contain any character.
        guard let name = text.lastIndex(of: UInt8(ascii: ")")), text.count > name + 2 else { return true }
        return [UInt8(ascii: "Z"), UInt8(ascii: "X")].contains(text[name + 2])
    }
}
