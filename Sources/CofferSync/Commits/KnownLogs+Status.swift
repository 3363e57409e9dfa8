internal import CofferFormat
internal import CofferTrust

// What the logs show of devices and problems.
extension KnownLogs {
    /// All devices that have written a commit, in the order of their log ids.
    func devices(_ chain: MemberChain) -> [DeviceStatus] {
        let lastChange = ownSummary?.lastWrite?.sequence ?? 0
        return applied.values.filter { !isLeft($0.log, chain) }.sorted { $0.log < $1.log }.map { summary in
            let isThisDevice = summary.log == own
            let seen = isThisDevice ? summary.head.sequence : seenOfOwn[summary.log]
            return DeviceStatus(
                author: author(summary.log), identity: summary.author, isThisDevice: isThisDevice,
                sequence: summary.head.sequence, milliseconds: summary.clock >> 16,
                isMembers: chain.state.members[summary.author] != nil,
                hasNewestKeys: isThisDevice
                    || chain.boundingLink(of: summary.author, behind: summary.head.members) == nil,
                hasAllOfThisDevice: seen.map { $0 >= lastChange } ?? false)
        }
    }

    /// Why logs are not read on: too many logs, stops, forks, and commits that others wait for.
    ///
    /// - Parameter name: Returns the name of an identity, if it is known.
    func findings(name: (IdentityID) -> String?) -> [SyncFinding] {
        excessFindings(name: name) + stopFindings(name: name)
            + forks.sorted { $0.key < $1.key }.map { .forked(author($0.key), $0.value) }
            + queue.gaps.sorted { $0.key < $1.key }.filter { stops[$0.key.log] == nil }.map {
                missing, waiting in
                .gap(
                    author(missing.log), missing: missing.sequence, waiting: author(waiting.log),
                    sequence: waiting.sequence)
            }
    }

    /// Commits that are lost, as far as nothing else is reported of their logs.
    var absentFindings: [SyncFinding] {
        let gaps = queue.gaps
        return absent.lost.sorted().filter { stops[$0.log] == nil && gaps[$0] == nil }.map {
            .absent(author($0.log), sequence: $0.sequence)
        }
    }

    /// The authors with more logs than are applied, and how many more.
    private func excessFindings(name: (IdentityID) -> String?) -> [SyncFinding] {
        var waiting: [IdentityID: Int] = [:]
        for stop in stops.values {
            if case .tooManyLogs(let author) = stop.problem { waiting[author, default: 0] += 1 }
        }
        return waiting.sorted { $0.key < $1.key }.map {
            .tooManyLogs($0.key, name: name($0.key), waiting: $0.value)
        }
    }

    private func stopFindings(name: (IdentityID) -> String?) -> [SyncFinding] {
        // Known logs come first, since there may be any number of others.
        let stopped = stops.values.filter(\.isNamed).sorted {
            (checked[$0.dot.log] == nil ? 1 : 0, $0.dot) < (checked[$1.dot.log] == nil ? 1 : 0, $1.dot)
        }
        return stopped.prefix(Findings.countMax).map { stop in
            let (author, sequence) = (author(stop.dot.log), stop.dot.sequence)
            if case .otherAuthor(let identity) = stop.problem {
                return .intruder(author, sequence: sequence, identity, name: name(identity))
            }
            return .stopped(author, sequence: sequence, stop.problem)
        }
    }
}
