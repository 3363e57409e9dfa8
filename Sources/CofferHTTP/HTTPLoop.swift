internal import CCurl
internal import CofferSystem
internal import Synchronization

/// The thread that drives all transfers of a client.
@safe
final class HTTPLoop: Sendable {
    private struct State {
        var incoming: [HTTPCall] = []
        var needsSweep = false
        var isRunning = false
        var isStopping = false
    }

    private static let isInitialised = coffer_curl_initialise()

    /// Milliseconds for which the thread sleeps at most; libcurl's own timers wake it earlier.
    private static let sleepMax: Int32 = 60_000

    private let state = Mutex(State())
    // SAFETY: `multi` is made in init and freed by the thread, or by `stop` where no thread was started. Only the
    // thread uses it, but for curl_multi_wakeup(3), which any thread may call, and which is called under the lock
    // of `state`; the thread frees `multi` only once it has seen `isStopping` under that lock. Nothing wakes it after
    // that: `sweep` looks at `isStopping`, and `submit` runs within the life of the client, whose deinit calls `stop`.
    private nonisolated(unsafe) let multi: UnsafeMutableRawPointer?
    private let settings: HTTPSettings

    init(_ settings: HTTPSettings) {
        self.settings = settings
        unsafe multi = Self.isInitialised ? curl_multi_init() : nil
        if let multi = unsafe multi {
            unsafe coffer_curl_set_multi_long(multi, CURLMOPT_MAX_HOST_CONNECTIONS, 8)
            unsafe coffer_curl_set_multi_long(multi, CURLMOPT_MAXCONNECTS, 8)
        }
    }

    /// Hands a call to the thread, and starts the thread for the first one.
    func submit(_ call: HTTPCall) {
        guard let multi = unsafe multi else {
            return call.answer(.failure(.failed("libcurl cannot be initialised")))
        }
        let isStarted = state.withLock { state in
            state.incoming.append(call)
            if !state.isRunning {
                state.isRunning = (try? Thread.startDetached("coffer-http") { [self] in run() }) != nil
            }
            if state.isRunning { unsafe curl_multi_wakeup(multi) } else { state.incoming = [] }
            return state.isRunning
        }
        if !isStarted { call.answer(.failure(.failed("no thread can be started"))) }
    }

    /// Has the thread end the transfers of cancelled calls.
    func sweep() {
        state.withLock { state in
            guard let multi = unsafe multi, !state.isStopping else { return }
            state.needsSweep = true
            unsafe curl_multi_wakeup(multi)
        }
    }

    /// Ends the thread; no task waits for an answer any more.
    func stop() {
        guard let multi = unsafe multi else { return }
        let isRunning = state.withLock { state in
            state.isStopping = true
            if state.isRunning { unsafe curl_multi_wakeup(multi) }
            return state.isRunning
        }
        if !isRunning { unsafe curl_multi_cleanup(multi) }
    }

    private func run() {
        guard let multi = unsafe multi else { return }
        var transfers = unsafe HTTPTransfers(multi, settings)
        while true {
            let (calls, needsSweep, isStopping) = state.withLock { state in
                defer { (state.incoming, state.needsSweep) = ([], false) }
                return (state.incoming, state.needsSweep, state.isStopping)
            }
            for call in calls { transfers.begin(call) }
            if needsSweep { transfers.endCancelled() }
            if isStopping { break }
            transfers.drive()
            unsafe curl_multi_poll(multi, nil, 0, Self.sleepMax, nil)
        }
        transfers.endAll()
        // Handles go first, though all of them have left by now.
        transfers = unsafe HTTPTransfers(multi, settings)
        unsafe curl_multi_cleanup(multi)
    }
}
