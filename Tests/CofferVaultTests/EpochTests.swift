import CofferCrypto
import CofferFormat
import CofferSystem
import CofferTestSupport
import CofferTrust
import Testing

import CofferStore
@testable import CofferVault

extension TestVault {
    /// The keys of an epoch that no other device has.
    func freshKeys(_ epoch: UInt32) throws -> ContentKeys {
        try #require(
            ContentKeys(vault: id, [EpochKey(vault: id, epoch: Epoch(epoch), key: .random())]))
    }
}

extension Vault {
    /// The epochs of a file's ranges.
    func epochs(of number: Int64) throws -> Set<UInt32> { Set(try rows(of: number).map(\.epoch.number)) }
}

/// Epochs that begin while a vault is open.
@Suite struct EpochTests {
    @Test func laterWritesUseTheNewEpoch() throws {
        let devices = try TwoDevices()
        let old = Pattern.make(1_200_000)
        let (a, b) = try devices.file(old)
        let next = try devices.testA.freshKeys(2)
        try devices.a.adopt(next)
        #expect(devices.a.epoch == Epoch(2))
        let change = Pattern.make(300_000, seed: 7)
        try devices.a.put(change, to: a, at: 100_000)
        #expect(try devices.a.epochs(of: a) == [1, 2])
        var content = old
        content.replaceSubrange(100_000..<400_000, with: change)
        #expect(try devices.a.content(of: a) == content)
        try devices.a.commit()
        #expect(try devices.a.repacking.epochUsage() == [.first: 900_000, Epoch(2): 300_000])

        // The other device has received the content, but not the keys.
        try devices.b.receive(try devices.a.send(a, to: devices.remote), as: b)
        #expect(try devices.b.get(b, count: 1000) == Array(content[..<1000]))
        #expect(fails("keyMissing") { _ = try devices.b.get(b, at: 100_000, count: 1000) })
        #expect(devices.problems.all.last?.text.contains("keys of epoch 2 that this device") == true)
        #expect(devices.b.stoppedReason == nil)
        try devices.b.adopt(next)
        #expect(try devices.b.content(of: b) == content)
        #expect(try devices.a.damage() == [])
        #expect(try devices.b.damage() == [])
    }

    /// Two admins started an epoch of the same number, and the other side of the fork wins.
    @Test func aKeyReplacedByAnother() throws {
        let devices = try TwoDevices()
        let (lost, next) = (try devices.testA.freshKeys(2), try devices.testA.freshKeys(2))
        try devices.a.adopt(lost)
        var files: [Int64: [UInt8]] = [:]
        for index in 0..<3 {
            let content = Pattern.make([700, 40_000, 2_500_000][index], seed: UInt64(index))
            files[try devices.a.makeFile("file \(index)", content)] = content
        }
        // Many ranges, so that there are pages; all of it was sent once.
        let pieces = try devices.a.makeFile("pieces")
        for index in 0..<50 {
            try devices.a.put([UInt8](repeating: 1, count: 100), to: pieces, at: index * 5000)
        }
        files[pieces] = try devices.a.content(of: pieces)
        _ = try devices.a.send(pieces, to: devices.remote)
        try devices.a.commit()
        // This is the key from now on, even after a restart, and local content can be read.
        try devices.a.adopt(next)
        try devices.b.adopt(next)
        let fresh = try devices.a.makeFile("fresh", [1, 2, 3])
        for (number, content) in files { #expect(try devices.a.content(of: number) == content) }
        #expect(try devices.a.damage() == [])
        // Others can read everything that is sent, although they have only the one key.
        files[fresh] = [1, 2, 3]
        for (number, content) in files {
            try devices.a.repacking.sealAnew(number, isFetching: true)
            let b = try devices.b.makeFile("\(number)")
            try devices.b.receive(try devices.a.send(number, to: devices.remote), as: b)
            #expect(try devices.b.content(of: b) == content)
            #expect(try devices.a.content(of: number) == content)
        }
        #expect(try devices.a.damage() == [])
        #expect(try devices.b.damage() == [])
    }

    /// Sent content is sealed with the common key, whatever triggers the sending.
    @Test func sendingSealsAnew() throws {
        let devices = try TwoDevices()
        let (lost, next) = (try devices.testA.freshKeys(2), try devices.testA.freshKeys(2))
        try devices.a.adopt(lost)
        let content = Pattern.make(300_000)
        let a = try devices.a.makeFile("file", content)
        for vault in [devices.a, devices.b] { try vault.adopt(next) }
        let contents = RemoteContents { [remote = devices.remote] pack in
            remote.store(pack)
            return Sending.Delivery {}
        }
        let value = try #require(try contents.contents(of: [a], in: devices.a)[a])
        let b = try devices.b.makeFile("file")
        try devices.b.receive(value.bytes, as: b)
        #expect(try devices.b.content(of: b) == content)
        // It is not done again, nor for content that others have sealed.
        let epochs = try devices.a.rows(of: a)
        try devices.a.repacking.sealAnew(a, isFetching: true)
        #expect(try devices.a.rows(of: a) == epochs)
    }

    /// Later epochs of the lost side are gone, and the one before them is the newest again.
    @Test func aSideWithFewerEpochs() throws {
        let test = try TestVault.create()
        let vault = try test.open()
        let lost = try test.freshKeys(2)
        try vault.adopt(test.keys.followed(by: lost))
        let file = try vault.makeFile("file", [1, 2, 3])
        try vault.adopt(test.keys)
        #expect(vault.epoch == .first)
        #expect(try vault.get(file, count: 3) == [1, 2, 3])
        try vault.repacking.sealAnew(file)
        #expect(try vault.epochs(of: file) == [1])
        #expect(try vault.get(file, count: 3) == [1, 2, 3])
        try vault.close()
    }

    @Test func pagesOfAnUnknownEpochAreNamed() throws {
        let devices = try TwoDevices()
        let next = try devices.testA.freshKeys(2)
        try devices.a.adopt(next)
        let a = try devices.a.makeFile("file")
        for index in 0..<50 { try devices.a.put([UInt8](repeating: 1, count: 100), to: a, at: index * 5000) }
        let value = try devices.a.send(a, to: devices.remote)
        let b = try devices.b.makeFile("file")
        #expect(fails("keyMissing") { try devices.b.receive(value, as: b) })
        try devices.b.adopt(next)
        try devices.b.receive(value, as: b)
        #expect(try devices.b.content(of: b) == devices.a.content(of: a))
    }

    @Test func keysOfAnotherVaultAreRefused() throws {
        let test = try TestVault.create()
        let vault = try test.open()
        let other = try TestVault.create()
        #expect(fails("invalidArgument") { try vault.adopt(try other.freshKeys(2)) })
        #expect(vault.epoch == .first)
    }

    @Test func anUnknownEpochAtMountIsNoDamage() throws {
        let test = try TestVault.create()
        let next = try test.freshKeys(2)
        var numbers: [Int64] = []
        do {
            let vault = try test.open()
            numbers.append(try vault.makeFile("old", [1, 2, 3]))
            try vault.adopt(next)
            numbers.append(try vault.makeFile("new", [4, 5, 6]))
            try vault.close()
        }
        let vault = try test.open()
        #expect(try vault.get(numbers[0], count: 3) == [1, 2, 3])
        #expect(fails("keyMissing") { _ = try vault.get(numbers[1], count: 3) })
        // It can be replaced all the same.
        try vault.put([7, 8, 9], to: numbers[1])
        #expect(try vault.get(numbers[1], count: 3) == [7, 8, 9])
        try vault.close()
    }

    /// Rows name the epoch of their keys, even if writes overlap the start of an epoch.
    @Test func writersDoNotMixEpochs() throws {
        let test = try TestVault.create()
        let vault = try test.open()
        let files = try (0..<4).map { try vault.makeFile("\($0)") }
        let failures = Condition([String]())
        let begun = Condition(0)
        let newest = Condition(1)
        let threads = try files.enumerated().map { index, file in
            try Thread.start("writer \(index)") {
                do {
                    for piece in 0..<120 {
                        // On a busy machine, writers would be done before the first epoch begins.
                        let count = begun.withLock { $0 }
                        newest.wait { $0 * 10 + 120 >= count ? () : nil }
                        try vault.put(Pattern.make(5000, seed: UInt64(piece)), to: file, at: piece * 5000)
                        begun.update { $0 += 1 }
                    }
                } catch {
                    failures.withLock { $0.append("\(error)") }
                }
            }
        }
        for epoch in 2...40 {
            _ = begun.wait { $0 >= epoch * 10 ? true : nil }
            try vault.adopt(try test.freshKeys(UInt32(epoch)))
            newest.update { $0 = epoch }
        }
        for thread in threads { thread.join() }
        #expect(failures.withLock { $0 } == [])
        #expect(try files.flatMap { try vault.epochs(of: $0) }.count > 4)
        let whole = (0..<120).flatMap { Pattern.make(5000, seed: UInt64($0)) }
        for file in files {
            let isSame = try vault.content(of: file) == whole
            #expect(isSame)
        }
    }
}
