/// Tells whether several threads of programs make requests at the same time.
///
/// A script starts one program after the other, and each makes all its requests before the next begins. Only
/// where a thread comes back after another one's request do both run at the same time.
struct RecentCallers {
    /// The number of threads that are remembered.
    private static let callerCountMax = 16
    /// The number of requests after which a return is no longer recent.
    private static let requestCountMax: UInt64 = 64

    private var callers: [UInt32] = []
    private var current: UInt32 = 0
    private var requestCount: UInt64 = 0
    private var lastReturn: UInt64?

    /// Records a request.
    ///
    /// - Parameter caller: The thread, as the kernel names it in the request; 0 if it is the kernel itself.
    mutating func recordRequest(of caller: UInt32) {
        requestCount += 1
        guard caller != 0, caller != current else { return }
        current = caller
        if let index = callers.firstIndex(of: caller) {
            lastReturn = requestCount
            callers.remove(at: index)
        } else if callers.count == Self.callerCountMax {
            callers.removeFirst()
        }
        callers.append(caller)
    }

    /// Whether a thread came back after another one's request a short while ago.
    var areSeveral: Bool {
        guard let lastReturn else { return false }
        return requestCount - lastReturn < Self.requestCountMax
    }
}
