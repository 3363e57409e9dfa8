internal import CofferCrypto
internal import CofferFormat

/// The channel of a pairing: the handshake hash that signatures are bound to, and messages in both directions.
package struct PairingChannel: ~Copyable {
    /// Both sides must have the same prologue; it names the version of the protocol.
    static let prologue = Array("coffer/1/pairing\0".utf8)
    /// The most bytes of a transfer: 64 MiB.
    package static let transferByteCountMax = 64 << 20
    /// The most bytes of a transfer in one message.
    private static let pieceByteCountMax = NoiseChannel.contentByteCountMax - 1

    private var noise: NoiseChannel
    /// Identifies the handshake.
    let hash: [UInt8]

    init(_ noise: consuming NoiseChannel) {
        hash = noise.hash
        self.noise = noise
    }

    /// Seals the next message.
    mutating func seal(_ message: PairingMessage) -> [UInt8] {
        let bytes = message.bytes
        return unsafe noise.seal(bytes.span.bytes)
    }

    /// Opens the next message.
    ///
    /// - Throws: `.refused` if the other side ends the pairing; `.altered`, `.format`.
    mutating func open(_ message: [UInt8]) throws(PairingError) -> PairingMessage {
        let content: SecretBytes
        do throws(CryptoError) { content = try noise.open(message) } catch { throw .altered(error) }
        let opened: PairingMessage
        do throws(FormatError) {
            opened = try content.withBytes { bytes throws(FormatError) in try PairingMessage(bytes) }
        } catch {
            throw .format(error)
        }
        if case .refusal(let reason) = opened { throw .refused(reason) }
        return opened
    }

    /// The message that ends the pairing.
    package mutating func refusing(_ reason: PairingRefusal) -> [UInt8] { seal(.refusal(reason)) }

    // MARK: Transfers

    /// Seals the pieces of a transfer, in order.
    mutating func pieces(of transfer: borrowing SecretBytes) -> [[UInt8]] {
        var sealed: [[UInt8]] = []
        var start = 0
        while start < transfer.count {
            let end = min(start + Self.pieceByteCountMax, transfer.count)
            var piece: [UInt8] = []
            piece.reserveCapacity(end - start + 1)
            piece.append(PairingMessage.pieceKind)
            transfer.withBytes { bytes in
                // SAFETY: the bytes are copied during the call.
                unsafe bytes.extracting(start..<end).withUnsafeBytes { unsafe piece.append(contentsOf: $0) }
            }
            unsafe sealed.append(noise.seal(piece.span.bytes))
            SecretBytes.wipe(&piece)
            start = end
        }
        return sealed
    }

    /// Opens a piece of a transfer, and appends it to what has arrived.
    ///
    /// - Parameter arrived: Has the capacity for the whole transfer, so that no freed buffer holds secrets.
    mutating func open(
        piece message: [UInt8], into arrived: inout [UInt8], byteCount: Int
    ) throws(PairingError) {
        let content: SecretBytes
        do throws(CryptoError) { content = try noise.open(message) } catch { throw .altered(error) }
        let kind = content.withBytes { bytes in
            var cursor = ByteCursor()
            return try? cursor.number(UInt8.self, from: bytes)
        }
        guard content.count > 1, kind == PairingMessage.pieceKind else { throw .outOfTurn }
        guard content.count - 1 <= byteCount - arrived.count else { throw .tooLarge }
        content.withBytes { bytes in
            // SAFETY: the bytes are copied during the call.
            unsafe bytes.extracting(1..<bytes.byteCount).withUnsafeBytes {
                unsafe arrived.append(contentsOf: $0)
            }
        }
    }

    /// What the sender of a transfer signs: the handshake hash, and a hash of the transfer.
    func signedTransfer(_ transfer: borrowing SecretBytes) -> [UInt8] {
        hash + transfer.withBytes { Blake2b.hash($0, for: .pairingTransfer) }
    }
}
