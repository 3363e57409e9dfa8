internal import CCofferSystem
internal import Glibc

/// The variables of this process's environment.
package enum ProcessVariables {
    /// All of them; no other thread may set one meanwhile.
    package static var all: [String: String] {
        var variables: [String: String] = [:]
        var next = unsafe coffer_environment()
        // SAFETY: the array ends with a null pointer; each text ends with a null byte.
        while let text = unsafe next?.pointee {
            let parts = unsafe String(cString: text).split(
                separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            if parts.count == 2 { variables[String(parts[0])] = String(parts[1]) }
            unsafe next = next.map { unsafe $0 + 1 }
        }
        return variables
    }
}
