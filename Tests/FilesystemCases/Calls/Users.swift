internal import CFilesystemCalls
internal import Glibc

/// The user that a thread acts as.
struct User: Sendable, Hashable {
    let uid: uid_t
    let gid: gid_t
    var groups: [gid_t] = []

    static let alice = User(uid: 10001, gid: 10001)
    static let bob = User(uid: 10002, gid: 10002)
    static let nobody = User(uid: 65534, gid: 65534)
    /// Bob, with Alice's group among his supplementary groups.
    static let bobInAlicesGroup = User(uid: 10002, gid: 10002, groups: [10001])
}

/// Runs a body on a thread of its own that acts as another user; its umask is 022.
@discardableResult
func acting<Value>(as user: User, _ body: () throws -> Value) throws -> Value {
    try onThread(as: user, umask: 0o022, body)
}

/// Runs a body on a thread of its own with a umask of its own.
@discardableResult
func withUmask<Value>(_ mask: mode_t, _ body: () throws -> Value) throws -> Value {
    try onThread(as: nil, umask: mask, body)
}

/// Runs a body as several users at the same time; throws the first failure.
func actingAtOnce(as users: [User], _ body: @escaping @Sendable (User) throws -> Void) throws {
    let jobs = users.map { user in ThreadJob { try body(user) } }
    let groups = UnsafeMutableBufferPointer<gid_t>.allocate(capacity: 1)
    defer { groups.deallocate() }
    let credentials = users.map { user in
        linux_credentials(
            change: 1, user: user.uid, group: user.gid, groups: UnsafePointer(groups.baseAddress),
            group_count: 0, mask: 0o022)
    }
    let list = JobList(jobs)
    _ = try withExtendedLifetime(list) {
        try check(
            "pthread_create",
            linux_run_on_threads(
                credentials, credentials.count,
                { context, index in
                    guard let context else { return }
                    Unmanaged<JobList>.fromOpaque(context).takeUnretainedValue().jobs[index].run()
                }, Unmanaged.passUnretained(list).toOpaque()))
    }
    for job in jobs {
        if let error = job.error { throw error }
    }
}

private func onThread<Value>(as user: User?, umask: mode_t, _ body: () throws -> Value) throws -> Value {
    var value: Value?
    try withoutActuallyEscaping({ value = try body() }) { (work: @escaping () throws -> Void) in
        let job = ThreadJob(work)
        let groups = user?.groups ?? []
        let result = groups.withUnsafeBufferPointer { list in
            var credentials = linux_credentials(
                change: user == nil ? 0 : 1, user: user?.uid ?? 0, group: user?.gid ?? 0,
                groups: list.baseAddress, group_count: list.count, mask: umask)
            return linux_run_on_thread(
                &credentials,
                { context in
                    guard let context else { return }
                    Unmanaged<ThreadJob>.fromOpaque(context).takeUnretainedValue().run()
                }, Unmanaged.passUnretained(job).toOpaque())
        }
        try check("setresuid", result)
        if let error = job.error { throw error }
        job.finish()
    }
    guard let value else { throw PosixError(call: "pthread_create", code: EAGAIN) }
    return value
}

/// Carries a body to another thread, and its failure back.
private final class ThreadJob {
    private var body: (() throws -> Void)?
    private(set) var error: (any Error)?

    init(_ body: @escaping () throws -> Void) {
        self.body = body
    }

    func run() {
        do { try body?() } catch { self.error = error }
        body = nil
    }

    func finish() {
        body = nil
    }
}

private final class JobList {
    let jobs: [ThreadJob]

    init(_ jobs: [ThreadJob]) {
        self.jobs = jobs
    }
}
