internal import CofferFacts
internal import CofferFormat
internal import CofferTrust

/// The packs that devices want to delete at the remote: those that this device wants to, and those of others.
///
/// A pack is deleted only after two questions in a row to all devices, and if none of them retained it:
/// docs/protocol.md, "Packs that nothing refers to". The value remembers which rows are saved.
struct PackRetirements: Equatable, Sendable {
    /// The most logs whose retirements are known.
    private static let countMax = 256

    /// What other devices want to delete.
    private(set) var others: [LogID: OtherRetirement] = [:]
    /// What this device wants to delete; nil if nothing.
    private(set) var own: OwnRetirement?
    /// Whether contents may refer to other packs than at the last answer.
    private(set) var isCheckDue = false
    /// Whether commits were made of contents that nobody compared with the retirements.
    private var mustRetainAll = false
    private var saved = SavedRows()

    // MARK: What commits say

    /// Records what an applied commit says of retirements, and whether contents may refer to other packs now.
    ///
    /// - Parameters:
    ///   - log: This device's log.
    ///   - isAdministrator: Whether an identity's devices may retire packs.
    mutating func record(
        _ commit: VerifiedCommit, own log: LogID, isAdministrator: (IdentityID) -> Bool
    ) {
        guard commit.dot.log != log else { return }
        if !commit.body.facts.isEmpty { contentsChange() }
        for notice in commit.body.notices {
            switch notice {
            case .retirement(let packs):
                guard isAdministrator(commit.author) else { continue }
                begin(packs, by: commit.dot)
            case .retention(let dot, let retained):
                retain(retained, of: dot, by: commit.dot.log, own: log)
            case .checkpoint, .confirmation: continue
            }
        }
        if let sequence = own?.sequence, commit.versions.contains(Dot(log: log, sequence: sequence)) {
            own?.acknowledged.insert(commit.dot.log)
        }
    }

    private mutating func begin(_ packs: [PackID], by announcement: Dot) {
        others[announcement.log] = nil
        guard !packs.isEmpty, others.count < Self.countMax else { return }
        others[announcement.log] = OtherRetirement(sequence: announcement.sequence, packs: Set(packs))
        isCheckDue = true
    }

    /// What a device retains is not deleted here, whichever question it has answered.
    private mutating func retain(_ retained: RetainedPacks, of dot: Dot, by answerer: LogID, own log: LogID) {
        guard dot.log == log else { return }
        own?.packs.subtract(retained)
        if own?.sequence == dot.sequence { own?.answered.insert(answerer) }
    }

    /// Records that contents may refer to other packs from now on.
    mutating func contentsChange() { isCheckDue = isCheckDue || own != nil || !others.isEmpty }

    /// Records that a commit was made whose contents nobody compared with the retirements.
    mutating func madeUnchecked() { mustRetainAll = mustRetainAll || own != nil || !others.isEmpty }

    // MARK: Answers of this device

    /// Notices that retain what this device still refers to; one for each retirement that needs an answer, or
    /// another one.
    func answers(using packs: ContentPacks) -> [CommitNotice] {
        others.sorted { $0.key < $1.key }.compactMap { log, retirement in
            let dot = Dot(log: log, sequence: retirement.sequence)
            let retained = retained(of: retirement.packs.subtracting(retirement.retained), packs)
            guard !retirement.isAnswered || retained != .some([]) else { return nil }
            return .retention(dot, retained)
        }
    }

    private func retained(of retired: Set<PackID>, _ packs: ContentPacks) -> RetainedPacks {
        guard !retired.isEmpty else { return .some([]) }
        guard packs.isComplete, !mustRetainAll else { return .all }
        return .some(retired.intersection(packs.packs).sorted())
    }

    /// Records that this device has given some answers, and keeps what it refers to itself.
    mutating func answered(_ notices: [CommitNotice], using packs: ContentPacks) {
        for case .retention(let dot, let retained) in notices {
            others[dot.log]?.retain(retained)
        }
        if let retired = own?.packs {
            let retained = retained(of: retired, packs)
            own?.packs.subtract(retained)
        }
        (isCheckDue, mustRetainAll) = (false, false)
    }

    // MARK: What this device wants to delete

    /// Records that a commit of this device asks who still needs some packs.
    ///
    /// - Parameters:
    ///   - sequence: The commit.
    ///   - now: The time, in milliseconds.
    mutating func beginOwn(_ packs: Set<PackID>, isSecond: Bool, by sequence: UInt64, at now: UInt64) {
        own = OwnRetirement(sequence: sequence, isSecond: isSecond, beganAt: now, packs: packs)
    }

    /// Records that this device's retirement has ended.
    mutating func endOwn() { own = nil }

    /// Records that this device's answers and questions may not count: it answers again, and asks again.
    mutating func beginAgain() {
        own = nil
        for log in others.keys { others[log]?.forgetAnswer() }
        (isCheckDue, mustRetainAll) = (!others.isEmpty, !others.isEmpty)
    }

    // MARK: Rows

    /// The rows that save the retirements, by key.
    private var rows: [KeptRow.Key: [UInt8]] {
        var rows: [KeptRow.Key: [UInt8]] = [:]
        for (log, retirement) in others { rows[Self.key(log)] = retirement.bytes }
        if let own { rows[KeptRow.Key(.retirement)] = own.bytes }
        return rows
    }

    private static func key(_ log: LogID) -> KeptRow.Key { KeptRow.Key(.retirement, id: log.bytes) }

    /// The rows to save when all facts are rebuilt: commits that answer this device may not be applied again.
    var rowsAfterRebuild: [KeptChange] {
        var all = self
        all.own = nil
        return all.rows.map { KeptChange($0.key, $0.value) }
    }

    /// The changes that save the retirements, which count as saved from then on.
    mutating func changesToSave() -> [KeptChange] { saved.changes(to: rows) }

    /// These retirements, which are saved, with what only memory knows.
    func following(_ last: PackRetirements) -> PackRetirements {
        var all = self
        all.mustRetainAll = last.mustRetainAll
        return all
    }

    /// Restores a saved retirement.
    mutating func restore(_ row: KeptRow) throws(FormatError) {
        saved.restored(row)
        if row.key == KeptRow.Key(.retirement) {
            own = try OwnRetirement(row.value)
        } else {
            guard let log = LogID(bytes: row.key.id) else { throw .invalid(field: "log") }
            others[log] = try OtherRetirement(row.value)
        }
        isCheckDue = true
    }
}

extension Set<PackID> {
    /// Removes what a device retains.
    fileprivate mutating func subtract(_ retained: RetainedPacks) {
        switch retained {
        case .some(let packs): subtract(packs)
        case .all: removeAll()
        }
    }
}

/// Packs that another device wants to delete.
///
/// Stored on this device only: sequence (8), 1 if answered (1), then of all packs, and of those that this device
/// retains: number (2), ids (16 each).
struct OtherRetirement: Equatable, Sendable {
    /// The sequence of the commit that announces it.
    let sequence: UInt64
    let packs: Set<PackID>
    /// Those that this device has retained; what others retain may turn out not to count.
    private(set) var retained: Set<PackID> = []
    /// Whether this device has answered.
    private(set) var isAnswered = false

    fileprivate init(sequence: UInt64, packs: Set<PackID>) {
        self.sequence = sequence
        self.packs = packs
    }

    fileprivate mutating func retain(_ answer: RetainedPacks) {
        isAnswered = true
        switch answer {
        case .some(let packs): retained.formUnion(packs)
        case .all: retained = packs
        }
    }

    fileprivate mutating func forgetAnswer() { (isAnswered, retained) = (false, []) }

    init(_ bytes: [UInt8]) throws(FormatError) {
        let span = unsafe bytes.span.bytes
        var cursor = ByteCursor()
        sequence = try cursor.number(UInt64.self, from: span)
        isAnswered = try cursor.number(UInt8.self, from: span) != 0
        packs = try cursor.identifiers(from: span)
        retained = try cursor.identifiers(from: span)
        try cursor.expectEnd(of: span)
    }

    fileprivate var bytes: [UInt8] {
        var writer = ByteWriter()
        writer.number(sequence)
        writer.number(UInt8(isAnswered ? 1 : 0))
        writer.identifiers(packs)
        writer.identifiers(retained)
        return writer.finish()
    }
}

/// Packs that this device wants to delete.
///
/// Stored on this device only: sequence (8), 1 for the second question (1), milliseconds (8), then of the
/// packs, the logs that have answered, and those that have acknowledged: number (2), ids (16 each).
struct OwnRetirement: Equatable, Sendable {
    /// How long an answer may be missing from a log that has acknowledged the question, in milliseconds: a day.
    private static let patience: UInt64 = 86_400_000

    /// The sequence of the commit that asks.
    let sequence: UInt64
    /// Whether it asks for the second time.
    let isSecond: Bool
    /// When this device asked, in milliseconds.
    private let beganAt: UInt64
    /// Those that no device has retained.
    fileprivate(set) var packs: Set<PackID>
    /// The logs that have answered.
    fileprivate(set) var answered: Set<LogID> = []
    /// The logs with a commit whose author had applied the question.
    fileprivate(set) var acknowledged: Set<LogID> = []

    fileprivate init(sequence: UInt64, isSecond: Bool, beganAt: UInt64, packs: Set<PackID>) {
        self.sequence = sequence
        self.isSecond = isSecond
        self.beganAt = beganAt
        self.packs = packs
    }

    /// Whether a log has said all that its role lets it say.
    ///
    /// - Parameter role: The role of the log's author now.
    func isDone(_ log: LogID, _ role: Role?) -> Bool {
        role?.may(.write) == true ? answered.contains(log) : acknowledged.contains(log)
    }

    /// Whether to ask again because of a log: its device has begun with a later checkpoint, and not seen the
    /// question.
    ///
    /// - Parameter role: The role of the log's author now.
    func isStuck(_ log: LogID, _ role: Role?, at now: UInt64) -> Bool {
        now > beganAt && now - beganAt > Self.patience && acknowledged.contains(log) && !isDone(log, role)
    }

    init(_ bytes: [UInt8]) throws(FormatError) {
        let span = unsafe bytes.span.bytes
        var cursor = ByteCursor()
        sequence = try cursor.number(UInt64.self, from: span)
        isSecond = try cursor.number(UInt8.self, from: span) != 0
        beganAt = try cursor.number(UInt64.self, from: span)
        packs = try cursor.identifiers(from: span)
        answered = try cursor.identifiers(from: span)
        acknowledged = try cursor.identifiers(from: span)
        try cursor.expectEnd(of: span)
    }

    fileprivate var bytes: [UInt8] {
        var writer = ByteWriter()
        writer.number(sequence)
        writer.number(UInt8(isSecond ? 1 : 0))
        writer.number(beganAt)
        writer.identifiers(packs)
        writer.identifiers(answered)
        writer.identifiers(acknowledged)
        return writer.finish()
    }
}

extension ByteCursor {
    fileprivate mutating func identifiers<Kind>(
        from bytes: RawSpan
    ) throws(FormatError) -> Set<Identifier<Kind>> {
        var identifiers: Set<Identifier<Kind>> = []
        for _ in 0..<(try number(UInt16.self, from: bytes)) {
            identifiers.insert(try identifier(Identifier<Kind>.self, from: bytes))
        }
        return identifiers
    }
}

extension ByteWriter {
    fileprivate mutating func identifiers<Kind>(_ identifiers: Set<Identifier<Kind>>) {
        number(UInt16(identifiers.count))
        for each in identifiers.sorted() { identifier(each) }
    }
}
