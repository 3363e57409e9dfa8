import CofferCrypto
import CofferFormat
import CofferStore
import CofferSystem
import CofferTestSupport
import CofferTrust
import RemoteConformance
import Synchronization
import Testing

@testable import CofferVault

/// Taking back what one of several devices did.
@Suite struct UndoTests {
    @Test(arguments: [false, true], [false, true])
    func whatOneDidGoesAndOthersWorkStays(inStages: Bool, isShown: Bool) async throws {
        let pair = try await UndoPair(isShown: isShown, UndoPair.prepare)
        if inStages {
            try await pair.stage(pair.bob) {
                try $0.write("half", to: "f")
                try $0.move("plans/old/", to: "older/")
                try $0.write("temporary", to: "plans/b")
            }
            try await pair.stage(pair.bob) {
                try $0.move("older/", to: "plans/old/")
                try $0.remove("plans/b")
                try $0.write("again", to: "plans/b")
            }
        }
        try await pair.stage(pair.alice) { try $0.write("hers", to: "plans/hers") }
        try await pair.stage(pair.bob, UndoPair.mess)
        try await pair.stage(pair.alice) { try $0.write("hers, too", to: "hers") }
        let changed = try await pair.settled()
        let rehearsed = try await pair.undo(by: [pair.him], isRehearsal: true)
        #expect(try await pair.settled() == changed)
        let undone = try await pair.undo(by: [pair.him])
        #expect(undone.conflicts == [])
        #expect(Set(rehearsed.stepPaths) == Set(undone.stepPaths))
        var tree = try await pair.settled()
        #expect(tree.removeValue(forKey: "plans/hers") != nil && tree.removeValue(forKey: "hers") != nil)
        #expect(
            tree.sorted { $0.key < $1.key }.map { "\($0.key): \($0.value)" }
                == pair.before.sorted { $0.key < $1.key }.map { "\($0.key): \($0.value)" })
        // There is nothing left to take back.
        let again = try await pair.undo(by: [pair.him])
        #expect(again == Undo.Result())
    }

    @Test(arguments: [false, true]) func whatOthersChangedAfterwardsStays(isShown: Bool) async throws {
        let pair = try await UndoPair(isShown: isShown, UndoPair.prepare)
        try await pair.stage(pair.alice) { try $0.write("hers before", to: "plans/a") }
        try await pair.stage(pair.bob) {
            try $0.write("his", to: "f")
            try $0.remove("plans/a")
            try $0.remove("g")
            try $0.makeDirectory("new/")
            try $0.write("his", to: "new/his")
            try $0.write("his", to: "pictures/his")
            try $0.write("his", to: "plans/old/his")
        }
        try await pair.stage(pair.alice) {
            try $0.write("hers after", to: "f")
            try $0.write("in his folder", to: "new/hers")
            try $0.write("in its place", to: "g")
            try $0.setMode(0o700, of: "pictures/")
            for name in ["plans/old/his", "plans/old/c", "plans/old/"] { try $0.remove(name) }
        }
        let undone = try await pair.undo(by: [pair.him])
        let reasons = Dictionary(
            uniqueKeysWithValues: undone.conflicts.map {
                (String(decoding: $0.path, as: UTF8.self), $0.reason)
            })
        #expect(reasons == ["f": .changedByOthers, "new": .holdsOthers, "g": .placeTaken])
        #expect(undone.conflicts.first { $0.reason == .changedByOthers }?.authors == [.thisDevice])
        let tree = try await pair.settled()
        #expect(tree["new/his"] == nil && tree["new/hers"] != nil)
        #expect(tree["pictures/his"] == nil && tree["pictures/"]?.hasPrefix("40700") == true)
        #expect(tree["plans/old/"] == nil)
        #expect(try await pair.read("f") == "hers after")
        #expect(try await pair.read("g") == "in its place")
        // Only his last change is taken back.
        #expect(try await pair.read("plans/a") == "hers before")
    }

    /// Nobody knows what an item was between two changes of one minute.
    @Test(arguments: [false, true], [false, true])
    func changesOfOneMinuteStay(isHisFirst: Bool, isShown: Bool) async throws {
        let pair = try await UndoPair(isShown: isShown, UndoPair.prepare)
        for isHis in [isHisFirst, !isHisFirst] {
            let device = isHis ? pair.bob : pair.alice
            try await onThread {
                try device.put(Array("changed".utf8), to: "f", at: isHis ? 0 : 100)
                if isHis { try device.write("his", to: "g") }
            }
            try await ReplicaDevice.meet(pair.devices)
        }
        let undone = try await pair.undo(by: [pair.him])
        #expect(undone.conflictPaths == ["f"])
        #expect(undone.conflicts.map(\.authors) == [[.thisDevice]])
        #expect(undone.stepPaths == ["g"])
        _ = try await pair.settled()
    }

    /// Where programs may have files open, new contents of others come as other items; the last work of others stays.
    @Test(arguments: [false, true], [false, true])
    func theLastWorkOfOthersStays(isRemoved: Bool, isShown: Bool) async throws {
        let pair = try await UndoPair(isShown: isShown, UndoPair.prepare)
        for (device, text) in [(pair.bob, "one"), (pair.alice, "two"), (pair.bob, "three")] {
            try await pair.stage(device) {
                if isRemoved, text != "three" { try $0.remove("f") }
                try $0.write(text, to: "f")
            }
        }
        let undone = try await pair.undo(by: [pair.him])
        #expect(undone.conflictPaths == ["f"])
        #expect(try await pair.read("f") == "two")
        _ = try await pair.settled()
    }

    /// After a change of keys, a device seals all contents anew, and states them in its own name.
    @Test(arguments: [false, true]) func contentThatWasSealedAnewIsStillHis(isShown: Bool) async throws {
        let pair = try await UndoPair(isShown: isShown, UndoPair.prepare)
        try await pair.stage(pair.bob) {
            try $0.write("his", to: "new")
            try $0.write("his, too", to: "f")
        }
        try await onThread {
            let id = pair.alice.vault.id
            let keys = try #require(
                ContentKeys(vault: id, [EpochKey(vault: id, epoch: Epoch(2), key: .random())]))
            for device in pair.devices { try device.vault.adopt(keys) }
            let repacking = pair.alice.vault.repacking
            while try !repacking.reencrypt(byteCountMax: 1 << 30).isAtEnd {}
        }
        _ = try await pair.settled()
        let undone = try await pair.undo(by: [pair.him])
        #expect(undone.conflicts == [])
        #expect(try await pair.settled() == pair.before)
    }

    @Test(arguments: [false, true]) func aLinkThatWasMovedGoesBack(isShown: Bool) async throws {
        let pair = try await UndoPair(isShown: isShown, UndoPair.prepare)
        try await pair.stage(pair.bob) { try $0.move("plans/e too", to: "pictures/moved") }
        let undone = try await pair.undo(by: [pair.him])
        #expect(undone.conflicts == [])
        #expect(try await pair.settled() == pair.before)
    }

    /// What cannot go home stays where everybody sees it.
    @Test(arguments: [false, true]) func nothingIsHidden(isShown: Bool) async throws {
        let pair = try await UndoPair(isShown: isShown, UndoPair.prepare)
        try await pair.stage(pair.bob) {
            try $0.move("f", to: "m")
            try $0.move("g", to: "f")
        }
        try await pair.stage(pair.alice) { try $0.write("hers", to: "g") }
        let before = try await pair.settled()
        let undone = try await pair.undo(by: [pair.him])
        #expect(undone.conflictPaths == ["f", "m"])
        #expect(try await pair.settled() == before)
    }

    /// A folder that he put in the place of a file goes, though it holds what belongs elsewhere, and not what is hers.
    @Test(arguments: [false, true], [false, true])
    func aFolderInThePlaceOfAFileGoes(isHersInside: Bool, isShown: Bool) async throws {
        let pair = try await UndoPair(isShown: isShown, UndoPair.prepare)
        try await pair.stage(pair.bob) {
            try $0.remove("f")
            try $0.makeDirectory("f/")
            try $0.makeDirectory("f/inner/")
            try $0.write("his", to: "f/inner/his")
            try $0.move("g", to: "f/inner/g")
            try $0.move("pictures/", to: "f/pictures/")
        }
        if isHersInside { try await pair.stage(pair.alice) { try $0.write("hers", to: "f/inner/hers") } }
        let undone = try await pair.undo(by: [pair.him])
        var tree = try await pair.settled()
        if !isHersInside {
            #expect(undone.conflicts == [])
            #expect(tree == pair.before)
            return
        }
        let reasons = undone.conflicts.map { "\(String(decoding: $0.path, as: UTF8.self)) \($0.reason)" }
        #expect(reasons == ["f holdsOthers", "f placeTaken", "f/inner holdsOthers"])
        for path in ["f/", "f/inner/", "f/inner/hers"] { #expect(tree.removeValue(forKey: path) != nil) }
        var expected = pair.before
        expected["f"] = nil
        #expect(tree == expected)
    }

    /// Both versions of a file stay that two people changed at the same time.
    @Test(arguments: [false, true]) func conflictsStay(isShown: Bool) async throws {
        let pair = try await UndoPair(isShown: isShown, UndoPair.prepare)
        try await onThread {
            try pair.alice.write("hers", to: "f")
            try pair.bob.write("his", to: "f")
        }
        try await ReplicaDevice.meet(pair.devices)
        _ = try await pair.undo(by: [pair.him])
        try await ReplicaDevice.meet(pair.devices)
        try await onThread {
            for device in pair.devices {
                let names = try device.names(in: "").filter { $0.hasPrefix("f") }
                let texts = try names.map { try device.read($0) }
                #expect(texts.contains("hers"), "\(names) \(texts)")
            }
        }
    }

    /// A file that others removed while a program had it open goes for good at some time; that is nobody's change.
    @Test func whatGoesForGoodComesBack() async throws {
        let pair = try await UndoPair(UndoPair.prepare)
        pair.alice.vault.setSink(RecordedChanges(releases: false))
        let number = try await onThread { try pair.alice.number("f") }
        try await pair.stage(pair.bob) { try $0.remove("f") }
        try await pair.stage(pair.alice) { $0.vault.release(number) }
        let undone = try await pair.undo(by: [pair.him])
        #expect(undone.conflicts == [])
        #expect(try await pair.settled() == pair.before)
    }

    /// A folder that was renamed gets its name back, with what others have put into it since.
    @Test(arguments: [false, true]) func aFolderInUseGoesBack(isShown: Bool) async throws {
        let pair = try await UndoPair(isShown: isShown, UndoPair.prepare)
        try await pair.stage(pair.bob) { try $0.move("plans/", to: "plans 2/") }
        try await pair.stage(pair.alice) { try $0.write("hers", to: "plans 2/new") }
        let undone = try await pair.undo(by: [pair.him])
        #expect(undone.conflicts == [])
        #expect(undone.stepPaths == ["plans"])
        var tree = try await pair.settled()
        #expect(tree.removeValue(forKey: "plans/new") != nil)
        #expect(tree == pair.before)
    }

    /// Who changed what is known after the states in between have gone, and after the vault was opened again.
    @Test(arguments: [false, true]) func thinnedStatesLeaveTheirAuthors(isShown: Bool) async throws {
        let pair = try await UndoPair(isShown: isShown, UndoPair.prepare)
        try await pair.stage(pair.bob) { try $0.write("his", to: "f") }
        try await pair.stage(pair.alice) {
            try $0.write("hers", to: "f")
            try $0.write("hers", to: "g")
        }
        try await pair.stage(pair.bob) { try $0.write("his", to: "plans/a") }
        try await onThread {
            let vault = pair.alice.vault
            let first = try #require(try vault.history.states().first)
            try vault.history.keep(only: [first.number])
        }
        let undone = try await pair.undo(by: [pair.him])
        // In one state, nobody knows whose change came first.
        #expect(undone.conflictPaths == ["f"])
        #expect(undone.stepPaths == ["plans/a"])
        #expect(try await pair.read("f") == "hers")
        #expect(try await pair.read("plans/a") == "plans/a as it was")
    }

    /// If only one device changed anything, all of it can be taken back.
    @Test(arguments: 0..<10, [false, true]) func allOfOneDevice(seed: Int, isShown: Bool) async throws {
        let pair = try await UndoPair(isShown: isShown) { device in
            var program = RandomProgram(seed: UInt64(100 + seed), on: device)
            for _ in 0..<60 { try program.act() }
        }
        let isHis = seed % 2 == 0
        let device = isHis ? pair.bob : pair.alice
        for stage in 0..<3 {
            try await pair.stage(device) { device in
                var program = RandomProgram(seed: UInt64(200 + 10 * seed + stage), on: device)
                for _ in 0..<25 { try program.act() }
            }
        }
        let undone = try await pair.undo(by: [isHis ? pair.him : .thisDevice])
        #expect(
            undone.conflicts.map { "\(String(decoding: $0.path, as: UTF8.self)) \($0.reason) \($0.authors)" }
                == []
        )
        let tree = try await pair.settled()
        for path in Set(tree.keys).union(pair.before.keys).sorted() where tree[path] != pair.before[path] {
            Issue.record("\(path): \(tree[path] ?? "nothing") was \(pair.before[path] ?? "nothing")")
        }
    }

    /// Whatever two people do in turn: what one wrote is still there after all has been taken back that the other did.
    @Test(arguments: 0..<16, [false, true]) func whatOthersWroteIsThere(seed: Int, isShown: Bool) async throws
    {
        let pair = try await UndoPair(isShown: isShown) { device in
            var program = RandomProgram(seed: UInt64(300 + seed), on: device)
            for _ in 0..<40 { try program.act() }
        }
        var (hers, his) = (Set<String>(), Set<String>())
        for stage in 0..<6 {
            let isHis = (seed + stage) % 2 == 0
            let before = UndoPair.contents(try await pair.settled())
            try await pair.stage(isHis ? pair.bob : pair.alice) { device in
                var program = RandomProgram(seed: UInt64(400 + 10 * seed + stage), on: device)
                for _ in 0..<12 { try program.act() }
            }
            let new = UndoPair.contents(try await pair.settled()).subtracting(before)
            if isHis { his.formUnion(new) } else { hers.formUnion(new) }
        }
        let before = UndoPair.contents(try await pair.settled())
        let undone = try await pair.undo(by: [pair.him])
        let after = UndoPair.contents(try await pair.settled())
        #expect(
            hers.subtracting(his).intersection(before).subtracting(after) == [], "\(undone.conflictPaths)")
        // What is left stays the same when it is done again.
        let again = try await pair.undo(by: [pair.him])
        #expect(
            again.steps == [],
            "\(again.stepPaths), \(undone.stepPaths); \(undone.conflicts.map { "\(String(decoding: $0.path, as: UTF8.self)) \($0.reason)" })"
        )
        #expect(UndoPair.contents(try await pair.settled()) == after)
    }
}
