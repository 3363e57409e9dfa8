internal import ArgumentParser
internal import CofferFormat

struct VersionCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "version", abstract: "Print the version, and the format versions that it supports.")

    @Flag(help: "Print JSON.")
    var json = false

    private struct Versions: Encodable {
        let coffer: String
        let profileFormat: UInt32
        let packFormat: UInt32
    }

    func run() throws {
        if json {
            return try Output.json(
                Versions(
                    coffer: Coffer.version, profileFormat: ProfileRecord.version,
                    packFormat: PackHeader.version))
        }
        Output.line(
            "coffer \(Coffer.version) (profile format \(ProfileRecord.version), pack format \(PackHeader.version))"
        )
    }
}
