package import CofferFormat
package import CofferRemote
package import CofferStore
package import CofferVault
internal import CofferSync
package import CofferSystem
internal import Synchronization

/// Blocking access to the packs of a vault at a remote.
package final class RemotePacks: ContentSource {
    private let remote: any RemoteBackend
    private let layout: RemoteLayout
    /// How long a read waits for a silent remote, in nanoseconds.
    private let patience: Int64
    /// How long a read waits for a large slice before it requests a small one, in nanoseconds.
    private let slicePatience: Int64
    /// The number of bytes to request at a time; adapts to the speed of the remote.
    private let sliceByteCount = Mutex(RemotePacks.firstSliceByteCount)
    private let state = Mutex(State())

    private struct State {
        /// Why the last call of the remote failed; nil if it did not.
        var failure: RemoteError?
        var progress = PackProgress()
        var hears: (@Sendable (PackProgress) -> Void)?
    }

    /// The calls that threads wait for; nil after `stop`.
    private let calls = Mutex<Calls?>(Calls())

    private struct Calls {
        var next: UInt64 = 0
        var cancels: [UInt64: @Sendable () -> Void] = [:]
    }

    /// Accesses the packs of a vault.
    ///
    /// - Parameters:
    ///   - remote: A remote that retries failed calls itself.
    ///   - patience: How long a read waits for a silent remote, in nanoseconds.
    ///   - slicePatience: The part of `patience` to wait for a large slice before a small one is requested.
    package init(
        _ remote: any RemoteBackend, _ layout: RemoteLayout, patience: Int64 = 60_000_000_000,
        slicePatience: Int64 = 20_000_000_000
    ) {
        self.remote = remote
        self.patience = patience
        self.slicePatience = slicePatience
        self.layout = layout
    }

    /// Cancels all calls, and prevents new ones, so that no thread waits for a silent remote.
    package func stop() {
        let running = calls.withLock { calls in
            defer { calls = nil }
            return calls
        }
        for cancel in (running?.cancels ?? [:]).values { cancel() }
    }

    /// Waits for a task that `stop` can cancel.
    private func wait<Value: Sendable>(for task: AwaitedTask<Value, Never>) -> Value {
        waiting(for: task) { $0.wait() }
    }

    /// Waits for a task that `stop` can cancel; cancels it and returns nil after `time` nanoseconds.
    private func wait<Value: Sendable>(for task: AwaitedTask<Value, Never>, atMost time: Int64) -> Value? {
        waiting(for: task) { task in
            if let value = task.wait(nanoseconds: time) { return value }
            task.cancel()
            return nil
        }
    }

    private func waiting<Value: Sendable, Result>(
        for task: AwaitedTask<Value, Never>, _ wait: (AwaitedTask<Value, Never>) -> Result
    ) -> Result {
        let number = calls.withLock { calls -> UInt64? in
            guard let number = calls?.next else { return nil }
            calls?.next += 1
            calls?.cancels[number] = { task.cancel() }
            return number
        }
        guard let number else {
            task.cancel()
            return wait(task)
        }
        defer { calls.withLock { calls in calls?.cancels[number] = nil } }
        return wait(task)
    }

    // MARK: Sending

    /// Starts to put a pack; the result waits for the end.
    package func deliver(_ pack: RemotePack) -> Sending.Delivery {
        let (remote, name, count) = (remote, layout.pack(pack.id), pack.byteCount)
        tell { $0.bytesToSend += count }
        let put = AwaitedTask { () -> RemoteError? in
            let bytes = RemoteBytes.buffer(pack.buffer, count)
            do throws(RemoteError) {
                do throws(RemoteError) { try await remote.put(name, bytes, ifAbsent: true) } catch {
                    guard error == .exists else { throw error }
                    // The name is random, so an existing object is this device's: an earlier put lost its answer,
                    // or did not end. But not all that a server calls an object is one.
                    let isWhole = try await remote.holds(name, bytes)
                    if !isWhole { try await remote.put(name, bytes, ifAbsent: false) }
                }
                return nil
            } catch {
                return error
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

    /// Sets the listener of progress, and resets the counts and the failure.
    func begin(_ hears: (@Sendable (PackProgress) -> Void)?) {
        state.withLock { $0 = State(failure: nil, progress: PackProgress(), hears: hears) }
    }

    /// The last failure of the remote since `begin`.
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

    /// The size of the first slice, in bytes.
    ///
    /// Each slice has its own timeout, because every slice that arrives shows that a slow remote is working.
    /// On a fast remote, slices soon grow to whole ranges.
    private static let firstSliceByteCount = 256 << 10
    /// Not less than a leaf, and the hashes of an extent's leaves, which are one request where they are close.
    static let leastSliceByteCount =
        ExtentLayout.sealedLeafByteCount + ExtentLayout.leafHashesByteCount(ExtentLayout.byteCountMax)
    private static let sliceByteCountMax = 1 << 30
    /// Slices double if they arrive within `soon`, and are halved if they take longer than `late`.
    ///
    /// In nanoseconds.
    private static let soon: Int64 = 1_000_000_000, late: Int64 = 5_000_000_000

    package func fetch(_ pack: PackID, _ range: Range<Int>) throws(TransferError) -> BufferPart {
        var bytes: [UInt8] = []
        while true {
            let rest = range.dropFirst(bytes.count)
            let part = try fetchFirst(of: rest, pack)
            if bytes.isEmpty, part.count == range.count || part.count == 0 { return part }
            bytes += part.bytes
            if part.count == 0 || bytes.count == range.count { return BufferPart(copying: bytes) }
        }
    }

    package func fetch(
        _ pack: PackID, _ range: Range<Int>, with other: Range<Int>
    ) throws(TransferError) -> (BufferPart, BufferPart?) {
        let begin = Clock.monotonic
        let second = get(pack, other)
        let first: BufferPart
        do throws(TransferError) { first = try fetch(pack, range) } catch {
            second.cancel()
            throw error
        }
        let left = max(slicePatience - (Clock.monotonic - begin), 0)
        return (first, try? Self.part(wait(for: second, atMost: left)))
    }

    /// Fetches the first slice of a range.
    private func fetchFirst(of range: Range<Int>, _ pack: PackID) throws(TransferError) -> BufferPart {
        let slice = range.prefix(sliceByteCount.withLock { $0 })
        let begin = Clock.monotonic
        if slice.count <= Self.leastSliceByteCount {
            let part = try Self.part(wait(for: get(pack, slice), atMost: patience))
            adaptSliceSize(part.count, Clock.monotonic - begin)
            return part
        }
        if let answer = wait(for: get(pack, slice), atMost: slicePatience) {
            let part = try Self.part(answer)
            adaptSliceSize(part.count, Clock.monotonic - begin)
            return part
        }
        // A small slice shows whether the remote is slow or silent.
        sliceByteCount.withLock { $0 = Self.leastSliceByteCount }
        let least = slice.prefix(Self.leastSliceByteCount)
        return try Self.part(wait(for: get(pack, least), atMost: patience - slicePatience))
    }

    /// Adapts the size of slices to the time in nanoseconds that one took.
    private func adaptSliceSize(_ byteCount: Int, _ time: Int64) {
        sliceByteCount.withLock { slice in
            if time < Self.soon, byteCount >= slice {
                slice = min(slice * 2, Self.sliceByteCountMax)
            } else if time > Self.late {
                slice = max(min(slice, byteCount) / 2, Self.leastSliceByteCount)
            }
        }
    }

    private func get(_ pack: PackID, _ range: Range<Int>) -> AwaitedTask<
        Result<BufferPart, RemoteError>, Never
    > {
        let (remote, name) = (remote, layout.pack(pack))
        return AwaitedTask { () -> Result<BufferPart, RemoteError> in
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
    }

    package func byteCount(of pack: PackID) throws(TransferError) -> Int {
        let (remote, name) = (remote, layout.pack(pack))
        let get = AwaitedTask { () -> Result<Int, RemoteError> in
            do throws(RemoteError) {
                return .success(try await remote.get(name, 0..<0).objectByteCount)
            } catch {
                return .failure(error)
            }
        }
        return try Self.part(wait(for: get, atMost: patience))
    }

    package func byteCounts(of packs: [PackID]) -> [PackID: Result<Int, TransferError>] {
        let (remote, layout) = (remote, layout)
        let get = AwaitedTask { await Self.sizes(of: packs, at: remote, layout) }
        let sizes = wait(for: get, atMost: patience) ?? []
        var found: [PackID: Result<Int, TransferError>] = [:]
        for size in sizes {
            do throws(TransferError) { found[size.pack] = .success(try Self.part(size.answer)) } catch {
                found[size.pack] = .failure(error)
            }
        }
        return found
    }

    /// A remote's answer about the size of a pack.
    private struct PackSize: Sendable {
        let pack: PackID
        let answer: Result<Int, RemoteError>
    }

    private static func sizes(
        of packs: [PackID], at remote: any RemoteBackend, _ layout: RemoteLayout
    ) async -> [PackSize] {
        await withTaskGroup(of: PackSize.self) { group in
            var rest = packs[...]
            func add() {
                guard let pack = rest.popFirst() else { return }
                let name = layout.pack(pack)
                group.addTask {
                    do throws(RemoteError) {
                        let byteCount = try await remote.get(name, 0..<0).objectByteCount
                        return PackSize(pack: pack, answer: .success(byteCount))
                    } catch {
                        return PackSize(pack: pack, answer: .failure(error))
                    }
                }
            }
            for _ in 0..<max(1, remote.limits.concurrentCallsMax) { add() }
            var sizes: [PackSize] = []
            for await size in group {
                sizes.append(size)
                add()
            }
            return sizes
        }
    }

    private static func part<Value>(_ answer: Result<Value, RemoteError>?) throws(TransferError) -> Value {
        switch answer {
        case .success(let value): return value
        case .failure(let error): throw error == .absent ? .missing : .failed(reason: "\(error)")
        case nil: throw .timedOut
        }
    }
}
