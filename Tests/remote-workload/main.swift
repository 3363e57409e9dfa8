import CofferFormat
import CofferRemote
import Glibc
import RemoteConformance

// Programs that RemoteConformance runs as separate processes:
//   remote-workload write URL VAULT WRITER   puts objects until it is killed; says “won NAME NUMBER” of each
//   remote-workload large URL VAULT          puts and gets 64 MiB; fails if that takes much memory
// Exit status: 0 success; 1 failure; 2 wrong usage.

func say(_ text: String) {
    let line = Array("\(text)\n".utf8)
    // One write: a killed process has written a whole line, or nothing of it.
    if write(1, line, line.count) != line.count { exit(1) }
}

let arguments = CommandLine.arguments
guard arguments.count >= 4, let vault = VaultID(hexadecimal: arguments[3]) else {
    say("usage: remote-workload write|large URL VAULT [WRITER]")
    exit(2)
}
do {
    let remote = try RemoteURL(arguments[2]).open()
    let layout = RemoteLayout(vault)
    switch arguments[1] {
    case "write": try await Writer(remote, layout, writer: UInt64(arguments.last ?? "") ?? 0).run()
    case "large": try await LargeObject(remote, layout).run()
    default: exit(2)
    }
} catch {
    say("failed: \(error)")
    exit(1)
}
