internal import CofferSystem
internal import Foundation

/// Runs cases concurrently, for users to whom a meeting takes long.
extension MergeCase {
    /// The progress of all cases.
    private struct Stage {
        /// The number of cases that still run.
        var playing: Int
        /// The number of running cases that want to sync.
        var waiting = 0
        /// The number of syncs so far, and the result of the last one.
        var meetings = 0
        var outcome: Result<Void, any Error> = .success(())
        var failures: [String: any Error] = [:]
    }

    /// Runs each case on a thread of its own until it wants to sync; when all do, syncs once for all of them.
    ///
    /// - Parameters:
    ///   - users: The users of the case of a number, with a place of its own for its files.
    ///   - meet: Syncs all users until there is nothing more, the owner first and the guest last; on this thread.
    /// - Returns: Why cases failed, by case; an error of `meet` fails all cases that wait for it.
    public static func play(
        _ cases: [MergeCase], users: @escaping @Sendable (_ number: Int) -> [any VaultFiles],
        meet: () throws -> Void
    ) -> [String: any Error] {
        let stage = Condition(Stage(playing: cases.count))
        for (number, row) in cases.enumerated() {
            Thread.detachNewThread {
                let failure: (any Error)?
                do {
                    try row.run(World(users(number)) { try join(stage) })
                    failure = nil
                } catch {
                    failure = error
                }
                stage.update { stage in
                    stage.playing -= 1
                    stage.failures[row.description] = failure
                }
            }
        }
        while stage.wait(for: { $0.waiting == $0.playing ? $0.playing > 0 : nil }) {
            let outcome = Result { try meet() }
            stage.update { stage in
                stage.waiting = 0
                stage.meetings += 1
                stage.outcome = outcome
            }
        }
        return stage.withLock { $0.failures }
    }

    /// Waits until all cases have synced.
    private static func join(_ stage: Condition<Stage>) throws {
        let before = stage.update { stage in
            stage.waiting += 1
            return stage.meetings
        }
        try stage.wait { $0.meetings > before ? $0.outcome : nil }.get()
    }
}
