internal import CofferCrypto
internal import CofferFormat

// Records one after the other, each with its kind and its length: the bodies of profiles and backups, and what a
// pairing transfers (docs/format.md, "Profile body").
extension ByteWriter {
    /// Appends a record, and wipes its buffer.
    ///
    /// - Parameter countMax: An upper bound of the record's size, so that its buffer is not reallocated.
    mutating func record(
        _ kind: some RawRepresentable<UInt16>, of countMax: Int = 4096, _ body: (inout ByteWriter) -> Void
    ) {
        var record = ByteWriter(capacity: countMax)
        body(&record)
        var bytes = record.finish()
        number(kind.rawValue)
        number(UInt32(bytes.count))
        append(bytes)
        SecretBytes.wipe(&bytes)
    }
}

extension ByteCursor {
    /// Reads the kind of the next record, and finds its bytes.
    mutating func record(in bytes: RawSpan) throws(FormatError) -> (kind: UInt16, range: Range<Int>) {
        let kind = try number(UInt16.self, from: bytes)
        let length = Int(try number(UInt32.self, from: bytes))
        return (kind, try range(length, of: bytes))
    }
}

/// The record of an identity that the person has verified.
struct VerifiedIdentity {
    let id: IdentityID
    /// The name that it had then; nil if that is not known.
    let name: String?

    init(_ id: IdentityID, name: String?) {
        self.id = id
        self.name = name
    }

    init(_ record: RawSpan) throws(FormatError) {
        var cursor = ByteCursor()
        id = try cursor.bytes32(IdentityID.self, from: record)
        name = cursor.offset < record.byteCount ? try cursor.text("name", from: record) : nil
        try cursor.expectEnd(of: record)
    }

    func write(into writer: inout ByteWriter) {
        writer.append(id.bytes)
        if let name { writer.text(name) }
    }
}
