package import CofferFormat

// The values of registers as an index keeps them.

extension RegisterRecord.Part {
    /// The values of some registers, put together by stamp.
    package static func parts(_ registers: [[RegisterValue]]) -> [Self] {
        var parts: [Self] = []
        for values in registers {
            for value in values {
                // Mostly there is one stamp, or few.
                let index = parts.lastIndex { $0.stamp <= value.stamp }
                if let index, parts[index].stamp == value.stamp {
                    parts[index].assertions.append(value.assertion)
                } else {
                    parts.insert(
                        Self(stamp: value.stamp, assertions: [value.assertion]), at: index.map { $0 + 1 } ?? 0
                    )
                }
            }
        }
        return parts
    }
}

extension RegisterValue {
    /// The values that parts hold, by ascending stamp.
    package static func values(of parts: [RegisterRecord.Part]) -> [RegisterValue] {
        parts.flatMap { part in
            part.assertions.map { RegisterValue(stamp: part.stamp, assertion: $0) }
        }
    }
}
