internal import CCofferSystem
internal import Glibc

/// Starts other programs.
package enum ChildProcess {
    /// Runs a program found in PATH, and waits for it to end.
    ///
    /// - Returns: Its exit status; 128 if a signal ended it.
    package static func run(_ name: String, _ arguments: [String]) throws(SystemError) -> Int32 {
        try unsafe withArguments([name] + arguments) { pointers throws(SystemError) in
            try checkingNegative("run", on: name) { unsafe coffer_run(name, pointers) }
        }
    }

    /// Starts this program again, in the background.
    ///
    /// - Parameters:
    ///   - descriptors: Open in the new process as 3, 4, …
    ///   - inNewSession: Whether the new process leaves this session and process group at once.
    package static func startAgain(
        _ arguments: [String], descriptors: [Int32], inNewSession: Bool
    ) throws(SystemError) {
        try unsafe withArguments(["coffer"] + arguments) { pointers throws(SystemError) in
            _ = try checkingNegative("spawn") {
                unsafe coffer_spawn_detached(
                    "/proc/self/exe", pointers, descriptors, Int32(descriptors.count),
                    inNewSession ? 1 : 0)
            }
        }
    }

    /// Whether this program can be started again, with the libraries that are on the disk now.
    package static var canStartAgain: Bool {
        let status = try? unsafe withArguments(["coffer", "--version"]) { pointers throws(SystemError) in
            try checkingNegative("run") { unsafe coffer_run("/proc/self/exe", pointers) }
        }
        return status == 0
    }

    /// Replaces this process by a new one of this program, with the same number, and nothing of its memory.
    ///
    /// - Parameter descriptors: Open in the new process under the same numbers; all others above 2 are closed.
    /// - Returns: Why that failed; a success does not return.
    package static func replaceThisProcess(_ arguments: [String], keeping descriptors: [Int32]) -> SystemError
    {
        do throws(SystemError) {
            return try unsafe withArguments(["coffer"] + arguments) { pointers throws(SystemError) in
                let code = unsafe coffer_replace(
                    "/proc/self/exe", pointers, descriptors, Int32(descriptors.count))
                return SystemError("execve", code: -code)
            }
        } catch {
            return error
        }
    }

    static func withArguments<Result>(
        _ arguments: [String],
        _ body: (UnsafePointer<UnsafeMutablePointer<CChar>?>) throws(SystemError) -> Result
    ) throws(SystemError) -> Result {
        var pointers: [UnsafeMutablePointer<CChar>?] = unsafe arguments.map { unsafe strdup($0) }
        unsafe pointers.append(nil)
        // SAFETY: the copies live until `body` returns, and are freed once.
        defer { unsafe pointers.forEach { pointer in unsafe free(pointer) } }
        return try unsafe body(pointers)
    }

    /// Makes a pipe: bytes written to the second end are read from the first.
    ///
    /// Both ends are closed on exec.
    package static func makePipe() throws(SystemError) -> (reading: Int32, writing: Int32) {
        var ends: [Int32] = [0, 0]
        try checkingNegative("pipe") { unsafe coffer_make_pipe(&ends) }
        return (ends[0], ends[1])
    }
}
