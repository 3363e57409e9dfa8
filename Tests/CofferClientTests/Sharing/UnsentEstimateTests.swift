import Testing

@testable import CofferClient

@Suite struct UnsentEstimateTests {
    @Test func whatIsLeftFallsWithinOneFile() {
        let estimate = UnsentEstimate()
        #expect(estimate.left(of: 1000, sent: 50) == 1000)
        #expect(estimate.left(of: 1000, sent: 450) == 600)
        #expect(estimate.left(of: 1000, sent: 1049) == 1)
        // Metadata was sent, too.
        #expect(estimate.left(of: 1000, sent: 1100) == 0)
    }

    @Test func aCountThatChangesCountsAsItIs() {
        let estimate = UnsentEstimate()
        #expect(estimate.left(of: 1000, sent: 0) == 1000)
        #expect(estimate.left(of: 1000, sent: 400) == 600)
        // One file has arrived.
        #expect(estimate.left(of: 580, sent: 420) == 580)
        #expect(estimate.left(of: 580, sent: 500) == 500)
        // Another was written.
        #expect(estimate.left(of: 5000, sent: 500) == 5000)
        #expect(estimate.left(of: 0, sent: 6000) == 0)
        // The same number again is another file.
        #expect(estimate.left(of: 5000, sent: 6000) == 5000)
        #expect(estimate.left(of: 5000, sent: 6001) == 4999)
    }
}
