import CofferCrypto
import CofferFormat
import CofferRemote
import CofferTestSupport
import CofferTrust
import RemoteConformance
import Testing

import CofferSync

struct RecordTests {
    private let log = LogID(low: 3, high: 4)
    private let hash = CommitHash([UInt8](repeating: 7, count: 32))
    private let members = LinkHead(sequence: 5, hash: LinkHash([UInt8](repeating: 9, count: 32)))

    private func body() throws -> CommitBody {
        CommitBody(
            previous: hash, clock: 77,
            stateHash: try #require(StateHash(bytes: [UInt8](repeating: 1, count: 32))),
            heads: try LogBounds([LogBound(log: LogID(low: 1, high: 1), sequence: 9, hash: hash)]),
            introduction: try LogIntroduction(name: "Ann", label: "laptop"),
            notices: [
                .checkpoint(sequence: 4, CheckpointHash([UInt8](repeating: 2, count: 32))),
                .confirmation(Dot(log: log, sequence: 8), .zero),
            ], facts: try fileFacts(1, "a.txt"))
    }

    private func checkpoint() throws -> CheckpointBody {
        let point = CommitPoint(sequence: 4, hash: hash, members: members, writes: false)
        let summary = LogSummary(
            log: log, author: IdentityID([UInt8](repeating: 3, count: 32)),
            introduction: try LogIntroduction(name: "Ann", label: "laptop"), clock: 9, head: point,
            lastWrite: point)
        return CheckpointBody(
            clock: 9, stateHash: .zero, logs: [summary],
            pieces: [.init(hash: .zero, facts: .zero, byteCount: 4096)])
    }

    @Test func paddingFollowsPadme() {
        #expect(Padding.byteCount(0) == 512)
        #expect(Padding.byteCount(512) == 512)
        #expect(Padding.byteCount(513) == 544)
        #expect(Padding.byteCount(1000) == 1024 - 0)
        #expect(Padding.byteCount(1025) == 1088)
        #expect(Padding.byteCount(1_000_000) == 1_015_808)
        for count in stride(from: 513, through: 5_000_000, by: 7919) {
            let padded = Padding.byteCount(count)
            #expect(padded >= count && padded <= count + count / 8)
            #expect(Padding.byteCount(padded) == padded)
        }
    }

    /// The storage cannot tell an acknowledgement from a small change.
    @Test func acknowledgementsLookLikeSmallChanges() async throws {
        let world = MembershipWorld()
        let olga = try await world.founded()
        let will = try await world.joins("Will", .writer, by: olga)
        for _ in 0..<3 {
            try await olga.writes("file", "1")
            for device in [olga, will, olga] { try await device.sync() }
        }
        let sizes = [olga, will].map { device in
            Set(
                world.remote.objects.filter { world.layout.log(device.log).contains($0.key) }.map(
                    \.value.count))
        }
        let (changes, acknowledgements) = (sizes[0], sizes[1])
        #expect(changes.count == 1 && changes == acknowledgements)
        #expect(try await will.ownSummary.lastWrite == nil)
    }

    /// A forged introduction, whatever its name, contains nothing that moves a terminal's cursor.
    @Test(arguments: ["", "a\nb", "\u{1B}[2J", "a\u{202E}b", "a\u{7F}", String(repeating: "x", count: 256)])
    func introductionsThatCouldFoolAReaderAreRefused(name: String) throws {
        #expect(throws: FormatError.self) { try LogIntroduction(name: name, label: "desk") }
        #expect(throws: FormatError.self) { try LogIntroduction(name: "Will", label: name) }
        guard 1...255 ~= name.utf8.count else { return }
        // A name of the same length, replaced in the encoded bytes.
        let usual = String(repeating: "W", count: name.utf8.count)
        let body = CommitBody(
            previous: .zero, clock: 1, stateHash: .zero, heads: .none,
            introduction: try LogIntroduction(name: usual, label: "desk"), notices: [], facts: [])
        var bytes = body.paddedBytes
        let place = try #require(bytes.firstRange(of: Array(usual.utf8)))
        bytes.replaceSubrange(place, with: name.utf8)
        #expect(throws: FormatError.self) { try CommitBody(padded: bytes) }
    }

    @Test func bodiesAreReadAsTheyWereWritten() throws {
        let body = try body()
        #expect(try CommitBody(padded: body.paddedBytes) == body)
        let checkpoint = try checkpoint()
        #expect(try CheckpointBody(padded: checkpoint.paddedBytes) == checkpoint)
        let stamp = Stamp(clock: 5, dot: Dot(log: log, sequence: 2))
        let group = CheckpointPiece.Group(stamp: stamp, facts: try fileFacts(1, "a"))
        #expect(
            try CheckpointPiece.groups(padded: CheckpointPiece.padded(groups: group.bytes + group.bytes))
                .count == 2)
    }

    /// The bytes of docs/format.md: changing them requires a new format version.
    @Test func formatsStayAsTheyAre() throws {
        func digest(_ bytes: [UInt8]) -> String {
            Blake2b.hash(bytes, for: .commit).prefix(8).map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }
                .joined()
        }
        let (body, checkpoint) = (digest(try body().paddedBytes), digest(try checkpoint().paddedBytes))
        #expect(body == "f4874a7a0389c2ff")
        #expect(checkpoint == "cec0abe230bb1ab6")
        let dot = Dot(log: log, sequence: 2)
        let vault = VaultID(low: 1, high: 2)
        let header = SignedRecord.header(.commit, vault, dot, Epoch(3), bodyByteCount: 600)
        #expect(header.count == SignedRecord.headerByteCount)
        #expect(digest(header) == "c277f69379251549")
        let piece = CheckpointPiece.header(vault, dot, Epoch(3), number: 1)
        #expect(piece.count == CheckpointPiece.headerByteCount)
        #expect(digest(piece) == "34c8887eabc8a0c8")
    }

    @Test func flippedAndCutBytesAreRefusedOrReadOtherwise() throws {
        var random = SplitMix64(seed: 99)
        for original in [try body().paddedBytes, try checkpoint().paddedBytes] {
            for _ in 0..<4000 {
                var bytes = original
                switch random.below(3) {
                case 0: bytes.removeLast(1 + random.below(bytes.count))
                case 1: bytes[random.below(bytes.count)] ^= UInt8(1 << random.below(8))
                default: bytes += random.bytes(1 + random.below(20))
                }
                if let body = try? CommitBody(padded: bytes) { #expect(body.paddedBytes == bytes) }
                if let body = try? CheckpointBody(padded: bytes) { #expect(body.paddedBytes == bytes) }
                _ = try? CheckpointPiece.groups(padded: bytes)
                _ = try? SignedRecord(bytes, as: .commit)
            }
        }
    }

    @Test func unknownThingsAreReported() throws {
        var bytes = try body().paddedBytes
        // The code of the first notice: after length, previous, clock, state, one head, introduction, and
        // number of notices.
        let place = 4 + 32 + 8 + 32 + 2 + 56 + 1 + 2 + 3 + 2 + 6 + 1
        #expect(bytes[place] == 1)
        bytes[place] = 9
        #expect(throws: FormatError.unknown(field: "notice", found: 9)) { try CommitBody(padded: bytes) }
        var record = SignedRecord.header(
            .commit, VaultID(low: 1, high: 1), Dot(log: log, sequence: 1), .first, bodyByteCount: 600)
        record[8] = 2
        #expect(throws: FormatError.newerVersion(found: 2, supported: 1)) {
            try SignedRecord(record, as: .commit)
        }
        #expect(throws: FormatError.notThisKind) { try SignedRecord(record, as: .checkpoint) }
    }
}
