internal import Glibc

/// Times one request through the kernel and back, in a given mount.
struct RoundTripBenchmarks {
    let loop: Loop
    let directory: String

    func run() throws {
        let descriptor = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        guard descriptor >= 0 else { throw SystemFailure(code: errno) }
        defer { close(descriptor) }
        // The kernel never answers statfs from its cache.
        try loop.measure("round trip: statfs") { repetitions in
            var status = statvfs()
            for _ in 0..<repetitions where fstatvfs(descriptor, &status) < 0 {
                throw SystemFailure(code: errno)
            }
        }
    }

    struct SystemFailure: Error {
        let code: Int32
    }
}
