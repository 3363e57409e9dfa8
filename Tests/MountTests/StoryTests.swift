import Foundation
import Testing

/// Random stories of members who share a vault, each with a mount of their own (Tests/chaos.py), a few seconds each.
///
/// The stories mostly wait, so Tests/run.py gives them a process beside those of the other mount tests.
@Suite(
    .enabled(if: !Machine.skipsMounts, "COFFER_SKIP_MOUNT=1 says to leave out what needs FUSE"),
    .enabled(if: Machine.hasMountNamespaces, "mount namespaces take root and unshare(1)"))
struct StoryTests {
    /// Ten seeds, with the folder of all kinds.
    static let stories: [(seed: Int, members: Int, options: [String])] = (1...10).map { seed in
        (seed, 2 + seed % 2, [["--shared"], ["--replicate"], ["--tmpfs"]][seed % 3])
    }

    @Test("Nothing is lost, and all mounts become the same", arguments: stories)
    func story(_ seed: Int, _ members: Int, _ options: [String]) throws {
        try Machine.requireFUSE()
        let python = try #require(Machine.path("python3"), "python3 is not installed")
        let tests = ((#filePath as NSString).deletingLastPathComponent as NSString).deletingLastPathComponent
        let directory = NSTemporaryDirectory() + "story\(seed)"
        let words = ["-B", "\(tests)/chaos.py", "\(seed)", "0.1", "\(members)"]
        var command = Command(python, words + ["--quiet", "--dir", directory] + options)
        command.environment = [
            "COFFER": try Programs.coffer(), "PATH": "/usr/sbin:/usr/bin:/sbin:/bin",
            "LC_ALL": "C.UTF-8",
        ]
        let result = try command.run(seconds: 900)
        #expect(result.status == 0, "\(command): \(result.output)\(result.error)")
    }
}
