internal import CofferFormat

// The values that a row can have at all. Rows are sealed, so other values come from a mistake, or from an
// attacker who has the keys. They count as damage before any computation uses them.

/// The end of the numbers of items, which a mount stores in the lower 48 bits of its own.
private let itemNumberEnd = Int64(1) << 48
/// The largest size of a file, in bytes.
private let fileByteCountMax = Int64(1) << 62
/// More bytes than any pack or row has.
private let packByteCountMax = Int64(1) << 48

extension ItemRow {
    var isPossible: Bool {
        (1..<itemNumberEnd).contains(number) && (0..<itemNumberEnd).contains(parent)
            && (0...fileByteCountMax).contains(size) && (0...fileByteCountMax).contains(allocated)
    }
}

extension EntryRow {
    var isPossible: Bool {
        // A version of a directory may say that a name was absent.
        (1..<itemNumberEnd).contains(parent) && (type == 0 ? item == 0 : (1..<itemNumberEnd).contains(item))
            && (0..<fileByteCountMax).contains(cookie)
    }
}

extension ExtentRow {
    var isPossible: Bool {
        guard (0...fileByteCountMax).contains(offset), (1...Int64(ExtentLayout.byteCountMax)).contains(total),
            (1...total).contains(length), (0...offset).contains(base), end - base <= total
        else { return false }
        switch place {
        case .pack(_, let position): return (0..<packByteCountMax).contains(position) && remote >= 0
        case .row: return remote >= 0
        case .remote: return remote > 0
        }
    }
}

extension RemoteExtentRow {
    var isPossible: Bool {
        place.isPossible(for: 1) && (0..<fileByteCountMax).contains(live)
    }
}

extension RemotePageRow {
    var isPossible: Bool {
        node.level <= ContentNode.levelMax && node.index < UInt64(fileByteCountMax)
            && reference.place.isPossible(for: Int(reference.length))
    }
}

extension PackRow {
    var isPossible: Bool {
        (0..<packByteCountMax).contains(written) && (-packByteCountMax..<packByteCountMax).contains(live)
    }
}

extension Index.Counters {
    var arePossible: Bool {
        (1..<itemNumberEnd).contains(item) && (0..<fileByteCountMax).contains(cookie)
            && (0..<fileByteCountMax).contains(pack) && (0..<fileByteCountMax).contains(commits)
    }
}
