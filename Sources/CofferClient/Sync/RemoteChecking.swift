package import CofferSync
package import CofferVault
internal import CofferFormat
internal import CofferSystem

/// Checks whether a vault's remote has what this device knows to be needed there.
///
/// Holds no lock while it waits for the remote, and does not wait for rounds of sync unless something seems to be
/// wrong, or is new. Repairs nothing at the remote. Applies what is new there first if this device has not synced since
/// it opened the vault, and again if something seems to be wrong, or is new; that may send contents of files that others
/// changed, too.
package struct RemoteChecking: Sendable {
    /// How long the remote may be silent before what is left counts as not checked, in nanoseconds: 5 minutes.
    package static let patience: Int64 = 300_000_000_000
    /// The pause between looks at whether anybody waits for the result, in nanoseconds.
    private static let pause: Int64 = 500_000_000
    /// How long cancelled calls may take to end, in nanoseconds.
    private static let endTime: Int64 = 10_000_000_000

    private let engine: SyncEngine
    private let vault: Vault
    private let callCount: @Sendable () -> Int
    private let isHeard: @Sendable () -> Bool

    /// - Parameters:
    ///   - callCount: A number that grows as the remote answers calls.
    ///   - isHeard: Whether anybody waits for the result; asked every half second while the check waits.
    package init(
        _ engine: SyncEngine, _ vault: Vault, callCount: @escaping @Sendable () -> Int,
        isHeard: @escaping @Sendable () -> Bool
    ) {
        (self.engine, self.vault, self.callCount, self.isHeard) = (engine, vault, callCount, isHeard)
    }

    /// Checks, and blocks until that is done.
    ///
    /// - Parameters:
    ///   - readsAll: Whether to fetch and verify everything.
    ///   - check: The result so far, with the name of the remote.
    ///   - progress: Called with the number of bytes that are done, and of all.
    package func run(
        readsAll: Bool, _ check: RemoteCheck, _ progress: (Int, Int) -> Void
    ) -> RemoteCheck {
        var check = check
        // Without a mount, this device may not have heard of others for long.
        let isNew = waiting { engine in await engine.status.succeededAt == nil } ?? true
        if isNew { _ = catchUp(&check) }
        progress(0, 0)
        let isBehind = inspect(readsAll: readsAll, &check)
        do throws(FileSystemError) {
            try comparePacks(readsAll: readsAll, isBehind: isBehind, &check, progress)
        } catch {
            check.unchecked.append(
                "The packs at the remote could not be compared with the index: \(error.summary).")
        }
        return check
    }

    /// Looks for members, commits and checkpoints, and again if something seems to be missing, or is new.
    ///
    /// - Returns: Whether this device is known to lack commits.
    private func inspect(readsAll: Bool, _ check: inout RemoteCheck) -> Bool {
        guard var findings = inspection(readsAll: readsAll) else {
            check.unchecked.append(
                "Members, commits and checkpoints were not checked: the remote did not answer.")
            return false
        }
        let first = findings.problems
        if !first.isEmpty || findings.isBehind {
            // Commits may have gone because of a new checkpoint.
            let again = catchUp(&check) ? inspection(readsAll: readsAll) : nil
            findings = again ?? findings
            if !first.isEmpty, again?.failures.contains(where: { $0.why.isOfRemote }) != false {
                let known = findings.problems
                findings.problems += first.filter { !known.contains($0) }
                check.unchecked.append(
                    "What is missing besides packs could not be looked for again: it may be there after all.")
            }
        }
        check.commits = findings.commitCount
        check.problems = findings.problems.map {
            RemoteCheck.Problem(text: $0.description, remedy: $0.remedy)
        }
        for (what, why) in findings.failures {
            check.unchecked.append("Not all \(what) were checked: \(Self.reason(why)).")
        }
        return findings.isBehind
    }

    private func inspection(readsAll: Bool) -> RemoteFindings? {
        waiting { engine in await engine.inspectRemote(readsAll: readsAll) }
    }

    private func comparePacks(
        readsAll: Bool, isBehind: Bool, _ check: inout RemoteCheck, _ progress: (Int, Int) -> Void
    ) throws(FileSystemError) {
        var packs = try PackCheck(of: vault, while: isHeard)
        defer { check.unchecked += packs.unchecked }
        let wanted = packs.packs
        packs.compare(with: waiting { engine in await engine.listedSizes(of: wanted) } ?? [:])
        (check.packs, check.bytes) = (wanted.count, packs.byteCount)
        if readsAll {
            packs.read(progress)
            check.readBytes = packs.readByteCount
        }
        guard packs.isSuspicious else { return }
        // Contents may have moved meanwhile.
        let isCurrent = catchUp(&check) && !isBehind
        check.problems += try packs.problems(isBehind: !isCurrent).map { RemoteCheck.Problem($0) }
    }

    /// Applies what is new at the remote.
    ///
    /// - Returns: Whether that succeeded.
    private func catchUp(_ check: inout RemoteCheck) -> Bool {
        let result = waiting { engine -> SyncError? in
            do throws(SyncError) {
                try await engine.catchUp()
                return nil
            } catch {
                return error
            }
        }
        let failure: SyncError? = result ?? .cancelled
        guard let failure else { return true }
        let text = "What is new at the remote could not be applied: \(Self.reason(failure))."
        if !check.unchecked.contains(text) { check.unchecked.append(text) }
        return false
    }

    private static func reason(_ error: SyncError) -> String {
        switch error {
        case .remote(let error, _): "\(error)"
        case .cancelled: "the remote did not answer"
        default: error.description
        }
    }

    /// Waits for a call of the engine as long as anybody listens and the remote answers; otherwise cancels it.
    ///
    /// - Returns: Nil if it does not end then.
    private func waiting<Value: Sendable>(
        _ body: @escaping @Sendable (SyncEngine) async -> Value
    ) -> Value? {
        var (count, since) = (callCount(), Clock.monotonic)
        let task = AwaitedTask { [engine] in await body(engine) }
        while true {
            if let value = task.wait(nanoseconds: Self.pause) { return value }
            let now = Clock.monotonic
            if callCount() != count { (count, since) = (callCount(), now) }
            if isHeard(), now - since < Self.patience { continue }
            task.cancel()
            return task.wait(nanoseconds: Self.endTime)
        }
    }
}

extension SyncError {
    /// Whether the remote failed, or did not answer.
    fileprivate var isOfRemote: Bool {
        switch self {
        case .remote, .cancelled: true
        default: false
        }
    }
}

extension RemoteCheck.Problem {
    init(_ problem: PackProblem) {
        let what: String
        switch problem.fault {
        case .missing: what = "is missing"
        case .cut(let byteCount): what = "is cut short after \(byteCount) byte\(byteCount == 1 ? "" : "s")"
        case .damaged: what = "is damaged"
        }
        let content =
            switch (problem.hereByteCount, problem.byteCount) {
            case (_, 0): "It has only descriptions of contents"
            case (0, let all):
                "\(ByteText.of(all)) of content is lost there, and none of it is on this device"
            case (let here, let all) where here == all:
                "\(ByteText.of(all)) of content is lost there, and all of it is on this device"
            case (let here, let all):
                "\(ByteText.of(all)) of content is lost there, and \(ByteText.of(here)) of it is on this device"
            }
        let past =
            switch (problem.fileCount, problem.pastCount) {
            case (_, 0): ""
            case (0, 1): " Only a past version on this device has it."
            case (0, _): " Only past versions on this device have it."
            case (_, let count): " Some is of \(count) past version\(count == 1 ? "" : "s")."
            }
        let rewrite = "copy each file out of the vault where it can be read, and back over itself"
        let remedy =
            switch problem.fault {
            case _ where problem.fileCount == 0: "No present file needs it, and so no new device does."
            case .missing:
                "The device that wrote these contents sends again what it still has: while mounted, within ten minutes; otherwise with the next “coffer sync”. If that does not help, \(rewrite)."
            case .cut, .damaged: "To send the contents again, \(rewrite)."
            }
        self.init(
            text: "Pack \(problem.pack) \(what). \(content).\(past)", remedy: remedy,
            paths: problem.paths, files: problem.fileCount, bytes: problem.byteCount,
            localBytes: problem.hereByteCount)
    }
}
