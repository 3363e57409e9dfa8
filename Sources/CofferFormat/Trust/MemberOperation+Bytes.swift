extension MemberOperation: ChainOperation {
    package static var kind: ChainKind { .member }

    package var code: UInt16 {
        switch self {
        case .createVault: 1
        case .addMember: 2
        case .changeRole: 3
        case .removeMember: 4
        case .rotateKey: 5
        case .memberKeysRolled: 6
        case .restoreFromBackup: 7
        case .leave: 8
        case .keepHistory: 9
        }
    }

    package var body: [UInt8] {
        var writer = ByteWriter()
        switch self {
        case .createVault(let creator, let head, let commitment, let wraps):
            writer.bytes32(creator)
            writer.head(head)
            writer.bytes32(commitment)
            writer.bytes32(wraps)
        case .addMember(let identity, let head, let role, let invite, let wraps):
            writer.bytes32(identity)
            writer.head(head)
            writer.number(role.rawValue)
            writer.identifier(invite ?? InviteID(low: 0, high: 0))
            writer.bytes32(wraps)
        case .changeRole(let identity, let role, let bounds):
            writer.bytes32(identity)
            writer.number(role.rawValue)
            bounds.write(into: &writer)
        case .removeMember(let identity, let start, let bounds):
            writer.bytes32(identity)
            start.write(into: &writer)
            bounds.write(into: &writer)
        case .rotateKey(let start): start.write(into: &writer)
        case .memberKeysRolled(let identity, let head, let bounds):
            writer.bytes32(identity)
            writer.head(head)
            bounds.write(into: &writer)
        case .restoreFromBackup(let bounds): bounds.write(into: &writer)
        case .leave(let successor, let bounds):
            writer.number(UInt8(successor == nil ? 0 : 1))
            if let successor { writer.bytes32(successor) }
            bounds.write(into: &writer)
        case .keepHistory(let seconds): writer.number(UInt64(bitPattern: seconds))
        }
        return writer.finish()
    }

    /// Reads the fields of an operation, as `ChainOperation` requires.
    package init(code: UInt16, body: RawSpan) throws(FormatError) {
        var cursor = ByteCursor()
        switch code {
        case 1:
            self = .createVault(
                creator: try cursor.bytes32(IdentityID.self, from: body), head: try cursor.head(from: body),
                commitment: try cursor.bytes32(EpochCommitment.self, from: body),
                wraps: try cursor.bytes32(WrapSetHash.self, from: body))
        case 2:
            self = .addMember(
                try cursor.bytes32(IdentityID.self, from: body), head: try cursor.head(from: body),
                role: try cursor.role(from: body), invite: try cursor.invite(from: body),
                wraps: try cursor.bytes32(WrapSetHash.self, from: body))
        case 3:
            self = .changeRole(
                try cursor.bytes32(IdentityID.self, from: body), role: try cursor.role(from: body),
                bounds: try LogBounds(&cursor, from: body))
        case 4:
            self = .removeMember(
                try cursor.bytes32(IdentityID.self, from: body), start: try EpochStart(&cursor, from: body),
                bounds: try LogBounds(&cursor, from: body))
        case 5: self = .rotateKey(start: try EpochStart(&cursor, from: body))
        case 6:
            self = .memberKeysRolled(
                try cursor.bytes32(IdentityID.self, from: body), head: try cursor.head(from: body),
                bounds: try LogBounds(&cursor, from: body))
        case 7: self = .restoreFromBackup(bounds: try LogBounds(&cursor, from: body))
        case 8:
            self = .leave(
                successor: try cursor.successor(from: body), bounds: try LogBounds(&cursor, from: body))
        case 9:
            let seconds = Int64(bitPattern: try cursor.number(UInt64.self, from: body))
            guard Self.historySeconds.contains(seconds) else { throw .invalid(field: "seconds") }
            self = .keepHistory(seconds: seconds)
        default: throw .unknown(field: "operation", found: UInt32(code))
        }
        try cursor.expectEnd(of: body)
    }
}

extension ByteWriter {
    fileprivate mutating func head(_ head: LinkHead) {
        number(head.sequence)
        bytes32(head.hash)
    }
}

extension ByteCursor {
    fileprivate mutating func head(from bytes: RawSpan) throws(FormatError) -> LinkHead {
        LinkHead(
            sequence: try number(UInt64.self, from: bytes), hash: try bytes32(LinkHash.self, from: bytes))
    }

    fileprivate mutating func role(from bytes: RawSpan) throws(FormatError) -> Role {
        let number = try number(UInt8.self, from: bytes)
        guard let role = Role(rawValue: number) else { throw .unknown(field: "role", found: UInt32(number)) }
        return role
    }

    fileprivate mutating func invite(from bytes: RawSpan) throws(FormatError) -> InviteID? {
        let invite = try identifier(InviteID.self, from: bytes)
        return invite == InviteID(low: 0, high: 0) ? nil : invite
    }

    fileprivate mutating func successor(from bytes: RawSpan) throws(FormatError) -> IdentityID? {
        switch try number(UInt8.self, from: bytes) {
        case 0: nil
        case 1: try bytes32(IdentityID.self, from: bytes)
        default: throw .invalid(field: "successor")
        }
    }
}
