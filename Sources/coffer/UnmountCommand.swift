internal import ArgumentParser
internal import CofferClient
internal import CofferSystem
internal import Glibc

struct UnmountCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "unmount", abstract: "Unmount the vaults; returns when everything is stored.",
        aliases: ["umount"])

    @OptionGroup var profile: ProfileOptions

    @Argument(help: ArgumentHelp("The folder.", valueName: "mountpoint"), completion: .directory)
    var mountPoint: String

    @Flag(name: .shortAndLong, help: "Take the mount away now, and end it when nobody uses it any more.")
    var lazy = false

    @Flag(
        name: .shortAndLong,
        help: "Unmount even if the latest changes cannot be stored, as on a full disk; they are lost then.")
    var force = false

    func run() throws {
        try Unmounting.unmount(mountPoint, lazily: lazy, force: force, try profile.location())
    }
}
