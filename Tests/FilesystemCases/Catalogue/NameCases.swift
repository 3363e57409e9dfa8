internal import CFilesystemCalls
internal import Glibc

/// Makes a file of every name, and requires that the listing gives back just these names, byte for byte.
private func expectKept(_ box: Sandbox, _ names: [[UInt8]]) throws {
    for (index, name) in names.enumerated() {
        let number = linux_open(AT_FDCWD, path(box, name), O_CREAT | O_EXCL | O_WRONLY, 0o644)
        try Descriptor(try check("open", number)).write("\(index)")
    }
    let listed = try DirectoryStream(box.root).rest().map(\.bytes)
    try expectEqual(Set(listed), Set(names), "names")
    try expectEqual(listed.count, names.count, "number of names")
    for (index, name) in names.enumerated() {
        let file = Descriptor(try check("open", linux_open(AT_FDCWD, path(box, name), O_RDONLY, 0)))
        try expectEqual(try file.text(), "\(index)", "contents")
    }
    for name in names { try check("unlink", Glibc.unlink(path(box, name))) }
    try expectEqual(try box.names(), [], "names at the end")
}

private func path(_ box: Sandbox, _ name: [UInt8]) -> [CChar] {
    (Array(box.root.utf8) + [UInt8(ascii: "/")] + name + [0]).map { CChar(bitPattern: $0) }
}

private func bytes(_ names: String...) -> [[UInt8]] {
    names.map { Array($0.utf8) }
}

let nameCases: [PosixCase] = [
    PosixCase("names of 1 to 255 bytes are kept") { box in
        try expectKept(box, (1...255).map { [UInt8](repeating: UInt8(ascii: "n"), count: $0) })
    },
    PosixCase("names of 256 bytes are ENAMETOOLONG for every call") { box in
        let long = String(repeating: "n", count: 256)
        try box.create("file")
        try expectFailure(ENAMETOOLONG) { try box.create(long) }
        try expectFailure(ENAMETOOLONG) { try box.open(long, O_RDONLY) }
        try expectFailure(ENAMETOOLONG) { try box.status(long) }
        try expectFailure(ENAMETOOLONG) { try box.makeDirectory(long) }
        try expectFailure(ENAMETOOLONG) { try box.removeDirectory(long) }
        try expectFailure(ENAMETOOLONG) { try box.unlink(long) }
        try expectFailure(ENAMETOOLONG) { try box.rename("file", long) }
        try expectFailure(ENAMETOOLONG) { try box.rename(long, "x") }
        try expectFailure(ENAMETOOLONG) { try box.link("file", long) }
        try expectFailure(ENAMETOOLONG) { try box.symlink("file", long) }
        try expectFailure(ENAMETOOLONG) { try box.makeFifo(long) }
        try expectFailure(ENAMETOOLONG) { try box.truncate(long, 0) }
    },
    PosixCase("names of 255 bytes are renamed, linked, listed and made directories") { box in
        let (first, second) = (String(repeating: "a", count: 255), String(repeating: "ü", count: 127) + "b")
        try box.create(first, "text")
        try box.rename(first, second)
        try box.link(second, first)
        try expectEqual(try box.names(), [first, second], "names")
        try box.unlink(first)
        try box.makeDirectory(first)
        try box.rename(second, "\(first)/\(second)")
        try expectEqual(try box.text("\(first)/\(second)"), "text", "contents")
    },
    PosixCase("paths of 4,095 bytes are allowed at most (ENAMETOOLONG)") { box in
        try expectFailure(ENAMETOOLONG) { try box.status(String(repeating: "d/", count: 2100)) }
    },
    PosixCase("every byte except NUL and slash is allowed in a name, UTF-8 or not") { box in
        let single = (1...255).map { UInt8($0) }.filter { $0 != UInt8(ascii: "/") && $0 != UInt8(ascii: ".") }
        try expectKept(box, single.map { [$0] })
        try expectKept(box, single.map { [UInt8(ascii: "x"), $0, UInt8(ascii: "y")] })
    },
    PosixCase("bytes that are no UTF-8 are kept as they are") { box in
        try expectKept(
            box,
            [
                [0xFF], [0xFE, 0xFF], [0xC3], [0x80], [0xC0, 0xAF], [0xED, 0xA0, 0x80], [0xF8, 0x88, 0x80],
                [UInt8](repeating: 0xFF, count: 255), [UInt8](repeating: 0x80, count: 254),
            ])
    },
    PosixCase("newlines, tabs, blanks, quotes and control characters are kept") { box in
        try expectKept(
            box,
            bytes("a\nb", "\n", "\t", " ", "  ", " a", "a ", "\"", "'", "\\", "\u{7F}", "\u{1B}[31m", "a\rb"))
    },
    PosixCase("leading dashes, dots and shell characters are kept") { box in
        try expectKept(
            box,
            bytes(
                "-rf", "--", "-", "...", "....", ".hidden", "..x", ".x.", "*", "?", "$HOME", "~", "a;b", "#"))
    },
    PosixCase("names that other systems forbid are kept") { box in
        try expectKept(box, bytes("CON", "nul", "a:b", "a<b>|c", "trailing.", "lost+found", "desktop.ini"))
    },
    PosixCase("names that differ in case alone are different files") { box in
        try expectKept(box, bytes("name", "Name", "NAME", "nAME", "ß", "ẞ", "SS", "ss"))
    },
    PosixCase("composed and decomposed forms are different files") { box in
        try expectKept(
            box,
            bytes(
                "\u{E9}", "e\u{301}", "\u{1EC7}", "e\u{323}\u{302}", "e\u{302}\u{323}", "\u{AC00}",
                "\u{1100}\u{1161}"))
    },
    PosixCase("names of many scripts, emoji and invisible characters are kept") { box in
        try expectKept(
            box,
            bytes("файл", "文件", "ملف", "👩‍👩‍👧‍👦", "\u{200B}", "\u{202E}txt", "\u{FEFF}", "a\u{AD}b", "\u{2028}"))
    },
    PosixCase("dot and dot-dot are no names to make") { box in
        for name in [".", ".."] {
            try expectFailure(EEXIST, EISDIR) { try box.create(name) }
            try expectFailure(EEXIST) { try box.makeDirectory(name) }
            try expectFailure(EEXIST) { try box.symlink("x", name) }
            try expectFailure(EISDIR, EPERM) { try box.unlink(name) }
        }
    },
    PosixCase("repeated slashes, dots and dot-dots in a path resolve as POSIX says") { box in
        try box.makeDirectory("d")
        try box.create("d/file", "text")
        try expectEqual(try box.text("d//file"), "text", "two slashes")
        try expectEqual(try box.text("./d/./file"), "text", "dots")
        try expectEqual(try box.text("d/../d/file"), "text", "dot-dot")
        try expectEqual(try box.status("d/").kind, S_IFDIR, "trailing slash")
    },
    PosixCase("names that are prefixes of each other are different files") { box in
        try expectKept(box, (1...60).map { Array(String("prefix-of-a-name-".cycled(to: $0)).utf8) })
    },
]

extension String {
    /// The first `count` characters of the string repeated.
    fileprivate func cycled(to count: Int) -> String {
        String(String(repeating: self, count: count / self.count + 1).prefix(count))
    }
}
