import Glibc

do {
    exit(try run(Arguments(Array(CommandLine.arguments.dropFirst()))))
} catch let error as UsageError {
    say("filesystem-workload: \(error.message)\n\n\(usage)")
    exit(ExitStatus.usage)
} catch {
    say("filesystem-workload: \(error)")
    exit(ExitStatus.failure)
}
