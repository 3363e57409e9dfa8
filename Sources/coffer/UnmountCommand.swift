internal import ArgumentParser
internal import CofferClient
internal import CofferSystem
internal import Glibc

struct UnmountCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "unmount", abstract: "Unmount the vaults, and return when everything is stored.",
        discussion: """
            The folder leads to the profile that serves it, so “--home” is not needed.

            Containers and services may have copies of the mount in their own mount namespaces. These are unmounted, too. \
            If a program uses one of them, it is named, and nothing is unmounted.
            """,
        aliases: ["umount"])

    @OptionGroup var profile: ProfileOptions

    @Argument(help: ArgumentHelp("The folder.", valueName: "mountpoint"), completion: .directory)
    var mountPoint: String

    @Flag(
        name: .shortAndLong,
        help: "Detach the mount now; it ends when no program uses it any longer.")
    var lazy = false

    @Flag(
        name: .shortAndLong,
        help: """
            Unmount even if the latest changes cannot be stored, for example on a full disk, if programs in other \
            mount namespaces use the mount, or if the process that serves it cannot be found. Changes that are not stored are lost.
            """)
    var force = false

    func run() throws {
        try Unmounting.unmount(
            mountPoint, lazily: lazy, force: force, try profile.location(), environment: Environment.value,
            note: Output.error)
    }
}
