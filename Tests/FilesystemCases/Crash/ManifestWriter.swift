internal import Glibc

/// Changes files in a directory, makes the changes durable, and records in a manifest what is durable.
///
/// The manifest belongs on another filesystem than the directory; each of its lines is made durable itself.
/// The writer stops at the first error, which leaves at most one change open in the manifest.
package final class ManifestWriter {
    static let directories = ["d0", "d1", "d2", "d3"]

    let box: Sandbox
    let load: ManifestLoad
    private let manifest: Descriptor
    var random: SplitMix64
    private(set) var state = DurableState()
    private var number: UInt64 = 0

    /// Prepares an empty directory; the manifest must not exist.
    package init(
        directory: String, manifest: String, seed: UInt64, load: ManifestLoad = .mixed
    ) throws {
        box = Sandbox(root: directory)
        self.load = load
        random = SplitMix64(seed: seed)
        for name in Self.directories { try box.makeDirectory(name) }
        try box.open("", O_RDONLY | O_DIRECTORY).synchronise()
        self.manifest = try Sandbox.open(path: manifest, O_CREAT | O_EXCL | O_WRONLY | O_APPEND)
    }

    /// The number of durable changes.
    package var acknowledged: Int { state.done }

    /// Makes a number of changes; nil means until an error.
    package func run(changes: Int?) throws {
        while state.done < changes ?? .max { try change() }
    }

    private func change() throws {
        let paths = state.files.keys.sorted()
        guard paths.count > 4 else { return try create(freePath()) }
        let path = random.pick(paths)
        switch random.pick(load.changes) {
        case .replace: try replace(path)
        case .append: try append(path)
        case .overwrite: try overwrite(path, durably: true)
        case .scribble: try overwrite(path, durably: false)
        case .synchronise: try synchronise(path)
        case .truncate: try truncate(path)
        case .rename: try rename(path, to: random.below(3) == 0 ? random.pick(paths) : freePath())
        case .remove: try paths.count < load.fileCountMax / 2 ? synchronise(path) : remove(path)
        case .create: try paths.count < load.fileCountMax ? create(freePath()) : remove(path)
        }
    }

    private func freePath() -> String {
        number += 1
        return "\(random.pick(Self.directories))/f\(number)"
    }

    func freshNumber() -> UInt64 {
        number += 1
        return number
    }

    func size() -> Int {
        16 + random.below(random.pick(load.sizes))
    }

    func record(_ record: ManifestRecord) throws {
        try manifest.write(record.line + "\n")
        try manifest.synchronise()
        state.apply(record)
    }

    func synchroniseDirectory(of path: String) throws {
        let directory = String(path.prefix { $0 != "/" })
        try box.open(directory, O_RDONLY | O_DIRECTORY).synchronise()
    }
}
