internal import CFilesystemCalls
internal import Glibc

/// Small workloads that a test runs in a process of its own.
package enum Workloads {
    /// Creates `count` files and holds them open for some seconds; then each must still read as it was written.
    ///
    /// Every second file is removed while it is open. Calls `ready` once all are open.
    package static func holdOpen(in directory: String, count: Int, seconds: Int, ready: () -> Void) throws {
        raiseDescriptorLimit()
        let box = Sandbox(root: directory)
        let files = try (0..<count).map { index in
            let name = "held-\(getpid())-\(index)"
            let file = try box.open(name, O_CREAT | O_EXCL | O_RDWR)
            try file.write(name)
            if index % 2 == 1 { try box.unlink(name) }
            return (name, file)
        }
        ready()
        sleep(UInt32(clamping: seconds))
        for (index, (name, file)) in files.enumerated() {
            try expectEqual(try file.text(), name, "contents of \(name)")
            if index % 2 == 0 { try box.unlink(name) }
        }
    }

    /// Lets four users create files at the same time; every file must belong to the user who made it.
    ///
    /// Needs root. The files stay in a new directory named `parallel-` and the process number; the answer
    /// names it.
    package static func parallelUsers(in directory: String, filesEach: Int = 200) throws -> String {
        let name = "parallel-\(getpid())"
        let box = Sandbox(root: directory)
        try box.makeDirectory(name)
        try checkParallelUsers(Sandbox(root: box.path(name)), filesEach: filesEach)
        return name
    }

    /// Makes an ext4 filesystem behave as after a power cut, without flushing its log; needs root.
    package static func shutDown(_ directory: String) throws {
        try check("EXT4_IOC_SHUTDOWN", linux_shut_down(directory))
    }

    private static func raiseDescriptorLimit() {
        var limit = rlimit()
        guard getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0 else { return }
        limit.rlim_cur = limit.rlim_max
        _ = setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
    }
}
