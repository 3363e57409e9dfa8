internal import CofferClient
internal import CofferCrypto
internal import CofferSystem

/// A temporary profile, mounted and served by a thread of this process with the code of `coffer mount`.
final class BenchMount: Sendable {
    private enum State {
        case starting, serving
        case ended(ClientError?)
    }

    private static let vaultName = "Bench"
    /// How long the mount may take to store everything, in nanoseconds.
    private static let patience: Int64 = 120_000_000_000

    private let state = Condition(State.starting)
    private let point: MountPoint
    let profile: String

    /// The path of the vault in the mount.
    var vault: String { "\(point.path)/\(Self.vaultName)" }

    /// Creates the profile, mounts it, and waits until it serves.
    ///
    /// - Throws: `.noFUSE` if FUSE cannot be used.
    init(
        in place: BenchWorkplace, _ options: MountService.Options,
        _ environment: @escaping @Sendable (String) -> String?
    ) throws(ClientError) {
        profile = place.profile
        let location = ProfileLocation(path: place.profile)
        let passphrase = SecretBytes.random(count: 32)
        try Profile.create(
            at: location, passphrase: passphrase,
            Profile.Settings(
                name: "bench", device: "bench", hint: nil, strength: .interactive,
                firstVault: Self.vaultName))
        let opened = try Profile.unlock(location, try location.takeLock(), passphrase: passphrase)
        point = try MountPoint.prepare(place.mountPoint).point
        let (state, point) = (state, point)
        try systemCalls { () throws(SystemError) in
            try Thread.startDetached("coffer") {
                do throws(ClientError) {
                    try MountService.run(
                        opened, at: point, options, environment: environment,
                        serving: { _ in state.update { $0 = .serving } }, report: { _ in })
                    state.update { $0 = .ended(nil) }
                } catch {
                    state.update { $0 = .ended(error) }
                }
            }
        }
        let failure = state.wait { state -> ClientError?? in
            switch state {
            case .starting: nil
            case .serving: .some(nil)
            case .ended(let error): error ?? .mount(.notMounted(path: point.path))
            }
        }
        if let failure { throw failure }
    }

    /// Unmounts, and waits until everything is stored and all files are closed.
    func end() throws(ClientError) {
        do throws(SystemError) {
            try MountPoint.detach(point.path, lazily: false)
        } catch {
            // Another process uses it, or has unmounted it.
            try? MountPoint.detach(point.path, lazily: true)
        }
        let isOver = state.wait(nanoseconds: Self.patience) { state -> Bool? in
            if case .ended = state { true } else { nil }
        }
        if isOver == nil { throw .mount(.mountPoint(path: point.path, .busy)) }
    }
}
