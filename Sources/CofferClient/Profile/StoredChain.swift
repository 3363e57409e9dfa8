internal import CofferFormat
internal import CofferTrust

// Chains in the profile and in the transfer of a pairing: the number of links, then each with its length before it.
extension TrustChain where State.Context == Void {
    /// An upper bound of its encoded size.
    var byteCountMax: Int { links.reduce(16) { $0 + $1.bytes.count + 16 } }

    func write(into writer: inout ByteWriter) {
        writer.number(UInt32(links.count))
        for link in links {
            writer.number(UInt32(link.bytes.count))
            writer.append(link.bytes)
        }
    }

    /// Reads and verifies a chain, with at least one link.
    ///
    /// - Throws: `.invalid` with `field` for a chain that is not valid, besides what the cursor throws.
    init(
        _ field: String, _ cursor: inout ByteCursor, from bytes: RawSpan
    ) throws(FormatError) {
        let count = try cursor.number(UInt32.self, from: bytes)
        var chain: Self?
        for _ in 0..<count {
            let link = try cursor.bytes(Int(try cursor.number(UInt32.self, from: bytes)), from: bytes)
            do throws(TrustError) {
                if chain == nil { chain = Self(id: try Self.id(of: link)) }
                try chain?.append(link)
            } catch {
                throw .invalid(field: field)
            }
        }
        guard let chain else { throw .invalid(field: field) }
        self = chain
    }

    private static func id(of link: [UInt8]) throws(TrustError) -> ChainID {
        do throws(FormatError) { return try LinkRecord(link).chain } catch { throw .format(error) }
    }
}
