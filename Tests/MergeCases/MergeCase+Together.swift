internal import CofferSystem
internal import Foundation

/// Cases that are played at once, by users for whom it takes long to meet.
extension MergeCase {
    /// How far they all are.
    private struct Stage {
        /// Cases that are not over.
        var playing: Int
        /// Those of them that want to sync.
        var waiting = 0
        /// How often all have synced, and how the last time went.
        var meetings = 0
        var outcome: Result<Void, any Error> = .success(())
        var failures: [String: any Error] = [:]
    }

    /// Plays each case on a thread of its own, until it wants to sync; when all do, syncs once for all of them.
    ///
    /// - Parameters:
    ///   - users: The users of the case of a number, with a place of its own for its files.
    ///   - meet: Syncs all users until there is nothing more, the owner first and the guest last; on this thread.
    /// - Returns: Why cases failed, by what they are; what `meet` throws makes all fail that wait for it.
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

    /// Waits until all have synced.
    private static func join(_ stage: Condition<Stage>) throws {
        let before = stage.update { stage in
            stage.waiting += 1
            return stage.meetings
        }
        try stage.wait { $0.meetings > before ? $0.outcome : nil }.get()
    }
}
