internal import CSodium
internal import CofferSystem

/// Base64 (RFC 4648), strict and in constant time, from libsodium.
package enum Base64 {
    /// Which 64 characters are used, and whether the end is padded.
    package enum Alphabet: Sendable {
        /// With `+`, `/`, and padding with `=`.
        case standard
        /// With `-` and `_`, without padding.
        case url

        fileprivate var variant: Int32 {
            switch self {
            case .standard: sodium_base64_VARIANT_ORIGINAL
            case .url: sodium_base64_VARIANT_URLSAFE_NO_PADDING
            }
        }
    }

    /// Encodes bytes as text.
    package static func text(_ bytes: [UInt8], _ alphabet: Alphabet) -> String {
        let capacity = sodium_base64_encoded_len(bytes.count, alphabet.variant)
        var text = [CChar](repeating: 0, count: capacity)
        // SAFETY: the text has the room that libsodium asks for, including the zero at its end.
        _ = unsafe sodium_bin2base64(&text, capacity, bytes, bytes.count, alphabet.variant)
        return String(decoding: text.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }

    /// Decodes a text; nil unless it is the only valid text of its bytes.
    package static func bytes(_ text: String, _ alphabet: Alphabet) -> [UInt8]? {
        let characters = text.utf8.map { CChar(bitPattern: $0) }
        var bytes = [UInt8](repeating: 0, count: characters.count / 4 * 3 + 3)
        var count = 0
        // SAFETY: four characters become three bytes, so there is room; the lengths are those of the arrays.
        let result = unsafe sodium_base642bin(
            &bytes, bytes.count, characters, characters.count, nil, &count, nil, alphabet.variant)
        guard result == 0 else { return nil }
        bytes.removeLast(bytes.count - count)
        return bytes
    }
}
