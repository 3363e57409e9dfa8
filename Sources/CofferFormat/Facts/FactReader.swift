internal import CofferSystem

/// Reads facts one after another; allocates nothing in proportion to a count that is only claimed.
struct FactReader {
    private var cursor = ByteCursor()
    private var logs: [LogID] = []
    private var usedLogs: Set<UInt16> = []
    private var lastItem: ItemID?

    init(_ body: RawSpan) throws(FormatError) {
        guard body.byteCount <= FactRecord.byteCountMax else { throw .invalid(field: "length") }
        let version = try cursor.number(UInt8.self, from: body)
        guard version <= FactRecord.version else {
            throw .newerVersion(found: UInt32(version), supported: UInt32(FactRecord.version))
        }
        guard version == FactRecord.version else { throw .invalid(field: "version") }
        for _ in 0..<(try cursor.number(UInt16.self, from: body)) {
            let log = try cursor.identifier(LogID.self, from: body)
            if let last = logs.last, last >= log { throw .invalid(field: "order of logs") }
            logs.append(log)
        }
    }

    mutating func facts(_ body: RawSpan) throws(FormatError) -> [Fact] {
        var facts: [Fact] = []
        var registers: Set<Register> = []
        for _ in 0..<(try cursor.number(UInt32.self, from: body)) {
            let fact = try fact(body)
            guard registers.insert(fact.register).inserted else { throw .duplicate(field: "fact") }
            facts.append(fact)
        }
        try cursor.expectEnd(of: body)
        guard usedLogs.count == logs.count else { throw .invalid(field: "logs") }
        return facts
    }

    private mutating func fact(_ body: RawSpan) throws(FormatError) -> Fact {
        let raw = try cursor.number(UInt8.self, from: body)
        guard let attribute = FactRecord.Attribute(rawValue: raw) else {
            throw .unknown(field: "attribute", found: UInt32(raw))
        }
        let flags = try cursor.number(UInt8.self, from: body)
        guard flags & ~Self.possibleFlags(attribute) == 0 else {
            throw .unknown(field: "flags", found: UInt32(flags))
        }
        let entry = attribute == .place ? try cursor.identifier(EntryID.self, from: body) : nil
        let item = try item(isSame: flags & FactRecord.Flag.sameItem != 0, body)
        let replaces = flags & FactRecord.Flag.replaces != 0 ? try dots(body) : []
        guard replaces.isEmpty == (flags & FactRecord.Flag.replaces == 0) else {
            throw .invalid(field: "replaced values")
        }
        let hasValue = flags & FactRecord.Flag.value != 0
        let hasMore = flags & FactRecord.Flag.more != 0
        let assertion: Fact.Assertion
        switch attribute {
        case .place:
            guard let entry else { throw .invalid(field: "entry") }
            assertion = .place(entry, try placement(of: item, hasValue, hasMore, body))
        case .content: assertion = .content(item, try content(hasValue, hasMore, body))
        case .moved:
            guard hasValue else { throw .invalid(field: "flags") }
            assertion = .moved(item, of: try dot(body), bytes: try contentValue(body))
        case .extendedAttribute: assertion = try extendedAttribute(of: item, hasValue, body)
        case .kind, .mode, .modified:
            guard hasValue else { throw .invalid(field: "flags") }
            assertion = try scalar(attribute, of: item, body)
        }
        return Fact(assertion, replaces: replaces)
    }

    private static func possibleFlags(_ attribute: FactRecord.Attribute) -> UInt8 {
        let all = FactRecord.Flag.sameItem | FactRecord.Flag.replaces | FactRecord.Flag.value
        switch attribute {
        case .content, .place: return all | FactRecord.Flag.more
        case .moved: return FactRecord.Flag.sameItem | FactRecord.Flag.value
        case .kind, .mode, .modified, .extendedAttribute: return all
        }
    }

    private mutating func item(isSame: Bool, _ body: RawSpan) throws(FormatError) -> ItemID {
        if isSame {
            guard let lastItem else { throw .invalid(field: "item") }
            return lastItem
        }
        let item = try cursor.identifier(ItemID.self, from: body)
        guard item != lastItem else { throw .invalid(field: "item") }
        lastItem = item
        return item
    }

    private mutating func dots(_ body: RawSpan) throws(FormatError) -> [Dot] {
        var dots: [Dot] = []
        for _ in 0..<(try cursor.number(UInt16.self, from: body)) {
            let dot = try dot(body)
            if let last = dots.last, last >= dot { throw .invalid(field: "order of dots") }
            dots.append(dot)
        }
        return dots
    }

    private mutating func dot(_ body: RawSpan) throws(FormatError) -> Dot {
        let log = try cursor.number(UInt16.self, from: body)
        guard Int(log) < logs.count else { throw .invalid(field: "log") }
        usedLogs.insert(log)
        let dot = Dot(log: logs[Int(log)], sequence: try cursor.number(UInt64.self, from: body))
        guard dot.sequence > 0 else { throw .invalid(field: "sequence") }
        return dot
    }

    // MARK: Values

    private mutating func scalar(
        _ attribute: FactRecord.Attribute, of item: ItemID, _ body: RawSpan
    ) throws(FormatError) -> Fact.Assertion {
        if attribute == .kind { return .kind(item, try kind(body)) }
        if attribute == .modified { return .modified(item, try cursor.number(Int64.self, from: body)) }
        let mode = try cursor.number(UInt16.self, from: body)
        guard mode <= 0o7777 else { throw .invalid(field: "mode") }
        return .mode(item, mode)
    }

    private mutating func kind(_ body: RawSpan) throws(FormatError) -> Fact.Kind {
        let raw = try cursor.number(UInt8.self, from: body)
        switch raw {
        case 1: return .file
        case 2: return .directory
        case 3:
            let target = try cursor.bytes(Int(try cursor.number(UInt16.self, from: body)), from: body)
            guard (1...4095).contains(target.count), !target.contains(0) else {
                throw .invalid(field: "target of a symbolic link")
            }
            return .symlink(target: target)
        case 4: return .fifo
        case 5: return .socket
        case 6: return .characterDevice(try cursor.number(UInt64.self, from: body))
        case 7: return .blockDevice(try cursor.number(UInt64.self, from: body))
        default: throw .unknown(field: "kind", found: UInt32(raw))
        }
    }

    private mutating func extendedAttribute(
        of item: ItemID, _ hasValue: Bool, _ body: RawSpan
    ) throws(FormatError) -> Fact.Assertion {
        let name = try cursor.bytes(Int(try cursor.number(UInt8.self, from: body)), from: body)
        guard !name.isEmpty, !name.contains(0) else { throw .invalid(field: "name of an extended attribute") }
        guard hasValue else { return .extendedAttribute(item, name: name, value: nil) }
        let count = try cursor.number(UInt32.self, from: body)
        guard count <= 65_536 else { throw .invalid(field: "value of an extended attribute") }
        return .extendedAttribute(item, name: name, value: try cursor.bytes(Int(count), from: body))
    }

    private mutating func content(
        _ hasValue: Bool, _ hasOrigin: Bool, _ body: RawSpan
    ) throws(FormatError) -> Fact.Content? {
        guard hasValue else {
            guard !hasOrigin else { throw .invalid(field: "flags") }
            return nil
        }
        let size = try cursor.number(UInt64.self, from: body)
        guard size <= Fact.Content.sizeMax else { throw .invalid(field: "size") }
        let origin = hasOrigin ? try cursor.identifier(ItemID.self, from: body) : nil
        return Fact.Content(bytes: try contentValue(body), size: size, origin: origin)
    }

    private mutating func contentValue(_ body: RawSpan) throws(FormatError) -> [UInt8] {
        try cursor.bytes(Int(try cursor.number(UInt16.self, from: body)), from: body)
    }

    private mutating func placement(
        of item: ItemID, _ hasPlace: Bool, _ hasPrevious: Bool, _ body: RawSpan
    ) throws(FormatError) -> Fact.Placement {
        guard hasPlace || hasPrevious else { throw .invalid(field: "previous place") }
        let place = hasPlace ? try place(body) : nil
        let previous = hasPrevious ? try self.place(body) : nil
        let seen = hasPlace ? [] : try dots(body)
        return Fact.Placement(item: item, place: place, previous: previous, seenContents: seen)
    }

    private mutating func place(_ body: RawSpan) throws(FormatError) -> Place {
        let parent = try cursor.identifier(ItemID.self, from: body)
        let bytes = try cursor.bytes(Int(try cursor.number(UInt8.self, from: body)), from: body)
        guard let name = EntryName(bytes) else { throw .invalid(field: "name") }
        return Place(parent: parent, name: name)
    }
}
