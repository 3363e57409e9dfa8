import CofferSystem
import CofferTestSupport
import Testing

import CofferStore
import CofferVault

/// A vault on a simulated disk with much to compact, and the content of its files.
///
/// Its background threads do not run; `tidy` does their work.
struct RestingVault {
    let test: TestVault
    let files: [String: [UInt8]]

    /// A file of many small ranges, and a pack that is mostly dead.
    init() throws {
        test = try TestVault.create()
        let vault = try test.open()
        let fragments = Pattern.make(100 * 1000, seed: 4)
        let (kept, gone) = (try vault.makeFile("kept"), try vault.makeFile("gone"))
        let content = Pattern.make(100_000, seed: 3)
        try vault.put(content, to: kept)
        for piece in 0..<15 { try vault.put(Pattern.make(1 << 20), to: gone, at: piece << 20) }
        try vault.commit()
        let number = try vault.makeFile("fragments")
        for piece in 0..<100 {
            try vault.put(Array(fragments[piece * 1000..<(piece + 1) * 1000]), to: number, at: piece * 1000)
            if piece % 9 == 8 { try vault.commit() }
        }
        // The rest that does not fit into the first pack begins the second one.
        let next = try vault.makeFile("next pack", Pattern.make(1 << 20, seed: 5))
        try vault.truncate(next, to: 20_000)
        try vault.commit()
        try vault.remove("gone")
        try vault.commit()
        try vault.close()
        files = [
            "kept": content, "fragments": fragments,
            "next pack": Array(Pattern.make(1 << 20, seed: 5)[..<20_000]),
        ]
    }

    /// The same vault on another disk, opened, with files that were not written to for long.
    func open() throws -> (test: TestVault, vault: Vault) {
        let copy = test.on(test.directory.copy())
        let vault = try copy.open()
        let number = try vault.number(of: "fragments")
        var changes = AttributeChanges()
        changes.modified = .at(1)
        _ = try vault.setAttributes(of: number, changes)
        try vault.commit()
        vault.noteFragmented(number)
        return (copy, vault)
    }

    /// Compacts, commits, moves the log and starts it from its beginning.
    func tidy(_ vault: Vault) throws {
        try vault.compact()
        try vault.commit()
        try vault.moveLog()
        vault.expectLogToBeMoved()
        _ = try vault.makeFile("more", [1, 2, 3])
        try vault.remove("more")
        try vault.commit()
        _ = try vault.makeFile("more", [1, 2, 3])
        try vault.remove("more")
        try vault.commit()
    }

    /// Checks that all committed files exist; "more" may exist.
    func expectWhole(_ vault: Vault, _ comment: Comment) throws {
        var found = try vault.files()
        found["more"] = nil
        let isSame = found == files
        #expect(isSame, comment)
        #expect(try vault.damage() == [], comment)
    }
}
