internal import CofferSystem
internal import Glibc

/// Who holds a claim on a name: a boot of a machine, a namespace of processes in it, a process, and a number that
/// nobody else has.
///
/// Containers of one machine have the same boot and the same numbers of processes. The namespace tells them apart,
/// and the number tells two claims apart that one process, or a copy of a machine, has made.
struct ClaimHolder {
    /// "BOOT.NAMESPACE.PROCESS.NUMBER".
    let text: String

    /// This process, with a new number.
    init() {
        text = "\(Self.place(getpid())).\(String(UInt64.random(in: 0 ... .max), radix: 16))"
    }

    /// Whether a holder is a process of this machine and this namespace that has ended.
    ///
    /// Nobody can tell that of a process elsewhere.
    static func hasEnded(_ text: some StringProtocol) -> Bool {
        let parts = text.split(separator: ".", omittingEmptySubsequences: false)
        guard parts.count == 4, let process = pid_t(parts[2]), process > 0,
            text.hasPrefix("\(place(process))."), parts[0] != "", parts[1] != "0"
        else { return false }
        return kill(process, 0) != 0 && errno == ESRCH
    }

    /// A process of this boot and this namespace.
    static func place(_ process: pid_t) -> String {
        let boot = ((try? Clock.bootIdentifier()) ?? "").filter { $0.isHexDigit }
        var status = stat()
        let space = unsafe stat("/proc/self/ns/pid", &status) == 0 ? status.st_ino : 0
        return "\(boot).\(space).\(process)"
    }
}
