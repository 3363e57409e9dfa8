internal import CofferRemote

/// What became of a fetch.
enum Fetched: Equatable, Sendable {
    case bytes([UInt8])
    case absent
    /// It has more bytes than it may have; only the first ones were read.
    case tooLong(byteCount: Int)
}

extension RemoteBackend {
    /// Reads an object, unless it is too long.
    ///
    /// - Parameter byteCountMax: The most bytes that it may have.
    func fetch(_ name: RemoteName, byteCountMax: Int) async throws(RemoteError) -> Fetched {
        var bytes: [UInt8] = []
        while true {
            // Most objects are short; of one that is too long, no more than this is read.
            let step = min(limits.rangeByteCountMax, bytes.isEmpty ? 256 << 10 : 4 << 20)
            let content: RemoteContent
            do throws(RemoteError) {
                content = try await get(name, bytes.count..<bytes.count + step)
            } catch {
                guard error == .absent else { throw error }
                return .absent
            }
            guard content.objectByteCount <= byteCountMax else {
                return .tooLong(byteCount: content.objectByteCount)
            }
            bytes += content.bytes
            // What is shorter than it says is found out by whoever reads it.
            if bytes.count >= content.objectByteCount || content.bytes.isEmpty { return .bytes(bytes) }
        }
    }

    /// Whether there is an object.
    func has(_ name: RemoteName) async throws(RemoteError) -> Bool {
        do throws(RemoteError) {
            _ = try await get(name, 0..<1)
            return true
        } catch {
            guard error == .absent else { throw error }
            return false
        }
    }
}
