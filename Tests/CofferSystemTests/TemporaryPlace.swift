import CFilesystemCalls
import CofferSystem
import Foundation
import Testing

/// A directory for one test, that every user may enter; removed with everything in it.
final class TemporaryPlace: Sendable {
    let path: String

    init() throws {
        var template = Array("\(NSTemporaryDirectory())/coffer-system-XXXXXX".utf8CString)
        path = String(cString: try #require(mkdtemp(&template)))
        try #require(chmod(path, 0o755) == 0)
    }

    deinit { try? FileManager.default.removeItem(atPath: path) }

    /// The path of a name in it.
    subscript(_ name: String) -> String { "\(path)/\(name)" }

    /// Puts a file there.
    @discardableResult
    func file(_ name: String, _ text: String = "text") throws -> String {
        // FileManager would create a file of another name, and rename it.
        let file = try #require(fopen(self[name], "w"))
        fputs(text, file)
        fclose(file)
        return self[name]
    }

    func directory(_ name: String) throws -> String {
        try #require(mkdir(self[name], 0o755) == 0)
        return self[name]
    }

    /// Puts a symbolic link there, and returns its path.
    func link(_ name: String, to target: String) throws -> String {
        try #require(symlink(target, self[name]) == 0)
        return self[name]
    }

    func text(_ name: String) throws -> String {
        try String(contentsOfFile: self[name], encoding: .utf8)
    }
}

/// Expects a call to fail, with one of some error numbers and about a path.
func expectError(
    _ codes: Int32..., on subject: String? = nil, sourceLocation: SourceLocation = #_sourceLocation,
    _ body: () throws -> Void
) {
    let error = #expect(throws: SystemError.self, sourceLocation: sourceLocation) { try body() }
    guard let error else { return }
    #expect(codes.contains(error.code), "\(error)", sourceLocation: sourceLocation)
    if let subject { #expect(error.subject == subject, sourceLocation: sourceLocation) }
}

/// Runs a body without the rights of root: on a thread that acts as nobody, if this process is root.
func withoutRights(_ body: @escaping () throws -> Void) throws {
    guard geteuid() == 0 else { return try body() }
    final class Job {
        let body: () throws -> Void
        var error: (any Error)?
        init(_ body: @escaping () throws -> Void) { self.body = body }
    }
    let job = Job(body)
    var credentials = linux_credentials(
        change: 1, user: 65534, group: 65534, groups: nil, group_count: 0, mask: 0o022)
    let result = linux_run_on_thread(
        &credentials,
        { context in
            guard let context else { return }
            let job = Unmanaged<Job>.fromOpaque(context).takeUnretainedValue()
            do { try job.body() } catch { job.error = error }
        }, Unmanaged.passUnretained(job).toOpaque())
    try #require(result == 0, "\(String(cString: strerror(errno)))")
    if let error = job.error { throw error }
}

/// Leaves this process no descriptor to open; for the body of a test that has a process of its own.
///
/// Open descriptors stay open. The limit is 0 rather than the lowest free number, because other threads may close
/// lower ones at any time.
func forbidDescriptors() {
    var limit = rlimit()
    getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
    limit.rlim_cur = 0
    setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
}
