internal import FoundationEssentials

/// Messages as lines of JSON.
enum ControlCoding {
    static func encode(_ message: some Encodable) throws(ProfileError) -> [UInt8] {
        do {
            return [UInt8](try JSONEncoder().encode(message)) + [UInt8(ascii: "\n")]
        } catch {
            throw .control("A message could not be written: \(error)")
        }
    }

    static func decode<Message: Decodable>(_ type: Message.Type, _ line: [UInt8]) throws(ProfileError)
        -> Message
    {
        do {
            return try JSONDecoder().decode(type, from: Data(line))
        } catch {
            throw .control("The answer of the mount makes no sense; is it another version of coffer?")
        }
    }
}
