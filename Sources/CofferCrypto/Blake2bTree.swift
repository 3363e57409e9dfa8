internal import CLibB2
internal import CofferSystem

/// What a tree of BLAKE2b is for: the personalisation of all its nodes, so that none passes for a node of another
/// kind of tree, or for a plain hash.
package enum TreePurpose: String, Sendable {
    /// A sealed extent.
    case extent
}

/// BLAKE2b-256 in its tree mode (the BLAKE2 paper, section 2.10): two levels, of up to 16 leaves and their root.
///
/// The root is over the hashes of the leaves, so each leaf can be checked alone.
package struct Blake2bTree: Sendable {
    /// The largest number of leaves.
    package static let fanOut = 16
    /// The size of the hash of a node, in bytes.
    package static let hashByteCount = 32

    private let purpose: TreePurpose
    private let leafByteCount: Int

    /// Trees for a purpose.
    ///
    /// - Parameter leafByteCount: The size of each leaf in bytes; the last one may be shorter.
    package init(_ purpose: TreePurpose, leafByteCount: Int) {
        self.purpose = purpose
        self.leafByteCount = leafByteCount
    }

    /// The hash of a leaf.
    ///
    /// - Parameters:
    ///   - number: Its number, from 0.
    ///   - isLast: Whether it is the last leaf of its tree.
    package func leaf(_ bytes: RawSpan, number: Int, isLast: Bool) -> [UInt8] {
        precondition((0..<Self.fanOut).contains(number) && bytes.byteCount <= leafByteCount)
        return node(bytes, depth: 0, offset: number, isLast: isLast)
    }

    /// The hash of the root above leaves.
    ///
    /// - Parameter hashes: The hashes of all leaves, in order.
    package func root(_ hashes: RawSpan) -> [UInt8] { node(hashes, depth: 1, offset: 0, isLast: true) }

    private func node(_ bytes: RawSpan, depth: Int, offset: Int, isLast: Bool) -> [UInt8] {
        var parameters = blake2b_param()
        parameters.digest_length = UInt8(Self.hashByteCount)
        parameters.fanout = UInt8(Self.fanOut)
        parameters.depth = 2
        parameters.leaf_length = UInt32(leafByteCount).littleEndian
        parameters.node_offset = UInt64(offset).littleEndian
        parameters.node_depth = UInt8(depth)
        parameters.inner_length = UInt8(Self.hashByteCount)
        // 16 bytes, zeros at the end included.
        let personal = Array("coffer/1/\(purpose.rawValue)".utf8)
        precondition(personal.count <= Int(BLAKE2B_PERSONALBYTES.rawValue))
        unsafe withUnsafeMutableBytes(of: &parameters.personal) { unsafe $0.copyBytes(from: personal) }
        var hash = [UInt8](repeating: 0, count: Self.hashByteCount)
        var state = blake2b_state()
        // SAFETY: the state exists until this function returns; all spans outlive their calls, and `hash` has the
        // length that the parameters ask for.
        let isStarted = unsafe blake2b_init_param(&state, &parameters) == 0
        precondition(isStarted, "libb2 refuses the parameters of a tree")
        state.last_node = isLast ? 1 : 0
        let isTaken = unsafe bytes.withPointer { bytes, count in
            unsafe blake2b_update(&state, bytes, count) == 0
        }
        let isEnded = hash.withMutableRawSpan { hash in
            unsafe hash.withPointer { hash, count in unsafe blake2b_final(&state, hash, count) == 0 }
        }
        precondition(isTaken && isEnded, "libb2 makes no hash")
        return hash
    }
}
