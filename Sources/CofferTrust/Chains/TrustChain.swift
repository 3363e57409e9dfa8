package import CofferCrypto
package import CofferFormat

/// The state that results from the links of one kind of chain, and the rules of that chain.
package protocol Ledger: Sendable {
    /// The operations of the chain's links.
    associatedtype Operation: ChainOperation
    /// Data besides the chain that verifying a link needs.
    associatedtype Context
    /// The state before link 0.
    init(chain: ChainID)
    /// Applies a link whose hash, signature, and place have been checked.
    ///
    /// - Throws: Why the link is not permitted here; the ledger must not be used afterwards.
    mutating func apply(
        _ operation: Operation, of link: LinkRecord, knowing context: Context
    ) throws(TrustError)
}

/// A trust chain, verified from link 0: signed, hash-linked operations.
///
/// A value without secrets. Only the links are stored, and the state is computed from them again. Links are
/// kept as they were received, and never encoded again.
package struct TrustChain<State: Ledger>: Sendable {
    /// The id of the chain.
    package let id: ChainID
    /// All links, from 0.
    package private(set) var links: [LinkRecord] = []
    /// The state that results from the links.
    package private(set) var state: State

    /// What `append` did with a link.
    package enum Appended: Equatable, Sendable {
        /// The link is now the head of the chain.
        case added
        /// The link was in the chain already.
        case known
    }

    /// Makes a chain without links.
    package init(id: ChainID) {
        self.id = id
        state = State(chain: id)
    }

    /// The place of the last link; nil without links.
    package var head: LinkHead? { links.last?.head }

    /// The sequence of the next link.
    package var nextSequence: UInt64 { UInt64(links.count) }

    /// Verifies the next link, and adds it.
    ///
    /// A link that is in the chain already changes nothing. After an error the chain is unchanged.
    ///
    /// - Throws: `.format`, `.otherChain`, `.wrongHash`, `.wrongSignature`, `.gap`, `.notLinked`, `.fork`, or
    ///   whatever the chain's rules throw.
    @discardableResult
    package mutating func append(
        _ bytes: [UInt8], knowing context: State.Context
    ) throws(TrustError) -> Appended {
        let link = try verified(bytes)
        guard link.sequence >= nextSequence else { return try compare(link, context) }
        guard link.sequence == nextSequence else {
            throw .gap(expected: nextSequence, found: link.sequence)
        }
        state = try applying(link, to: state, after: links.last, context)
        links.append(link)
        return .added
    }

    /// Adds the links of a chain that the storage shows, from link 0.
    ///
    /// After an error the chain has the links before the invalid one, and all that it had.
    ///
    /// - Throws: `.shorterChain` if known links are not shown, and whatever `append` throws.
    package mutating func catchUp(
        with offered: [[UInt8]], knowing context: State.Context
    ) throws(TrustError) {
        for (index, bytes) in offered.enumerated() {
            if index < links.count, links[index].bytes == bytes { continue }
            let found = try verified(bytes).sequence
            guard found == UInt64(index) else { throw .gap(expected: UInt64(index), found: found) }
            try append(bytes, knowing: context)
        }
        guard offered.count >= links.count else {
            throw .shorterChain(known: nextSequence, offered: UInt64(offered.count))
        }
    }

    /// Checks that the chain contains a link that was verified before.
    ///
    /// - Throws: `.shorterChain`, or `.notLinked` if the chain has another link at that place.
    package func expect(_ head: LinkHead) throws(TrustError) {
        guard head.sequence < nextSequence else {
            throw .shorterChain(known: head.sequence &+ 1, offered: nextSequence)
        }
        guard links[Int(head.sequence)].hash == head.hash else {
            throw .notLinked(sequence: head.sequence)
        }
    }

    /// Makes the next link, without adding it: it counts once the storage has it.
    ///
    /// - Throws: Whatever `append` would throw for it.
    package func link(
        _ operation: State.Operation, at time: Int64, by signer: borrowing SigningKey,
        knowing context: State.Context
    ) throws(TrustError) -> [UInt8] {
        let publicKey = signer.publicID
        let hashed = try reading { () throws(FormatError) in
            try LinkRecord.hashed(
                operation, chain: id, sequence: nextSequence, previous: head?.hash ?? .zero, time: time,
                signer: publicKey)
        }
        let hash = Blake2b.hash(hashed, for: .link)
        let bytes = hashed + hash + signer.sign(hash, for: .link)
        var copy = self
        try copy.append(bytes, knowing: context)
        return bytes
    }

    /// The state that results from the links before a place.
    func state(before sequence: UInt64, knowing context: State.Context) throws(TrustError) -> State {
        var state = State(chain: id)
        var last: LinkRecord?
        for link in links.prefix(Int(clamping: sequence)) {
            state = try applying(link, to: state, after: last, context)
            last = link
        }
        return state
    }

    /// The chain without the links from a place on.
    func prefix(before sequence: UInt64, knowing context: State.Context) throws(TrustError) -> Self {
        var chain = self
        chain.state = try state(before: sequence, knowing: context)
        chain.links = Array(links.prefix(Int(clamping: sequence)))
        return chain
    }

    /// Reads a link, and makes the checks that do not depend on other links.
    func verified(_ bytes: [UInt8]) throws(TrustError) -> LinkRecord {
        let link = try reading { () throws(FormatError) in try LinkRecord(bytes) }
        guard link.kind == State.Operation.kind, link.chain == id else { throw .otherChain }
        guard Blake2b.hash(link.hashedBytes, for: .link) == link.hash.bytes else { throw .wrongHash }
        try check(link.signature, of: link.hash.bytes, by: link.signer, for: .link)
        return link
    }

    private func applying(
        _ link: LinkRecord, to state: State, after last: LinkRecord?, _ context: State.Context
    ) throws(TrustError) -> State {
        guard link.previous == last?.hash ?? .zero else { throw .notLinked(sequence: link.sequence) }
        let operation = try reading { () throws(FormatError) in
            try unsafe State.Operation(code: link.code, body: link.body.span.bytes)
        }
        var next = state
        try next.apply(operation, of: link, knowing: context)
        return next
    }

    /// Classifies a link at a place that is taken: it is the same link, a fork, or not valid there.
    private func compare(_ link: LinkRecord, _ context: State.Context) throws(TrustError) -> Appended {
        let known = links[Int(link.sequence)]
        if known.bytes == link.bytes { return .known }
        let before = try state(before: link.sequence, knowing: context)
        let last = link.sequence == 0 ? nil : links[Int(link.sequence) - 1]
        _ = try applying(link, to: before, after: last, context)
        throw .fork(Fork(known: known, other: link))
    }
}

extension TrustChain where State.Context == Void {
    /// Verifies the next link, and adds it, as `append(_:knowing:)` does.
    @discardableResult
    package mutating func append(_ bytes: [UInt8]) throws(TrustError) -> Appended {
        try append(bytes, knowing: ())
    }

    /// Adds the links of a chain that the storage shows, as `catchUp(with:knowing:)` does.
    package mutating func catchUp(with offered: [[UInt8]]) throws(TrustError) {
        try catchUp(with: offered, knowing: ())
    }

    /// Makes the next link, as `link(_:at:by:knowing:)` does.
    package func link(
        _ operation: State.Operation, at time: Int64, by signer: borrowing SigningKey
    ) throws(TrustError) -> [UInt8] {
        try link(operation, at: time, by: signer, knowing: ())
    }
}
