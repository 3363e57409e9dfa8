internal import CCofferSystem
internal import Glibc

/// A plain thread of the operating system, for work that must not share a pool.
@safe
package struct Thread: Sendable {
    // SAFETY: an opaque number to all but pthread_join(3).
    private let handle: pthread_t

    private final class Start {
        let body: @Sendable () -> Void
        init(_ body: @escaping @Sendable () -> Void) { self.body = body }
    }

    /// Starts a thread that runs `body` with all signals blocked.
    ///
    /// - Parameter name: Shown by ps(1) and gdb(1); 15 bytes count.
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

    /// Starts a thread that nobody waits for; its memory goes when it ends.
    package static func startDetached(
        _ name: String, _ body: @escaping @Sendable () -> Void
    ) throws(SystemError) {
        pthread_detach(try start(name, body).handle)
    }

    /// Waits until the thread has ended.
    ///
    /// Once only.
    package func join() {
        pthread_join(handle, nil)
    }
}
