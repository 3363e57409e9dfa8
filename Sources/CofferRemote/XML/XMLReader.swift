internal import CExpat

/// Reads XML documents of servers (expat): bounded in depth and number of elements, without DTDs.
///
/// A document type declaration ends the reading, so there are no entities but the five of XML itself, and
/// nothing is fetched.
@safe
final class XMLReader {
    /// The deepest and the largest document; a listing of 1000 objects has some 10,000 elements.
    static let depthMax = 32, elementCountMax = 100_000

    private var open: [XMLElement] = []
    private var root: XMLElement?
    private var elementCount = 0
    private var isRefused = false
    private let takeChild: ((XMLElement) -> Void)?
    private let parser: XML_Parser

    /// Makes a reader; nil if there is no memory.
    private init?(_ takeChild: ((XMLElement) -> Void)?) {
        self.takeChild = takeChild
        guard let parser = unsafe XML_ParserCreateNS("UTF-8", CChar(UInt8(ascii: "|"))) else { return nil }
        unsafe self.parser = unsafe parser
    }

    deinit { unsafe XML_ParserFree(parser) }

    /// The root of a document; nil if it is not well-formed, or exceeds the limits.
    ///
    /// - Parameter takeChild: Gets each child of the root as soon as it is read; the root keeps none then, and
    ///   the number of elements is limited for each child.
    static func read(_ bytes: [UInt8], takeChild: ((XMLElement) -> Void)? = nil) -> XMLElement? {
        guard let reader = XMLReader(takeChild) else { return nil }
        return withExtendedLifetime(reader) { reader.parse(bytes) }
    }

    private func parse(_ bytes: [UInt8]) -> XMLElement? {
        // SAFETY: the parser calls back only within XML_Parse, and this object lives as long.
        unsafe XML_SetUserData(parser, Unmanaged.passUnretained(self).toOpaque())
        unsafe XML_SetElementHandler(
            parser, { user, name, _ in unsafe XMLReader.from(user)?.begin(name) },
            { user, _ in unsafe XMLReader.from(user)?.end() })
        unsafe XML_SetCharacterDataHandler(parser) { user, text, count in
            unsafe XMLReader.from(user)?.add(UnsafeBufferPointer(start: text, count: Int(count)))
        }
        unsafe XML_SetStartDoctypeDeclHandler(parser) { user, _, _, _, _ in
            unsafe XMLReader.from(user)?.refuse()
        }
        let status = unsafe bytes.withUnsafeBytes { raw in
            unsafe XML_Parse(parser, raw.bindMemory(to: CChar.self).baseAddress, Int32(raw.count), 1)
        }
        return status == XML_STATUS_OK && !isRefused ? root : nil
    }

    private func refuse() {
        isRefused = true
        unsafe XML_StopParser(parser, XML_Bool(XML_FALSE))
    }

    private func begin(_ name: UnsafePointer<CChar>?) {
        elementCount += 1
        guard open.count < Self.depthMax, elementCount <= Self.elementCountMax, let name = unsafe name else {
            return refuse()
        }
        let element = unsafe XMLElement(String(cString: name))
        if takeChild == nil || open.count > 1 { open.last?.append(element) }
        if open.isEmpty { root = element }
        open.append(element)
    }

    private func end() {
        // Elements that were refused have no entry, but nothing is read after them either.
        guard !isRefused, let element = open.popLast(), open.count == 1, let takeChild else { return }
        elementCount = 0
        takeChild(element)
    }

    private func add(_ text: UnsafeBufferPointer<CChar>) {
        guard !isRefused else { return }
        unsafe open.last?.append(text: text.map { UInt8(bitPattern: $0) })
    }

    private static func from(_ user: UnsafeMutableRawPointer?) -> XMLReader? {
        guard let user = unsafe user else { return nil }
        return unsafe Unmanaged<XMLReader>.fromOpaque(user).takeUnretainedValue()
    }
}
