extension Register {
    /// Orders the registers of a checkpoint: by entity, then attribute, then the name of an extended
    /// attribute.
    ///
    /// Items and entries are in one sequence, ordered by their identifiers.
    package func precedes(_ other: Register) -> Bool {
        let (one, two) = (entity, other.entity)
        if one != two { return one < two }
        if attribute != other.attribute { return attribute < other.attribute }
        return name.lexicographicallyPrecedes(other.name)
    }

    /// The identifier of the item or entry, its higher half first.
    package var entity: (high: UInt64, low: UInt64) {
        switch self {
        case .kind(let item), .mode(let item), .modified(let item), .content(let item): (item.high, item.low)
        case .extendedAttribute(let item, _): (item.high, item.low)
        case .place(let entry): (entry.high, entry.low)
        }
    }

    private var attribute: UInt8 {
        switch self {
        case .kind: 1
        case .mode: 2
        case .modified: 3
        case .extendedAttribute: 4
        case .content: 5
        case .place: 6
        }
    }

    private var name: [UInt8] {
        if case .extendedAttribute(_, let name) = self { name } else { [] }
    }
}
