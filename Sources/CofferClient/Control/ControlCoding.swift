internal import FoundationEssentials

/// Encodes and decodes messages as lines of JSON.
enum ControlCoding {
    static func encode(_ message: some Encodable) throws(ProfileError) -> [UInt8] {
        do {
            return [UInt8](try JSONEncoder().encode(message)) + [UInt8(ascii: "\n")]
        } catch {
            throw .control("A message to the mount could not be encoded: \(error)")
        }
    }

    static func decode<Message: Decodable>(_ type: Message.Type, _ line: [UInt8]) throws(ProfileError)
        -> Message
    {
        do {
            return try JSONDecoder().decode(type, from: Data(line))
        } catch {
            throw .control(
                "A message between the mount and this command is malformed. Update coffer, and remount.")
        }
    }
}
