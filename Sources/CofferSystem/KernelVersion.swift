/// The version of a Linux kernel, as far as behaviour depends on it.
package struct KernelVersion: Comparable, Sendable {
    /// The first two numbers of the version.
    package let major: Int, minor: Int

    /// Makes a version from its first two numbers.
    package init(_ major: Int, _ minor: Int) {
        (self.major, self.minor) = (major, minor)
    }

    /// Reads a version like “6.18.44-generic”; nil if it is not one.
    package init?(_ text: String) {
        let numbers = text.split(separator: ".", maxSplits: 2).prefix(2).map { part in
            Int(part.prefix { ("0"..."9").contains($0) })
        }
        guard numbers.count == 2, let major = numbers[0], let minor = numbers[1] else { return nil }
        self.init(major, minor)
    }

    /// The version of the running kernel; nil if it cannot be read.
    package static var running: KernelVersion? {
        guard let bytes = try? WholeFile.read("/proc/sys/kernel/osrelease", limit: 128) else { return nil }
        return KernelVersion(String(decoding: bytes, as: UTF8.self))
    }

    package static func < (left: KernelVersion, right: KernelVersion) -> Bool {
        (left.major, left.minor) < (right.major, right.minor)
    }
}
