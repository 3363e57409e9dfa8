internal import CofferRemote

/// The result of a fetch.
enum Fetched: Equatable, Sendable {
    case bytes([UInt8])
    case absent
    /// The object is longer than the caller allows; only its first bytes were read.
    case tooLong(byteCount: Int)

    /// The object's bytes; nil if it is absent or too long.
    var bytes: [UInt8]? { if case .bytes(let bytes) = self { bytes } else { nil } }
}

extension RemoteBackend {
    /// Reads a whole object, unless it is too long.
    ///
    /// - Parameter byteCountMax: The most bytes that the object may have.
    func fetch(_ name: RemoteName, byteCountMax: Int) async throws(RemoteError) -> Fetched {
        var bytes: [UInt8] = []
        while true {
            // Most objects are short. Of one that is too long, only the first part is read.
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
            // The caller's decoder detects an object that is shorter than it claims.
            if bytes.count >= content.objectByteCount || content.bytes.isEmpty { return .bytes(bytes) }
        }
    }

    /// Reads several objects, as many in parallel as the remote allows.
    ///
    /// - Parameters:
    ///   - keys: Stand for the objects, each once.
    ///   - name: Returns the name of a key's object.
    ///   - byteCountMax: The most bytes that each object may have.
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

    /// Whether the object exists.
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
