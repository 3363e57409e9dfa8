internal import CCofferSystem
internal import Glibc

/// Other programs, started by this one.
package enum ChildProcess {
    /// Runs a program that is found in PATH, and waits for it.
    ///
    /// - Returns: Its exit status.
    package static func run(_ name: String, _ arguments: [String]) throws(SystemError) -> Int32 {
        try unsafe withArguments([name] + arguments) { pointers throws(SystemError) in
            try checkingNegative("run", on: name) { unsafe coffer_run(name, pointers) }
        }
    }

    /// Starts this program again, in the background.
    ///
    /// - Parameters:
    ///   - descriptors: What it finds open as 3, 4, …
    ///   - inNewSession: Whether it leaves this one's session and process group at once.
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

    private static func withArguments<Result>(
        _ arguments: [String],
        _ body: (UnsafePointer<UnsafeMutablePointer<CChar>?>) throws(SystemError) -> Result
    ) throws(SystemError) -> Result {
        var pointers: [UnsafeMutablePointer<CChar>?] = unsafe arguments.map { unsafe strdup($0) }
        unsafe pointers.append(nil)
        // SAFETY: the copies live until `body` is done, and are freed once.
        defer { unsafe pointers.forEach { pointer in unsafe free(pointer) } }
        return try unsafe body(pointers)
    }

    /// A pipe: what is written to the second end is read from the first.
    ///
    /// Both close in programs that are run.
    package static func makePipe() throws(SystemError) -> (reading: Int32, writing: Int32) {
        var ends: [Int32] = [0, 0]
        try retryingInterrupted("pipe") { unsafe pipe(&ends) }
        for end in ends { _ = coffer_set_close_on_exec(end, 1) }
        return (ends[0], ends[1])
    }
}
