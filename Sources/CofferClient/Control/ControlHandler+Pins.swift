internal import CofferFUSE
internal import CofferFormat
internal import CofferVault

// Requests to pin and evict content.
extension ControlHandler {
    /// Pins items; fetches their content if `waits`, until the client leaves.
    func pin(
        _ paths: [String], of name: String, waits: Bool, _ client: RequestClient
    ) throws(ClientError) -> [PinReport] {
        // Without a remote all content is here, and pins have no meaning.
        let mounted = try shared.named(name).mounted
        let items = try numbers(of: paths, in: mounted)
        do throws(FileSystemError) { try mounted.vault.cache.pin(items) } catch { throw .vault(error) }
        if waits { try fetch(items, in: mounted, while: client.isHeard, client.progress) }
        var reports: [PinReport] = []
        for (item, path) in zip(items, paths) { reports.append(try report(on: item, path, in: mounted)) }
        return reports
    }

    func unpin(_ paths: [String], of name: String) throws(ClientError) {
        let mounted = try vaults.named(name)
        let items = try numbers(of: paths, in: mounted)
        let others: [Int64]
        do throws(FileSystemError) { others = try mounted.vault.cache.unpin(items) } catch {
            throw .vault(error)
        }
        if let place = items.firstIndex(where: { others.contains($0) }) {
            throw .content(.notPinned(path: paths[place], vault: name))
        }
    }

    /// The pins of one vault, or of all.
    func pins(of name: String?) throws(ClientError) -> [PinReport] {
        let all = if let name { [try vaults.named(name)] } else { vaults.vaults }
        var reports: [PinReport] = []
        for mounted in all { reports += try pins(of: mounted) }
        return reports
    }

    func evict(
        _ paths: [String], of name: String, _ progress: @escaping @Sendable (Progress) -> Void
    ) throws(ClientError) -> EvictReport {
        // Not while another command gives up the remote, from which evicted content would be fetched.
        let mounted = try shared.named(name).mounted
        return try shared.alone(mounted.vault.id, name) { () throws(ClientError) in
            try evict(paths, of: mounted, progress)
        }
    }

    private func evict(
        _ paths: [String], of mounted: MountedVault, _ progress: @escaping @Sendable (Progress) -> Void
    ) throws(ClientError) -> EvictReport {
        let items = try numbers(of: paths, in: mounted)
        do throws(FileSystemError) {
            // A full disk has no space to store changes until content is evicted.
            if !vaults.isReadOnly { try? mounted.vault.commit() }
            let files = try mounted.vault.files(below: items)
            let result = try mounted.vault.cache.evict(files) {
                progress(Progress(done: $0, total: files.count))
            }
            return EvictReport(mounted.name, result)
        } catch {
            throw .vault(error)
        }
    }

    /// The sum of all pins of a vault; nil without pins.
    func pinned(_ vault: Vault) throws(FileSystemError) -> PinnedReport? {
        guard let use = try vault.cache.pinnedUse() else { return nil }
        return PinnedReport(
            paths: use.paths, files: use.content.files, bytes: use.content.bytes,
            missingBytes: use.content.missing)
    }

    private func numbers(of paths: [String], in mounted: MountedVault) throws(ClientError) -> [Int64] {
        var numbers: [Int64] = []
        for path in paths {
            do throws(FileSystemError) {
                numbers.append(try mounted.vault.number(atPath: Array(path.utf8)))
            } catch {
                switch error {
                case .notFound, .notDirectory, .nameTooLong:
                    throw .content(.noSuchPath(path: path, vault: mounted.name))
                default: throw .vault(error)
                }
            }
        }
        return numbers
    }

    private func fetch(
        _ items: [Int64], in mounted: MountedVault, while isHeard: () -> Bool,
        _ progress: (Progress) -> Void
    ) throws(ClientError) {
        let vault = mounted.vault
        do throws(FileSystemError) {
            _ = try vault.cache.fetchContents(of: try vault.files(below: items), while: isHeard) {
                done, total in
                progress(Progress(done: Int(done), total: Int(total), isBytes: true))
            }
        } catch {
            let files = try? vault.files(below: items)
            let use = files.flatMap { try? vault.cache.contentUse(of: $0) }
            throw .content(.notFetched(vault: mounted.name, bytes: use?.missing ?? 0, error))
        }
    }

    private func pins(of mounted: MountedVault) throws(ClientError) -> [PinReport] {
        let paths: [Int64: String]
        do throws(FileSystemError) {
            let items = try mounted.vault.cache.pinnedItems()
            if items.isEmpty { return [] }
            if !vaults.isReadOnly { try mounted.vault.commit() }
            let found = try mounted.vault.paths(of: items)
            // The root has no name.
            paths = Dictionary(items.map { ($0, found[$0] ?? "") }) { first, _ in first }
        } catch {
            throw .vault(error)
        }
        var reports: [PinReport] = []
        for (item, path) in paths { reports.append(try report(on: item, path, in: mounted)) }
        return reports.sorted { $0.path < $1.path }
    }

    private func report(
        on item: Int64, _ path: String, in mounted: MountedVault
    ) throws(ClientError) -> PinReport {
        do throws(FileSystemError) {
            let use = try mounted.vault.cache.contentUse(of: try mounted.vault.files(below: [item]))
            return PinReport(
                vault: mounted.name, path: path, files: use.files, bytes: use.bytes,
                missingBytes: use.missing)
        } catch {
            throw .vault(error)
        }
    }
}

extension EvictReport {
    init(_ vault: String, _ result: Cache.Evicted) {
        let kept = Cache.EvictionObstacle.allCases.compactMap { reason in
            result.kept[reason].map { Kept(reason: reason.rawValue, bytes: $0) }
        }
        self.init(vault: vault, evictedBytes: result.byteCount, kept: kept)
    }
}
