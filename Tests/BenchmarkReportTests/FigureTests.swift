import BenchmarkReport
import Testing

@Suite struct FigureTests {
    @Test(arguments: [
        (0, "0"), (1_234_567, "1,230,000"), (999.6, "1,000"), (102.4, "102"), (99.96, "100"), (99.94, "99.9"),
        (12.34, "12.3"), (9.996, "10.0"), (1, "1.00"), (0.01234, "0.0123"), (-2.5, "-2.50"),
    ])
    func threeDigits(value: Double, text: String) {
        #expect(Figure.text(value) == text)
    }

    @Test(arguments: [(1.234, "1.23×"), (12.4, "12×"), (0.0123, "0.012×"), (0.5, "0.50×"), (1_234, "1,234×")])
    func ratios(value: Double, text: String) {
        #expect(Figure.ratio(value) == text)
    }

    @Test func decimals() {
        #expect(Figure.fixed(1.005, decimals: 1) == "1.0")
        #expect(Figure.fixed(0.96, decimals: 1) == "1.0")
        #expect(Figure.fixed(12.05, decimals: 2) == "12.05")
    }
}
