extension RemoteBackend {
    /// Whether the object has exactly these bytes.
    ///
    /// - Throws: any `RemoteError` but `.absent`.
    package func holds(_ name: RemoteName, _ bytes: RemoteBytes) async throws(RemoteError) -> Bool {
        let step = min(limits.rangeByteCountMax, 1 << 20)
        var offset = 0
        while true {
            let content: RemoteContent
            do throws(RemoteError) {
                content = try await get(name, offset..<offset + step)
            } catch {
                // Deleted again, or not visible yet.
                if error == .absent { return false }
                throw error
            }
            guard content.objectByteCount == bytes.byteCount, try bytes.matches(content.bytes, at: offset)
            else { return false }
            offset += content.bytes.count
            if offset == bytes.byteCount { return true }
            // No bytes before the end: no more will come.
            if content.bytes.isEmpty { return false }
        }
    }
}
