import Testing

@testable import CofferSystem

@Suite struct PercentEncodingTests {
    @Test func everyByteComesBack() {
        let bytes = (0...UInt8.max).map { $0 }
        let encoded = PercentEncoding.encode(bytes)
        #expect(encoded.allSatisfy { PercentEncoding.isUnreserved($0) || $0 == UInt8(ascii: "%") })
        #expect(PercentEncoding.decode(encoded) == bytes)
        #expect(PercentEncoding.encode("a/ü b~") == "a%2F%C3%BC%20b~")
        #expect(PercentEncoding.encode("a/ü b~", keepsSlashes: true) == "a/%C3%BC%20b~")
    }

    @Test(arguments: ["%", "%4", "a%", "%zz", "%+a", "% 1"])
    func aFalseEscapeIsNone(text: String) {
        #expect(PercentEncoding.decode(text) == nil)
        #expect(PercentEncoding.decode(Array(text.utf8)) == nil)
    }

    @Test func aTextIsUTF8() {
        #expect(PercentEncoding.decode("%FF") == nil)
        #expect(PercentEncoding.decode(Array("%FF".utf8)) == [0xFF])
        #expect(PercentEncoding.decode("a+%2b", plusIsSpace: true) == "a +")
    }
}
