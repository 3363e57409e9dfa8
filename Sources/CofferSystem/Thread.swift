internal import CCofferSystem
internal import Glibc

/// A plain thread of the operating system, for work that must not share a thread pool.
@safe
package struct Thread: Sendable {
    // SAFETY: only pthread_join(3) and pthread_detach(3) interpret this number.
    private let handle: pthread_t

    private final class Start {
        let body: @Sendable () -> Void
        init(_ body: @escaping @Sendable () -> Void) { self.body = body }
    }

    /// Starts a thread that runs `body` with all signals blocked.
    ///
    /// - Parameter name: Shown by ps(1) and gdb(1); cut after 15 characters, which must be ASCII.
    package static func start(
        _ name: String, _ body: @escaping @Sendable () -> Void
    ) throws(SystemError) -> Thread {
        var all = sigset_t()
        var previous = sigset_t()
        unsafe sigfillset(&all)
        unsafe pthread_sigmask(SIG_BLOCK, &all, &previous)
        defer { unsafe pthread_sigmask(SIG_SETMASK, &previous, nil) }
        let start = unsafe Unmanaged.passRetained(Start(body))
        var handle = pthread_t()
        let code = unsafe pthread_create(
            &handle, nil,
            { argument in
                guard let argument = unsafe argument else { return nil }
                // SAFETY: retained by `start` for this thread alone.
                unsafe Unmanaged<Start>.fromOpaque(argument).takeRetainedValue().body()
                return nil
            }, start.toOpaque())
        guard code == 0 else {
            unsafe start.release()
            throw SystemError("pthread_create", code: code)
        }
        unsafe coffer_name_thread(UInt(handle), String(name.prefix(15)))
        return Thread(handle: handle)
    }

    /// Starts a thread that cannot be joined; its memory is freed when it ends.
    package static func startDetached(
        _ name: String, _ body: @escaping @Sendable () -> Void
    ) throws(SystemError) {
        pthread_detach(try start(name, body).handle)
    }

    /// Waits until the thread has ended.
    ///
    /// To be called at most once.
    package func join() {
        pthread_join(handle, nil)
    }
}
