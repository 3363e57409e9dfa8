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

    /// Reads objects, as many at once as the remote likes.
    ///
    /// - Parameters:
    ///   - keys: What stands for the objects here; each once.
    ///   - name: An object's name.
    ///   - byteCountMax: The most bytes that each of them may have.
    func fetchAll<Key: Hashable & Sendable>(
        _ keys: [Key], named name: @escaping @Sendable (Key) -> RemoteName, byteCountMax: Int
    ) async -> [Key: Result<Fetched, RemoteError>] {
        await withTaskGroup(of: (Key, Result<Fetched, RemoteError>).self) { group in
            var results: [Key: Result<Fetched, RemoteError>] = [:]
            var rest = keys[...]
            func add() {
                guard let key = rest.popFirst() else { return }
                group.addTask {
                    let result: Result<Fetched, RemoteError>
                    do throws(RemoteError) {
                        result = .success(try await fetch(name(key), byteCountMax: byteCountMax))
                    } catch {
                        result = .failure(error)
                    }
                    return (key, result)
                }
            }
            for _ in 0..<max(1, limits.concurrentCallsMax) { add() }
            for await (key, result) in group {
                results[key] = result
                add()
            }
            return results
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
