package import CofferFormat
package import CofferRemote
package import CofferStore
package import CofferVault
internal import CofferSync
package import CofferSystem

/// The packs of a vault at a remote, for threads that block.
package final class RemotePacks: ContentSource {
    private let remote: any RemoteBackend
    private let layout: RemoteLayout
    private let state = Condition(State())

    private struct State {
        /// Why the last call of the remote failed; nil if it did not.
        var failure: RemoteError?
        var progress = PackProgress()
        var hears: (@Sendable (PackProgress) -> Void)?
    }

    /// What ends calls that threads wait for; nil once all ends.
    private let calls = Condition<Calls?>(Calls())

    private struct Calls {
        var next: UInt64 = 0
        var cancels: [UInt64: @Sendable () -> Void] = [:]
    }

    /// The packs of a vault.
    ///
    /// - Parameter remote: Which tries again by itself where that may help.
    package init(_ remote: any RemoteBackend, _ layout: RemoteLayout) {
        self.remote = remote
        self.layout = layout
    }

    /// Ends all calls, and lets none begin any more: nobody is to wait for a remote that does not answer.
    package func stop() {
        let running = calls.withLock { calls in
            defer { calls = nil }
            return calls
        }
        for cancel in (running?.cancels ?? [:]).values { cancel() }
    }

    /// Waits for a task that `stop` can end.
    private func wait<Value: Sendable>(for task: AwaitedTask<Value>) -> Value {
        let number = calls.withLock { calls -> UInt64? in
            guard let number = calls?.next else { return nil }
            calls?.next += 1
            calls?.cancels[number] = { task.cancel() }
            return number
        }
        guard let number else {
            task.cancel()
            return task.wait()
        }
        defer { calls.withLock { calls in calls?.cancels[number] = nil } }
        return task.wait()
    }

    // MARK: Sending

    /// Begins to put a pack.
    package func deliver(_ pack: RemotePack) -> Sending.Delivery {
        let (remote, name, count) = (remote, layout.pack(pack.id), pack.byteCount)
        tell { $0.bytesToSend += count }
        let put = AwaitedTask { () -> RemoteError? in
            do throws(RemoteError) {
                try await remote.put(name, .buffer(pack.buffer, count), ifAbsent: true)
                return nil
            } catch {
                // Its name is random: what is there was put by this device, which did not hear of it.
                return error == .exists ? nil : error
            }
        }
        return Sending.Delivery { [self] () throws(TransferError) in
            let failure = wait(for: put)
            tell {
                $0.bytesToSend -= count
                if failure == nil { $0.bytesSent += count }
            }
            try check(failure)
        }
    }

    /// Has somebody hear how far packs are, from now on, and forgets what failed before.
    func begin(_ hears: (@Sendable (PackProgress) -> Void)?) {
        state.withLock { $0 = State(failure: nil, progress: PackProgress(), hears: hears) }
    }

    /// Why the remote failed since `begin`.
    var failure: RemoteError? { state.withLock { $0.failure } }

    private func tell(_ change: (inout PackProgress) -> Void) {
        let (progress, hears) = state.withLock { state in
            change(&state.progress)
            return (state.progress, state.hears)
        }
        hears?(progress)
    }

    private func check(_ failure: RemoteError?) throws(TransferError) {
        guard let failure else { return }
        state.withLock { $0.failure = failure }
        throw failure == .absent ? .missing : .failed(reason: "\(failure)")
    }

    // MARK: Fetching

    package func fetch(_ pack: PackID, _ range: Range<Int>) throws(TransferError) -> BufferPart {
        let (remote, name) = (remote, layout.pack(pack))
        let get = AwaitedTask { () -> Result<BufferPart, RemoteError> in
            do throws(RemoteError) {
                let first = try await remote.getBuffer(name, range.prefix(remote.limits.rangeByteCountMax))
                if first.count == range.count || first.count == 0 { return .success(first) }
                var bytes = first.bytes
                while bytes.count < range.count {
                    let rest = range.dropFirst(bytes.count).prefix(remote.limits.rangeByteCountMax)
                    let part = try await remote.get(name, rest).bytes
                    if part.isEmpty { break }
                    bytes += part
                }
                return .success(BufferPart(copying: bytes))
            } catch {
                return .failure(error)
            }
        }
        switch wait(for: get) {
        case .success(let part): return part
        case .failure(let error):
            throw error == .absent ? .missing : .failed(reason: "\(error)")
        }
    }
}
