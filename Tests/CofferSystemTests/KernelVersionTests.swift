import CofferSystem
import Testing

@Suite struct KernelVersionTests {
    @Test func versionsAreRead() {
        #expect(KernelVersion("6.18.44-fc-v595\n") == KernelVersion(6, 18))
        #expect(KernelVersion("6.1-rc3") == KernelVersion(6, 1))
        #expect(KernelVersion("10.0") == KernelVersion(10, 0))
        for text in ["", "6", "a.b.c", ".6"] { #expect(KernelVersion(text) == nil, "\(text)") }
        #expect(KernelVersion.running.map { $0 > KernelVersion(4, 0) } == true)
    }

    @Test func versionsAreInOrder() {
        #expect(KernelVersion(6, 9) < KernelVersion(6, 10) && KernelVersion(6, 20) < KernelVersion(7, 0))
        #expect(!(KernelVersion(6, 10) < KernelVersion(6, 10)))
    }
}
