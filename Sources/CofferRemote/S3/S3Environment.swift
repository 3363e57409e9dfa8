internal import CofferSystem
internal import Glibc

/// The settings of Amazon's tools on this machine: variables of the environment, and the two profile files.
///
/// From "Configuration and credential file settings" in the AWS SDKs reference.
package struct S3Environment: Sendable {
    private static let fileByteCountMax = 1 << 20

    /// The value of a variable; nil if there is none, or it is empty.
    let variable: @Sendable (String) -> String?
    /// Reads a whole file; nil if that is not possible.
    let file: @Sendable (String) -> [UInt8]?

    /// The environment of this process.
    package static let process = S3Environment { name in
        guard let value = unsafe getenv(name) else { return nil }
        return unsafe String(cString: value)
    }

    /// An environment of these variables, with this machine's files.
    package init(_ variable: @escaping @Sendable (String) -> String?) {
        self.variable = { name in variable(name).flatMap { $0.isEmpty ? nil : $0 } }
        file = { path in try? WholeFile.read(path, limit: Self.fileByteCountMax) }
    }

    /// The profile in use.
    var profile: String { variable("AWS_PROFILE") ?? "default" }

    /// The path of the file of keys.
    var credentialsPath: String { path("AWS_SHARED_CREDENTIALS_FILE", "credentials") }

    /// The path of the file of settings.
    var configPath: String { path("AWS_CONFIG_FILE", "config") }

    private func path(_ variable: String, _ name: String) -> String {
        let home = self.variable("HOME") ?? ""
        guard let path = self.variable(variable) else { return "\(home)/.aws/\(name)" }
        return path.hasPrefix("~/") ? home + path.dropFirst() : path
    }

    /// The settings of the profile in both files; those of the file of keys win.
    var settings: [String: String] {
        let config = S3ProfileFile(file(configPath) ?? [])
        let section = profile == "default" ? ["default", "profile default"] : ["profile \(profile)"]
        let settings = section.reduce(into: [:]) { $0.merge(config.section($1)) { $1 } }
        return settings.merging(S3ProfileFile(file(credentialsPath) ?? []).section(profile)) { $1 }
    }

    /// The region of requests.
    var region: String {
        variable("AWS_REGION") ?? variable("AWS_DEFAULT_REGION") ?? settings["region"] ?? "us-east-1"
    }

    /// The server, where it is not Amazon's: scheme, host and port.
    var endpoint: String? {
        let text =
            variable("AWS_ENDPOINT_URL_S3") ?? variable("AWS_ENDPOINT_URL") ?? settings["endpoint_url"]
        return text.map { String($0.reversed().drop { $0 == "/" }.reversed()) }
    }
}

/// A file of profiles: sections, and settings in them.
///
/// Settings that are sections of their own ("s3 =", and indented lines) are left out.
struct S3ProfileFile {
    private var sections: [String: [String: String]] = [:]

    init(_ bytes: [UInt8]) {
        var section = ""
        for line in String(decoding: bytes, as: UTF8.self).split(whereSeparator: \.isNewline) {
            guard let first = line.first, first != "#", first != ";", !first.isWhitespace else { continue }
            if first == "[" {
                let name = line.dropFirst().prefix { $0 != "]" }
                section = name.split(whereSeparator: \.isWhitespace).joined(separator: " ")
                continue
            }
            guard let equals = line.firstIndex(of: "=") else { continue }
            let value = Self.trimmed(line[line.index(after: equals)...])
            if !value.isEmpty {
                sections[section, default: [:]][Self.trimmed(line[..<equals]).lowercased()] = value
            }
        }
    }

    func section(_ name: String) -> [String: String] { sections[name] ?? [:] }

    private static func trimmed(_ text: Substring) -> String {
        let start = text.drop { $0.isWhitespace }
        return String(start.reversed().drop { $0.isWhitespace }.reversed())
    }
}
