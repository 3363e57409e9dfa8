internal import Glibc
internal import Synchronization

/// Threads that work at the same time, as several programs do.
enum Together {
    private final class Work: Sendable {
        let index: Int
        let body: @Sendable (Int) throws -> Void
        let failure = Mutex<(any Error)?>(nil)

        init(_ index: Int, _ body: @escaping @Sendable (Int) throws -> Void) {
            self.index = index
            self.body = body
        }

        func run() {
            do { try body(index) } catch { failure.withLock { $0 = error } }
        }
    }

    /// Runs `body` in `count` threads, with the number of each, and `meanwhile` in this one; returns when all
    /// have ended, and throws the first error.
    static func run(
        _ count: Int, _ body: @escaping @Sendable (Int) throws -> Void, meanwhile: () throws -> Void = {}
    ) throws {
        var threads: [(pthread_t, Work)] = []
        for index in 0..<count {
            let work = Work(index, body)
            var thread = pthread_t()
            let code = pthread_create(
                &thread, nil,
                { argument in
                    guard let argument else { return nil }
                    Unmanaged<Work>.fromOpaque(argument).takeRetainedValue().run()
                    return nil
                }, Unmanaged.passRetained(work).toOpaque())
            precondition(code == 0, "a thread cannot be started")
            threads.append((thread, work))
        }
        var failure: (any Error)?
        do { try meanwhile() } catch { failure = error }
        for (thread, work) in threads {
            pthread_join(thread, nil)
            failure = failure ?? work.failure.withLock { $0 }
        }
        if let failure { throw failure }
    }
}
