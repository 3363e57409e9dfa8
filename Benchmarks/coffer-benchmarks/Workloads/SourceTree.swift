internal import Glibc

/// An archive of real sources that are installed on this machine.
struct SourceTree {
    let archive: String
    let fileCount: Int
    let bytes: Int
    let origins: [String]

    /// Packs C headers, Perl and Python modules.
    init(large: Bool, in directory: String) throws {
        archive = directory + "/tree.tar"
        let small = ["usr/share/perl", "usr/share/perl5", "usr/lib/python3"]
        let wanted = large ? ["usr/include"] + small : small
        origins = wanted.filter { access("/" + $0, R_OK) == 0 }
        if origins.isEmpty { throw Failure("none of \(wanted.joined(separator: ", ")) is here") }
        // Bytecode is not source code. All files belong to the current user, so that the tree can be compared
        // with the archive.
        let owner = ["--owner=+\(getuid())", "--group=+\(getgid())"]
        let arguments = ["-C", "/", "--exclude=__pycache__"] + owner + ["-cf", archive] + origins
        try Command("tar", arguments).run()
        // Directories end with a slash.
        let names = try Command("tar", ["-tf", archive]).run().split(separator: "\n")
        fileCount = names.count { !$0.hasSuffix("/") }
        var status = stat()
        try check(stat(archive, &status), "stat \(archive)")
        bytes = Int(status.st_size)
    }

    var text: String {
        "source tree: \(fileCount) files, \(bytes >> 20) MiB (this machine's "
            + origins.map { "/" + $0 }.joined(separator: ", ") + ")"
    }
}
