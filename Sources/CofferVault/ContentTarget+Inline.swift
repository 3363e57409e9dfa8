internal import CofferCrypto
internal import CofferFormat
internal import CofferStore
internal import CofferSystem

extension ContentTarget {
    /// Gives the file small content, sealed anew, in a row of the index.
    ///
    /// - Parameter bytes: Up to 1 MiB.
    func replace(with bytes: [UInt8]) throws(FileSystemError) {
        try vault.removeContent(of: item, 0..<Int64.max, state)
        item.row.size = Int64(bytes.count)
        state.touch(item, [])
        if bytes.isEmpty { return }
        let buffers = vault.buffers.take()
        defer { vault.buffers.giveBack(buffers) }
        let (prefix, keys) = (NoncePrefix.random(), vault.keys)
        try vault.seal(unsafe bytes.span.bytes, of: id, at: 0, prefix, keys, buffers, into: buffers.sealed)
        let sealed = buffers.sealed.withBytes(0..<ExtentLayout.sealedByteCount(bytes.count)) { $0.array }
        let count = Int64(bytes.count)
        try storing { () throws(StoreError) in
            let place = try state.index.insertContent(sealed, live: count)
            try state.index.insert(
                ExtentRow(
                    item: number, offset: 0, length: count, place: .row(place), prefix: prefix,
                    epoch: keys.current))
        }
        item.row.allocated += count
    }
}
