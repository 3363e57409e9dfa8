import CofferCrypto
import CofferSystem
import CofferVault
import Foundation
import Testing

@testable import CofferClient

/// Damaged profile files cause an error that says so, never a trap, and never wrong keys.
@Suite(.serialized) struct DamagedProfileTests {
    /// Offsets in the file (docs/format.md, "Profile").
    private enum Offset {
        static let version = 8
        static let passes = 60
        static let memory = 64
        static let bodyLength = 224
    }

    private func open(_ test: TestProfile) -> ClientError? {
        test.forgetAttempts()
        return clientError { () throws(ClientError) in try test.unlock() }
    }

    /// Damage is never taken for a wrong passphrase, and nobody is asked for one in vain.
    @Test func everyBitFlipped() throws {
        let test = try TestProfile()
        let bytes = try test.bytes()
        for offset in bytes.indices {
            for bit in 0..<8 {
                var flipped = bytes
                flipped[offset] ^= 1 << bit
                try test.write(flipped)
                let error = clientError { () throws(ClientError) in try Profile.check(test.location) }
                let isNewer = (Offset.version..<Offset.version + 4).contains(offset)
                #expect(
                    error?.caseName == "damagedProfile" || isNewer && error?.caseName == "newerProfile",
                    "bit \(bit) of byte \(offset)")
            }
        }
        try test.write(bytes)
        #expect(open(test) == nil)
    }

    /// Whoever changes a profile can make a checksum, too, but not what the keys authenticate.
    @Test func everyByteFlippedWithItsChecksum() throws {
        let test = try TestProfile()
        let bytes = try test.bytes()
        let key = try test.key()
        let allowed: Set = ["damagedProfile", "newerProfile", "wrongPassphrase"]
        for offset in bytes.dropLast(ProfileFile.checksumByteCount).indices {
            var flipped = bytes
            flipped[offset] ^= 0x80
            try test.writeChecked(flipped)
            let error = openCheaply(test, offset, key)
            let name = try #require(error?.caseName, "byte \(offset) does not matter")
            #expect(allowed.contains(name), "byte \(offset): \(name)")
        }
        try test.write(bytes)
        #expect(open(test) == nil)
    }

    /// Opens the profile like `open`, but its body with a known key, which saves a few hundred runs of Argon2id.
    private func openCheaply(_ test: TestProfile, _ offset: Int, _ key: [UInt8]) -> ClientError? {
        if offset < Offset.bodyLength { return open(test) }
        test.waitUntilFree()
        return clientError { () throws(ClientError) in
            try Profile.open(
                test.location, try test.location.takeLock(), key: SecretBytes(copying: key.span.bytes))
        }
    }

    @Test func everyLength() throws {
        let test = try TestProfile()
        let bytes = try test.bytes()
        for count in bytes.indices {
            try test.write(Array(bytes.prefix(count)))
            let error = clientError { () throws(ClientError) in try Profile.check(test.location) }
            #expect(error?.caseName == "damagedProfile", "\(count) bytes")
        }
        try test.write(bytes + [0])
        #expect(open(test)?.caseName == "damagedProfile")
        try test.write([UInt8](repeating: 0, count: 17 << 20))
        #expect(open(test)?.caseName == "system", "too long to be a profile")
    }

    @Test func newerVersion() throws {
        let test = try TestProfile()
        for version in [2, 3, 255] as [UInt8] {
            var bytes = try test.bytes()
            bytes[Offset.version] = version
            try test.write(bytes)
            guard case .profile(.newerProfile(_, let found, let supported)) = open(test) else {
                Issue.record("version \(version) is not noticed")
                return
            }
            #expect(found == UInt32(version) && supported == 1)
            // Nobody is asked for a passphrase in vain.
            #expect(AttemptLimiter(path: test.location.attempts).count == 0)
        }
        var bytes = try test.bytes()
        bytes[Offset.version] = 0
        try test.write(bytes)
        #expect(open(test)?.caseName == "damagedProfile")
    }

    static let strengths: [(UInt32, UInt32)] = [
        (0, 65_536), (1, 65_536), (65, 65_536), (.max, 65_536), (2, 0), (2, 8), (2, 65_535),
        (2, 4_194_305), (2, .max), (64, 4_194_304), (.max, .max), (0, 0),
    ]

    /// A tampered file can neither cause a weak hash, nor stall or starve the machine.
    @Test(arguments: strengths)
    func strengthOutOfRange(passes: UInt32, memory: UInt32) throws {
        let test = try TestProfile()
        var bytes = try test.bytes()
        for (offset, value) in [(Offset.passes, passes), (Offset.memory, memory)] {
            for index in 0..<4 { bytes[offset + index] = UInt8(truncatingIfNeeded: value >> (8 * index)) }
        }
        try test.writeChecked(bytes)
        #expect(open(test)?.caseName == "damagedProfile")
    }

    /// A strength in range that differs from the sealed one does not open the profile.
    @Test func anotherStrength() throws {
        let test = try TestProfile()
        var bytes = try test.bytes()
        bytes[Offset.passes] = 3
        try test.writeChecked(bytes)
        #expect(open(test)?.caseName == "wrongPassphrase")
    }

    @Test func bodyOfAnotherProfile() throws {
        let (first, second) = (try TestProfile(), try TestProfile())
        let bytes = try first.bytes()
        let other = try second.bytes()
        try first.writeChecked(Array(bytes[..<Offset.bodyLength]) + Array(other[Offset.bodyLength...]))
        #expect(open(first)?.caseName == "damagedProfile")
        try first.writeChecked(Array(bytes[..<38]) + Array(other[38...]))
        #expect(["wrongPassphrase", "damagedProfile"].contains(open(first)?.caseName))
    }

    /// An incomplete replacement next to the profile does no harm.
    @Test func leftoverReplacement() throws {
        let test = try TestProfile()
        try Data([1, 2, 3]).write(to: URL(filePath: "\(test.location.profile).new"))
        #expect(open(test) == nil)
        _ = try test.unlock().createVault(named: "More", owner: .current)
        #expect(try test.unlock().vaults.count == 2)
    }
}
