import CofferSystem
import Testing

/// How people write times in the past.
@Suite struct PastTimeTests {
    private static let billion: Int64 = 1_000_000_000
    /// 2026-11-28 14:46:11 UTC.
    private static let now: Int64 = 1_795_877_171

    /// Ahead of UTC by two hours from 2026-03-29 to 2026-10-25, 01:00 UTC each, and by one hour otherwise.
    private static func offset(_ seconds: Int64) -> Int64 {
        seconds < 1_774_746_000 ? 3600 : seconds < 1_792_890_000 ? 7200 : 3600
    }

    private func seconds(_ text: String) -> Int64? {
        PastTime(text, now: Self.now, local: Self.offset)?.seconds
    }

    @Test(arguments: [
        ("2026-11-20T14:05:06", 1_795_179_906), ("2026-11-20 14:05:06", 1_795_179_906),
        ("2026-11-20T14:05:06Z", 1_795_183_506), ("2026-11-20T14:05", 1_795_179_959),
        ("2026-11-20", 1_795_215_599), ("2026-11-20Z", 1_795_219_199), ("14:05", 1_795_871_159),
        ("14:05:07Z", 1_795_874_707), ("30m", 1_795_875_371), ("2h", 1_795_869_971), ("3d", 1_795_617_971),
        ("1w", 1_795_272_371), ("0s", 1_795_877_171), ("1969-12-31T23:59:58Z", -2),
        ("2024-02-29T00:00:00Z", 1_709_164_800),
    ])
    func forms(text: String, seconds: Int64) {
        #expect(self.seconds(text) == seconds)
        #expect(PastTime(text, now: Self.now, local: Self.offset)?.end == (seconds + 1) * Self.billion - 1)
    }

    @Test(arguments: [
        ("2026-11-20T14:05:06", 1_795_179_906), ("2026-11-20T14:05", 1_795_179_900),
        ("2026-11-20", 1_795_129_200), ("2026-11-20Z", 1_795_132_800), ("14:05", 1_795_871_100),
        ("14:05:07Z", 1_795_874_707), ("2h", 1_795_869_971),
    ])
    func begins(text: String, seconds: Int64) {
        #expect(PastTime(text, now: Self.now, local: Self.offset)?.begin == seconds)
    }

    @Test(arguments: [
        "", "Z", "soon", "2026-13-01", "2026-02-29", "2026-11-31", "25:00", "14:60", "2026-11-20T14:0",
        "2026-11-20T14", "2026-11-2", "26-11-20", "5x", "h", "-1h", "2026-11-20T14:05:06.", "+026-11-20",
        "2026-11-20T14:05:06.1234567890", "2026-11-20T14:05:06.-1", "2026-11-20T14:05:06+01:00",
        "99999999999999999999h",
        "9223372036854775807w", "2026-11-20T", "T14:05", ".", "..", "２０２６-11-20",
    ])
    func otherText(text: String) {
        #expect(PastTime(text, now: Self.now, local: Self.offset) == nil)
    }

    @Test func fractions() {
        let time = PastTime("2026-11-20T14:05:06.25Z", now: Self.now)
        #expect(time?.end == 1_795_183_506_250_000_000)
        #expect(time?.isExact == true)
        #expect(PastTime("2026-11-20T14:05:06Z", now: Self.now)?.isExact == false)
        #expect(PastTime("1969-12-31T23:59:59.5Z", now: Self.now)?.end == -500_000_000)
    }

    /// The hour that the clocks repeat means its later occurrence; the one that they leave out does not exist.
    @Test func clocksThatAreChanged() {
        #expect(seconds("2026-10-25T02:30:00") == 1_792_891_800)
        #expect(seconds("2026-10-25T01:59:59") == 1_792_886_399)
        #expect(seconds("2026-10-25T03:00:00") == 1_792_893_600)
        #expect(seconds("2026-03-29T02:30:00") == nil)
        #expect(seconds("2026-03-29T03:00:00") == 1_774_746_000)
    }

    /// One of the forms always leads back to the nanosecond, and the first one to the second unless clocks repeat it.
    @Test(
        arguments: [
            1_795_179_906_123_456_789, 1_795_179_906_000_000_000, 0, -1, -1_500_000_000,
            1_792_888_200_000_000_001,
            1_792_891_800_000_000_001,
        ] as [Int64])
    func writtenAndRead(time: Int64) {
        let forms = PastTime.forms(of: time, local: Self.offset)
        #expect(forms.count == 4)
        let read = forms.map { PastTime($0, now: Self.now, local: Self.offset)?.end }
        #expect(read[3] == time)
        #expect(read[1].map { $0 - $0 % Self.billion } == read[3].map { $0 - $0 % Self.billion } || time < 0)
        // 02:30 of summer comes again in winter.
        #expect((read[2] == time) == (time != 1_792_888_200_000_000_001))
    }

    @Test func localTimeIsThatOfTheMachine() {
        let now = Clock.realTime
        let forms = PastTime.forms(of: now)
        #expect(PastTime(forms[3], now: 0)?.end == now)
        #expect(CivilTime(0, offset: CivilTime.universal) == CivilTime(year: 1970, month: 1, day: 1))
    }
}
