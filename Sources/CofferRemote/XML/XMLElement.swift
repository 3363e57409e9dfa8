/// An element of an XML document.
///
/// Names are without prefixes: "DAV:|href" for an element in a namespace, "Key" for one in none.
final class XMLElement {
    let name: String
    private(set) var children: [XMLElement] = []
    private(set) var bytes: [UInt8] = []

    init(_ name: String) {
        self.name = name
    }

    func append(_ child: XMLElement) { children.append(child) }

    func append(text: some Sequence<UInt8>) { bytes += text }

    /// The name without its namespace.
    var localName: Substring { name.split(separator: "|").last ?? "" }

    /// The text right inside the element, without spaces at its ends.
    var text: String {
        let isSpace = { (byte: UInt8) in byte == 0x20 || (0x09...0x0D).contains(byte) }
        let end = (bytes.lastIndex { !isSpace($0) } ?? -1) + 1
        return String(decoding: bytes[..<end].drop(while: isSpace), as: UTF8.self)
    }

    /// The first child with this local name, whatever its namespace.
    func child(_ name: String) -> XMLElement? { children.first { $0.localName == name } }

    /// All children with this local name.
    func all(_ name: String) -> [XMLElement] { children.filter { $0.localName == name } }
}
