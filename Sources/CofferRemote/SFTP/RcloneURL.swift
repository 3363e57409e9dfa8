internal import CofferSystem

/// The URL of a place that rclone reaches: "rclone:REMOTE:PATH", as rclone itself writes it.
package struct RcloneURL: Hashable, Sendable {
    /// The name of a remote of rclone's configuration.
    let remote: String
    /// Without "/" at its end; may be empty.
    let path: String

    /// Parses what follows "rclone:".
    ///
    /// URLs come from invites. So REMOTE is a name of the configuration and nothing else: rclone also takes
    /// descriptions of remotes there (":local:", "name,option=value:"), which can name any file, or run programs.
    init(_ rest: Substring) throws(RemoteURL.Mistake) {
        let remote = rest.prefix { $0 != ":" }
        guard remote.endIndex != rest.endIndex, Self.isName(remote) else { throw .badPlace(Self.form) }
        let text = rest[rest.index(after: remote.endIndex)...]
        guard PrintableText.hasNoControls(text) else { throw .badEncoding }
        var parts = text.split(separator: "/", omittingEmptySubsequences: false)
        while parts.last == "" { parts.removeLast() }
        let names = text.hasPrefix("/") ? parts.dropFirst() : parts[...]
        guard names.allSatisfy({ !["", ".", ".."].contains($0) }) else { throw .badSegment }
        self.remote = String(remote)
        path = parts.joined(separator: "/")
    }

    private static let form = "rclone:REMOTE:PATH, with a REMOTE that “rclone listremotes” shows"

    private static func isName(_ text: Substring) -> Bool {
        guard let first = text.first, let last = text.last, first != "-", first != " ", last != " " else {
            return false
        }
        return text.utf8.allSatisfy { byte in
            PercentEncoding.isUnreserved(byte) && byte != UInt8(ascii: "~")
                || Array("+@ ".utf8).contains(byte)
        }
    }

    /// What rclone calls the place.
    var place: String { "\(remote):\(path)" }

    /// The URL in the form that is stored and shown.
    var text: String { "rclone:\(place)" }
}
