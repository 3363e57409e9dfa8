internal import FoundationEssentials

/// Encodes and decodes messages as lines of JSON.
enum ControlCoding {
    static func encode(_ message: some Encodable) throws(ClientError) -> [UInt8] {
        do {
            return [UInt8](try JSONEncoder().encode(message)) + [UInt8(ascii: "\n")]
        } catch {
            throw .control(.notEncodable("\(error)"))
        }
    }

    static func decode<Message: Decodable>(_ type: Message.Type, _ line: [UInt8]) throws(ClientError)
        -> Message
    {
        do {
            return try JSONDecoder().decode(type, from: Data(line))
        } catch {
            throw .control(.malformed)
        }
    }
}
