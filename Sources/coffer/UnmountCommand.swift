internal import ArgumentParser
internal import CofferClient
internal import CofferSystem
internal import Glibc

struct UnmountCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "unmount", abstract: "Unmount the vaults; returns when everything is stored.",
        discussion: """
            Copies of the mount in other mount namespaces, as containers and services have them, end with it. If \
            programs use one, they are named, and the mount stays.
            """,
        aliases: ["umount"])

    @OptionGroup var profile: ProfileOptions

    @Argument(help: ArgumentHelp("The folder.", valueName: "mountpoint"), completion: .directory)
    var mountPoint: String

    @Flag(
        name: .shortAndLong,
        help: "Take the mount away now, and end it with its last user, here or in another mount namespace.")
    var lazy = false

    @Flag(
        name: .shortAndLong,
        help: """
            Unmount even if the latest changes cannot be stored, as on a full disk, or programs use the mount \
            in another mount namespace; what is not stored is lost then.
            """)
    var force = false

    func run() throws {
        try Unmounting.unmount(
            mountPoint, lazily: lazy, force: force, try profile.location(), note: Output.error)
    }
}
