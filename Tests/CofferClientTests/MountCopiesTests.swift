import Testing

@testable import CofferClient

@Suite struct MountCopiesTests {
    /// Whoever has the result of a sync finds its thread gone, so that the process may be replaced.
    @Test func aSyncThatHasEndedIsOver() throws {
        let mount = try #require(try MountTable.read().mounts.first { $0.path == "/proc" })
        let copies = MountCopies(of: mount.device)
        for _ in 0..<500 {
            let failure = copies.sync()
            let isOver = MountCopies.areSynced
            #expect(failure == nil)
            try #require(isOver)
        }
    }
}
