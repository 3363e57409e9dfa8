@testable import CofferRemote
import Testing

/// Documents of servers, honest and hostile.
@Suite struct XMLReaderTests {
    private func read(_ text: String) -> XMLElement? { XMLReader.read(Array(text.utf8)) }

    @Test func elementsAndTexts() throws {
        let root = try #require(
            read(
                """
                <?xml version="1.0" encoding="UTF-8"?>
                <!-- a listing -->
                <List xmlns="http://example.com/" xmlns:d="DAV:"><Key>a&amp;b &#x1F600;</Key>
                <d:Key> <![CDATA[<x>]]> </d:Key></List>
                """))
        #expect(root.name == "http://example.com/|List" && root.localName == "List")
        #expect(root.all("Key").map(\.text) == ["a&b 😀", "<x>"])
        #expect(root.children.last?.name == "DAV:|Key")
        #expect(root.child("Size") == nil && root.text.isEmpty)
    }

    @Test(arguments: ["", "x", "<a>", "<a></b>", "<a/><b/>", "<a>&b;</a>", "<a:b/>", "<a>\u{1}</a>", "{}"])
    func malformedDocuments(_ text: String) {
        #expect(read(text) == nil)
    }

    /// Neither entities that multiply nor files of this machine are expanded.
    @Test func declarationsAreRefused() {
        #expect(read("<!DOCTYPE a><a/>") == nil)
        #expect(read("<!DOCTYPE a [<!ENTITY b 'c'>]><a>&b;</a>") == nil)
        #expect(read("<!DOCTYPE a [<!ENTITY b SYSTEM 'file:///etc/passwd'>]><a>&b;</a>") == nil)
        let laughs = (1..<10).map { "<!ENTITY l\($0) '\(String(repeating: "&l\($0 - 1);", count: 10))'>" }
        #expect(read("<!DOCTYPE a [<!ENTITY l0 'ha'>\(laughs.joined())]><a>&l9;</a>") == nil)
    }

    @Test func depthAndNumberAreBounded() {
        let deep = { (depth: Int) in
            String(repeating: "<a>", count: depth) + String(repeating: "</a>", count: depth)
        }
        #expect(read(deep(XMLReader.depthMax)) != nil)
        #expect(read(deep(XMLReader.depthMax + 1)) == nil)
        #expect(read(deep(1_000_000)) == nil)
        let wide = { (count: Int) in "<a>" + String(repeating: "<b/>", count: count) + "</a>" }
        #expect(read(wide(XMLReader.elementCountMax - 1))?.children.count == XMLReader.elementCountMax - 1)
        #expect(read(wide(XMLReader.elementCountMax)) == nil)
    }
}
