internal import CofferSystem
internal import Glibc

/// A mount that no path leads to any more, while programs still have files of it open or mapped, or their working
/// directory in it.
enum DetachedMount {
    /// How long to wait until everything is written, in nanoseconds.
    private static let syncTimeMax: Int64 = 30_000_000_000
    private static let program = "sync"

    /// Makes the kernel write what it has cached of all filesystems, by sync(1), and so of this one.
    ///
    /// syncfs(2) takes a descriptor, which only the programs have that use the mount. Other filesystems may never
    /// answer: a child process then waits for them, which has nothing of this one and keeps no execve(2) waiting.
    ///
    /// - Returns: Why that failed. The kernel does not tell here which pages could not be written.
    static func sync() -> SystemError? {
        let result = Condition<SystemError??>(nil)
        do throws(SystemError) {
            try Thread.startDetached("coffer-sync-all") {
                do throws(SystemError) {
                    let status = try ChildProcess.run(program, [])
                    result.update { $0 = .some(status == 0 ? nil : failure(EIO)) }
                } catch {
                    result.update { $0 = .some(error) }
                }
            }
        } catch {
            return error
        }
        return result.wait(nanoseconds: syncTimeMax) { $0 } ?? failure(ETIMEDOUT)
    }

    private static func failure(_ code: Int32) -> SystemError {
        SystemError("run", code: code, on: program)
    }
}
