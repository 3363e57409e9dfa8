import Testing

@testable import CofferBench

/// The evaluation of `coffer bench`.
@Suite struct BenchTests {
    @Test func median() {
        #expect(BenchSamples([5]).median == 5)
        #expect(BenchSamples([9, 1, 4]).median == 4)
        #expect(BenchSamples([4, 1, 2, 100]).median == 3)
    }

    @Test func quantiles() {
        let hundred = BenchSamples((1...100).reversed().map(Double.init))
        #expect(hundred.quantile(0.99) == 99)
        #expect(hundred.quantile(0.5) == 50)
        #expect(hundred.quantile(1) == 100)
        #expect(hundred.quantile(0.001) == 1)
        #expect(BenchSamples([7, 3]).quantile(0.99) == 7)
    }

    @Test func spread() {
        let samples = BenchSamples([20, 10, 15])
        #expect(samples.minimum == 10 && samples.maximum == 20 && samples.spread == 2)
        #expect(BenchSamples([0, 5]).spread == 1)
    }

    @Test func theSlowestPartLimits() {
        #expect(
            sentence(cipher: 3.14, disk: 1.1)
                == "large writes: the disk is the bottleneck (the cipher is 3.1 times as fast).")
        #expect(
            sentence(cipher: 1.3, disk: 12.4)
                == "large writes: the cipher is the bottleneck (the disk is 12 times as fast).")
        #expect(sentence(cipher: 1.3, disk: 1.2) == "large writes: disk and cipher are both bottlenecks.")
        // Faster than the disk alone: rounds differ, and the disk is still the limit.
        #expect(
            sentence(cipher: 4, disk: 0.8)
                == "large writes: the disk is the bottleneck (the cipher is 4.0 times as fast).")
        #expect(sentence(cipher: nil, disk: 1.5) == "large writes: the disk is the bottleneck.")
    }

    @Test func neitherLimits() {
        #expect(
            sentence(cipher: 5.04, disk: 1.6)
                == "large writes: the path through the kernel and Coffer is the bottleneck (the disk is 1.6 times as fast, the cipher 5.0 times)."
        )
        #expect(
            sentence(cipher: 30, disk: nil)
                == "large writes: the path through the kernel and Coffer is the bottleneck (the cipher is 30 times as fast)."
        )
        #expect(
            sentence(cipher: nil, disk: nil)
                == "large writes: uses neither cipher nor disk; the path through the kernel and Coffer is the bottleneck."
        )
    }

    @Test func noiseIsReported() {
        #expect(
            sentence(cipher: 3, disk: 1, spread: 2.5)
                == "large writes: the disk is the bottleneck (the cipher is 3.0 times as fast); uncertain: rounds differ by a factor of up to 2.5."
        )
        #expect(BenchLimit.number(9.94) == "9.9" && BenchLimit.number(9.96) == "10")
        #expect(BenchLimit.number(.infinity) == "very many")
    }

    /// Rates grow with speed, and times shrink; the cipher's rate becomes the time for 4 KiB.
    @Test func ratios() throws {
        var results = BenchResults()
        for rate in [900, 1000, 4000.0] { results.add(.sealLibcrypto, rate) }
        results.add(.diskWrite, 300)
        results.add(.mountWrite, 250)
        results.add(.diskAppend, 100)
        results.add(.mountAppend, 409.6)
        results.add(.mountStat, 3)
        results.add(.mountRead, nil)
        let rows = results.rows
        #expect(
            rows.map(\.measure)
                == [.sealLibcrypto, .diskWrite, .diskAppend, .mountWrite, .mountAppend, .mountStat])
        func row(_ measure: BenchMeasure) throws -> BenchRow {
            try #require(rows.first { $0.measure == measure })
        }
        let seal = try row(.sealLibcrypto)
        #expect(seal.median == 1000 && seal.minimum == 900 && seal.maximum == 4000 && seal.rounds == 3)
        #expect(seal.limit == nil && seal.cipherRatio == nil)
        let write = try row(.mountWrite)
        #expect(write.cipherRatio == 4 && write.diskRatio == 1.2)
        #expect(
            write.limit
                == "large write and flush: the disk is the bottleneck (the cipher is 4.0 times as fast); uncertain: rounds differ by a factor of up to 4.4."
        )
        let append = try row(.mountAppend)
        #expect(abs(try #require(append.cipherRatio) - 100) < 1e-9)
        #expect(abs(try #require(append.diskRatio) - 4.096) < 1e-9)
        let stat = try row(.mountStat)
        #expect(stat.cipherRatio == nil && stat.diskRatio == nil && stat.limit != nil)
    }

    /// Without a yardstick there is no ratio to it, for example if the disk had no time to read.
    @Test func missingYardsticks() throws {
        var results = BenchResults()
        results.add(.mountColdRead, 100)
        #expect(results.rows.map(\.diskRatio) == [nil])
        results.add(.mountAppend, slowest: .mountAppendSlowest, [])
        #expect(results.rows.count == 1)
        results.add(.mountAppend, slowest: .mountAppendSlowest, [Double](repeating: 5, count: 19))
        #expect(results.rows.map(\.measure) == [.mountColdRead, .mountAppend])
        results.add(.mountAppend, slowest: .mountAppendSlowest, [Double](repeating: 5, count: 20))
        #expect(results.rows.map(\.measure) == [.mountColdRead, .mountAppend, .mountAppendSlowest])
    }

    private func sentence(cipher: Double?, disk: Double?, spread: Double = 1) -> String {
        BenchLimit(cipher: cipher, disk: disk, spread: spread).sentence("large writes")
    }
}
