/// What the kernel says of other processes.
package enum ProcessState {
    /// Whether a process is gone, or on its way: killed, but perhaps not through with closing its files.
    ///
    /// As proc_pid_stat(5) says: state Z or X.
    package static func isEnding(_ process: Int32) -> Bool {
        guard let text = try? WholeFile.read("/proc/\(process)/stat", limit: 4096) else { return true }
        // Behind the name, which may hold anything: a blank, and the state.
        guard let name = text.lastIndex(of: UInt8(ascii: ")")), text.count > name + 2 else { return true }
        return [UInt8(ascii: "Z"), UInt8(ascii: "X")].contains(text[name + 2])
    }
}
