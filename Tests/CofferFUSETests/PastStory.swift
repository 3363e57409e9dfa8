import CofferStore
import CofferSystem
import Foundation
import Testing

@testable import CofferFUSE
@testable import CofferVault

/// A live mount with a vault that keeps its past.
struct PastStory {
    let mount: LiveMount

    var vault: Vault { mount.vault }
    var past: PastTrees { mount.session.fileSystem.past }
    var history: String { mount.path(".coffer/history") }

    static func run(pastIdleTime: Int64? = nil, _ body: (PastStory) throws -> Void) throws {
        try LiveMount.run(pastIdleTime: pastIdleTime) { mount in
            let story = PastStory(mount: mount)
            try story.vault.history.set(.forever)
            try body(story)
        }
    }

    /// Makes a file with a content; stores it.
    func writes(_ text: String, to name: String) throws {
        let file = try Program.opens(mount.path(name), O_RDWR | O_CREAT | O_TRUNC)
        try Program.writes(text, to: file)
        try Program.syncs(file)
        try Program.closes(file)
    }

    /// Makes the present state one that is kept.
    ///
    /// - Returns: The path of its tree, by a name that leads to no other state.
    func keeps() throws -> String {
        try vault.history.keepPresent()
        let changed = try #require(vault.state.withLock { $0.tree.history?.row.changed })
        usleep(1000)
        return "\(history)/\(PastTime.forms(of: changed)[3])"
    }

    /// Makes the kernel forget all that it knows of the past and that no program uses.
    func kernelForgets() {
        mount.session.kernelCache?.forgetEntry(Node.hiddenName, in: Node(slot: 1, item: 1))
    }
}

/// The error number of a call; 0 if it succeeds.
func code(_ body: () throws -> Void) throws -> Int32 {
    do {
        try body()
        return 0
    } catch let failure as Failed {
        return failure.code
    }
}

/// The error number of a system call; 0 if it succeeds.
func code<Number: SignedInteger>(_ result: Number) -> Int32 { result < 0 ? errno : 0 }
