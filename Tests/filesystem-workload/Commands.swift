import FilesystemCases

/// Runs the command; returns the exit status.
func run(_ arguments: Arguments) throws -> Int32 {
    switch arguments.words.first {
    case "run-catalogue": try runCatalogue(arguments)
    case "random": try runRandom(arguments)
    case "write-manifest": try writeManifest(arguments)
    case "check-manifest": try checkManifest(arguments)
    case "open-files": try openFiles(arguments)
    case "parallel-users": try parallelUsers(arguments)
    case "shut-down": try shutDown(arguments)
    case let command?: throw UsageError(message: "unknown command \(command)")
    case nil: throw UsageError(message: "no command")
    }
}

private func runCatalogue(_ arguments: Arguments) throws -> Int32 {
    try arguments.allow("--without", "--only")
    let directory = try arguments.positions("DIR")[0]
    let lacking = Set(try choices(Requirement.self, arguments.values("--without")))
    let only = arguments.values("--only")
    var counts = (passed: 0, failed: 0, skipped: 0)
    for (index, posixCase) in PosixCatalogue.all.enumerated() {
        guard only.isEmpty || only.contains(where: posixCase.name.contains) else { continue }
        let outcome = PosixCatalogue.run(
            posixCase, in: directory, as: "posix-case-\(index)", lacking: lacking)
        switch outcome.result {
        case .passed:
            counts.passed += 1
            say("ok \(outcome.name)")
        case .failed(let reason):
            counts.failed += 1
            say("FAILED \(outcome.name): \(reason)")
        case .skipped(let lacking):
            counts.skipped += 1
            say("skipped \(outcome.name): lacks \(lacking.map(\.rawValue).sorted().joined(separator: ", "))")
        }
    }
    if counts.skipped > 0 { say("\(counts.skipped) skipped") }
    say("\(counts.passed) passed, \(counts.failed) failed")
    return counts.failed == 0 ? ExitStatus.success : ExitStatus.failure
}

private func runRandom(_ arguments: Arguments) throws -> Int32 {
    try arguments.allow("--seed", "--operations", "--without")
    let directories = try arguments.positions("REFERENCE", "SUBJECT")
    let seed: UInt64 = try arguments.number("--seed") ?? 1
    let operations: Int = try arguments.number("--operations") ?? 5000
    let random = RandomOperations(
        seed: seed, reference: directories[0], subject: directories[1],
        without: Set(try choices(OperationKind.self, arguments.values("--without"))))
    do {
        try random.run(operations: operations)
    } catch {
        say("\(error)")
        return ExitStatus.failure
    }
    say("\(operations) operations of seed \(seed): \(random.successes) succeeded, no difference")
    return ExitStatus.success
}

private func writeManifest(_ arguments: Arguments) throws -> Int32 {
    try arguments.allow("--seed", "--changes", "--load")
    let paths = try arguments.positions("DIR", "MANIFEST")
    let load = try choices(ManifestLoad.self, arguments.values("--load")).last ?? .mixed
    let writer = try ManifestWriter(
        directory: paths[0], manifest: paths[1], seed: try arguments.number("--seed") ?? 1, load: load)
    do {
        try writer.run(changes: try arguments.number("--changes"))
    } catch {
        say("stopped after \(writer.acknowledged) durable changes: \(error)")
        return ExitStatus.stopped
    }
    say("\(writer.acknowledged) durable changes")
    return ExitStatus.success
}

private func checkManifest(_ arguments: Arguments) throws -> Int32 {
    try arguments.allow()
    let paths = try arguments.positions("DIR", "MANIFEST")
    var checker = try ManifestChecker(directory: paths[0], manifest: paths[1])
    let report = checker.check()
    for problem in report.problems { say("LOST \(problem)") }
    say(
        "\(report.acknowledged) durable changes, \(report.files) files and \(report.pages) pages checked, "
            + "\(report.laterPages) pages later than durable, \(report.problems.count) problems")
    return report.problems.isEmpty ? ExitStatus.success : ExitStatus.failure
}

private func openFiles(_ arguments: Arguments) throws -> Int32 {
    try arguments.allow()
    let words = try arguments.positions("DIR", "COUNT", "SECONDS")
    let count: Int = try Arguments.number(words[1])
    try Workloads.holdOpen(in: words[0], count: count, seconds: try Arguments.number(words[2])) {
        say("holding \(count)")
    }
    say("all \(count) files kept their contents")
    return ExitStatus.success
}

private func parallelUsers(_ arguments: Arguments) throws -> Int32 {
    try arguments.allow()
    let name = try Workloads.parallelUsers(in: try arguments.positions("DIR")[0])
    say("every file in \(name) belongs to the user who made it")
    return ExitStatus.success
}

private func shutDown(_ arguments: Arguments) throws -> Int32 {
    try arguments.allow()
    try Workloads.shutDown(try arguments.positions("DIR")[0])
    return ExitStatus.success
}

/// The cases of an enumeration by their names.
private func choices<Choice: RawRepresentable & CaseIterable>(
    _ type: Choice.Type, _ names: [String]
) throws -> [Choice] where Choice.RawValue == String {
    try names.map { name in
        guard let choice = Choice(rawValue: name) else {
            let known = Choice.allCases.map(\.rawValue).joined(separator: ", ")
            throw UsageError(message: "\(name) is none of \(known)")
        }
        return choice
    }
}
