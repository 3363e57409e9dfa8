internal import CCofferSystem
internal import CofferFormat
package import CofferSystem
internal import Glibc
internal import Synchronization

/// The first request of a connection, by which the kernel describes it, and the answer, which chose its features.
struct Initialisation: Codable, Sendable, Equatable {
    var request: [UInt8] = []
    var answer: [UInt8] = []
}

/// What one process leaves to the next one that serves the same mount.
package struct ConnectionState: Codable, Sendable {
    /// How the connection began.
    var initialisation: Initialisation
    /// The number of lookups of each node that the kernel knows, by node number.
    package var lookups: [UInt64: UInt64]
    /// The nodes of which the locked mount has refused to store something, by number.
    var refusedNumbers: Set<UInt64> = []
    /// The slots of vaults among those of past states, in a profile of an early version.
    var upperVaults: Set<UInt16>?

    /// The nodes that the kernel knows.
    package var nodes: [Node] { lookups.keys.map { Node(number: $0) } }

    /// The files of which the locked mount has refused changes that programs take for done.
    package var refused: [Node] { refusedNumbers.map { Node(number: $0) } }
}

/// A mount while its profile is locked: answers all requests without vaults and keys.
///
/// One thread serves. It sees names and contents in requests of programs, and wipes each request when it is answered.
package final class LockedSession: Sendable {
    /// Why `run` returned.
    package enum End: Sendable {
        /// The mount is gone.
        case unmounted
        /// `leave` was called; the mount waits for the next process.
        case left
    }

    private let connection: Descriptor
    private let initialisation: Initialisation
    private let lookups: LookupTable
    private let answers: LockedAnswers
    private let isStored: Bool
    private let upperVaults: Set<UInt16>?
    /// The numbers of the nodes of which the kernel has tried to store pages.
    private let refused: RankedMutex<Set<UInt64>>
    private let waking: Descriptor
    private let wakeable: Descriptor

    /// Takes over a mount.
    ///
    /// - Parameters:
    ///   - connection: The connection to the kernel, which must not block.
    ///   - owner: The owner and group of the root directory.
    ///   - changed: The times of the root directory, in nanoseconds since 1970.
    ///   - isStored: Whether everything is stored that programs wrote before, so that fsync may succeed.
    package init(
        _ connection: consuming Descriptor, _ state: ConnectionState, owner: (user: UInt32, group: UInt32),
        changed: Int64, isStored: Bool
    ) throws(SystemError) {
        self.connection = connection
        self.isStored = isStored
        upperVaults = state.upperVaults
        refused = RankedMutex(state.refusedNumbers, rank: .leaf)
        initialisation = state.initialisation
        lookups = LookupTable(counts: state.lookups)
        answers = LockedAnswers(user: owner.user, group: owner.group, changed: changed)
        let ends = try ChildProcess.makePipe()
        wakeable = Descriptor(owning: ends.reading)
        waking = Descriptor(owning: ends.writing)
        _ = coffer_set_nonblocking(waking.number, 1)
    }

    /// Makes `run` return while the mount stays; any thread may call this.
    package func leave() {
        _ = unsafe Glibc.write(waking.number, [0], 1)
    }

    /// What the next process needs; for use after `run`.
    package var state: ConnectionState {
        ConnectionState(
            initialisation: initialisation, lookups: lookups.counts,
            refusedNumbers: refused.withLock { $0 }, upperVaults: upperVaults)
    }

    /// The number of files of which changes are lost because the kernel had not stored them before.
    ///
    /// Any thread may ask.
    package var refusedCount: Int { refused.withLock { $0.count } }

    /// Serves until the mount is gone, or `leave` is called.
    package func run() -> End {
        // The kernel refuses buffers that are too short for its longest request.
        let buffer = AlignedBuffer(count: Session.requestByteCountMax + (64 << 10))
        var wanted = [
            pollfd(fd: connection.number, events: Int16(POLLIN), revents: 0),
            pollfd(fd: wakeable.number, events: Int16(POLLIN), revents: 0),
        ]
        while true {
            if unsafe poll(&wanted, nfds_t(wanted.count), -1) < 0, errno != EINTR { return .unmounted }
            if wanted[1].revents != 0 { return .left }
            let number = connection.number
            let count = buffer.withMutableBytes(0..<buffer.count) { bytes in
                unsafe bytes.withUnsafeMutableBytes { unsafe Glibc.read(number, $0.baseAddress, $0.count) }
            }
            // ENOENT: the request was taken back while it was read.
            if count < 0, [EINTR, EAGAIN, ENOENT].contains(errno) { continue }
            guard count > 0 else { return .unmounted }
            buffer.withBytes(0..<count) { answer($0) }
            buffer.wipe(0..<count)
        }
    }

    private func answer(_ bytes: RawSpan) {
        for (node, count) in WireRequest.forgotten(bytes) {
            _ = lookups.subtract(count, from: Node(number: node))
        }
        guard let request = WireRequest(bytes) else { return }
        if request.storesPages, !isPast(Node(number: request.node)) {
            refused.withLock { _ = $0.insert(request.node) }
        }
        guard let answer = confirmation(of: request) ?? answers.answer(to: request) else { return }
        // Fails if the program has been killed meanwhile.
        _ = unsafe Glibc.write(connection.number, answer, answer.count)
    }

    /// Whether a node belongs to the past of a vault: what programs write to it is refused anyway.
    private func isPast(_ node: Node) -> Bool {
        node.mayBePast && upperVaults?.contains(node.slot) != true
    }

    /// The answer to an fsync where there is nothing left to store; nil for other requests.
    private func confirmation(of request: WireRequest) -> [UInt8]? {
        guard request.isSync, isStored, refusedCount == 0 else { return nil }
        return answers.success(of: request)
    }
}
