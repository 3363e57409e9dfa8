package import CofferFacts
package import CofferFormat
internal import CofferStore

// The values of registers; those of extended attributes are read and written at once, as they may be large.
extension IndexFactStore {
    /// The values of a register, by ascending stamp.
    package func values(_ register: Register) throws(FileSystemError) -> [RegisterValue] {
        switch register {
        case .kind(let id): try cached(id).row.kind
        case .mode(let id): try cached(id).row.mode
        case .modified(let id): try cached(id).row.modified
        case .content(let id): try cached(id).row.content
        case .place(let id): try cached(id).row.places
        case .extendedAttribute(let id, let name):
            try cached(id).row.attributes == 0 ? [] : attributeValues(name, of: id).values
        }
    }

    /// Replaces the values of a register; an empty list removes it.
    package func setValues(_ values: [RegisterValue], of register: Register) throws(FileSystemError) {
        try bound()
        switch register {
        case .kind(let id): try change(id) { $0.row.kind = values }
        case .mode(let id): try change(id) { $0.row.mode = values }
        case .modified(let id): try change(id) { $0.row.modified = values }
        case .content(let id):
            try change(id) { $0.row.content = values }
            for case .content(_, let content?) in values.map(\.assertion) { byteCount += content.bytes.count }
            for case .moved(_, _, let bytes) in values.map(\.assertion) { byteCount += bytes.count }
        case .place(let id):
            let entry = try cached(id)
            entry.row.places = values
            touch(entry, id)
        case .extendedAttribute(let id, let name): try setAttribute(name, of: id, to: values)
        }
    }

    private func change(_ id: ItemID, _ change: (CachedFactItem) -> Void) throws(FileSystemError) {
        let item = try cached(id)
        change(item)
        touch(item, id)
    }

    /// The names of an item's extended attributes, including removed ones, ascending.
    package func extendedAttributes(of id: ItemID) throws(FileSystemError) -> [[UInt8]] {
        let item = try cached(id)
        if item.row.attributes == 0 { return [] }
        if let names = item.attributeNames { return names }
        let names = try read(index.attributeNames(of: id))
        item.attributeNames = names
        byteCount += names.reduce(0) { $0 + $1.count }
        return names
    }

    /// Values, and the record that contains them.
    private func attributeValues(
        _ name: [UInt8], of id: ItemID
    ) throws(FileSystemError) -> (values: [RegisterValue], record: [UInt8]?) {
        guard let record = try read(index.attributeFacts(name, of: id)) else { return ([], nil) }
        do throws(FormatError) {
            let parts = try unsafe RegisterRecord.parts(record.span.bytes)
            let register = Register.extendedAttribute(id, name: name)
            let values = RegisterValue.values(of: parts)
            guard values.allSatisfy({ $0.assertion.register == register }) else {
                throw .invalid(field: "attribute")
            }
            return (values, record)
        } catch {
            throw .damaged(place: "the facts of an extended attribute of item \(id) in the index")
        }
    }

    private func setAttribute(
        _ name: [UInt8], of id: ItemID, to values: [RegisterValue]
    ) throws(FileSystemError) {
        let item = try cached(id)
        let before = item.row.attributes == 0 ? nil : try attributeValues(name, of: id).record
        if values.isEmpty {
            guard let before else { return }
            try write(index.removeAttributeFacts(name, of: id, facts: before))
            item.row.attributes -= 1
        } else {
            let record = RegisterRecord.bytes(RegisterRecord.Part.parts([values]))
            try write(index.setAttributeFacts(name, of: id, to: record, replacing: before))
            if before != nil { return }
            item.row.attributes += 1
        }
        item.attributeNames = nil
        touch(item, id)
    }
}
