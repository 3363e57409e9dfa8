/// Writes facts one after another.
struct FactWriter {
    private var writer = ByteWriter()
    private let logs: [LogID: UInt16]
    private var lastItem: ItemID?

    init(logs: [LogID]) {
        precondition(logs.count <= Int(UInt16.max))
        self.logs = Dictionary(uniqueKeysWithValues: logs.enumerated().map { ($1, UInt16($0)) })
        writer.number(FactRecord.version)
        writer.number(UInt16(logs.count))
        for log in logs { writer.identifier(log) }
    }

    mutating func append(_ facts: [Fact]) {
        writer.number(UInt32(facts.count))
        for fact in facts {
            head(fact)
            value(fact.assertion)
        }
    }

    consuming func finish() -> [UInt8] { writer.finish() }

    private mutating func head(_ fact: Fact) {
        let item = fact.assertion.item
        let (attribute, hasValue, hasMore) = Self.shape(fact.assertion)
        var flags: UInt8 = item == lastItem ? FactRecord.Flag.sameItem : 0
        if !fact.replaces.isEmpty { flags |= FactRecord.Flag.replaces }
        if hasValue { flags |= FactRecord.Flag.value }
        if hasMore { flags |= FactRecord.Flag.more }
        writer.number(attribute.rawValue)
        writer.number(flags)
        if case .place(let entry, _) = fact.assertion { writer.identifier(entry) }
        if item != lastItem { writer.identifier(item) }
        lastItem = item
        if !fact.replaces.isEmpty { dots(fact.replaces) }
    }

    private static func shape(
        _ assertion: Fact.Assertion
    ) -> (attribute: FactRecord.Attribute, hasValue: Bool, hasMore: Bool) {
        switch assertion {
        case .kind: (.kind, true, false)
        case .mode: (.mode, true, false)
        case .modified: (.modified, true, false)
        case .extendedAttribute(_, _, let value): (.extendedAttribute, value != nil, false)
        case .content(_, let content): (.content, content != nil, content?.origin != nil)
        case .moved: (.moved, true, false)
        case .place(_, let placement): (.place, placement.place != nil, placement.previous != nil)
        }
    }

    private mutating func value(_ assertion: Fact.Assertion) {
        switch assertion {
        case .kind(_, let kind): self.kind(kind)
        case .mode(_, let mode): writer.number(mode)
        case .modified(_, let time): writer.number(time)
        case .extendedAttribute(_, let name, let value):
            writer.number(UInt8(name.count))
            writer.append(name)
            guard let value else { return }
            writer.number(UInt32(value.count))
            writer.append(value)
        case .content(_, let content):
            guard let content else { return }
            writer.number(content.size)
            if let origin = content.origin { writer.identifier(origin) }
            writer.number(UInt16(content.bytes.count))
            writer.append(content.bytes)
        case .moved(_, let dot, let bytes):
            self.dot(dot)
            writer.number(UInt16(bytes.count))
            writer.append(bytes)
        case .place(_, let placement):
            if let place = placement.place { self.place(place) }
            if let previous = placement.previous { place(previous) }
            if placement.place == nil { dots(placement.seenContents) }
        }
    }

    private mutating func kind(_ kind: Fact.Kind) {
        switch kind {
        case .file: writer.number(UInt8(1))
        case .directory: writer.number(UInt8(2))
        case .symlink(let target):
            writer.number(UInt8(3))
            writer.number(UInt16(target.count))
            writer.append(target)
        case .fifo: writer.number(UInt8(4))
        case .socket: writer.number(UInt8(5))
        case .characterDevice(let number):
            writer.number(UInt8(6))
            writer.number(number)
        case .blockDevice(let number):
            writer.number(UInt8(7))
            writer.number(number)
        }
    }

    private mutating func place(_ place: Place) {
        writer.identifier(place.parent)
        writer.number(UInt8(place.name.bytes.count))
        writer.append(place.name.bytes)
    }

    private mutating func dot(_ dot: Dot) {
        // The list was made from all dots, so it contains every log.
        writer.number(logs[dot.log] ?? 0)
        writer.number(dot.sequence)
    }

    private mutating func dots(_ dots: [Dot]) {
        writer.number(UInt16(dots.count))
        for dot in dots { self.dot(dot) }
    }
}
