internal import CFilesystemCalls
internal import Glibc

/// Draws operations; the seed alone determines them.
struct OperationGenerator {
    var random: SplitMix64
    private let kinds: [OperationKind]

    /// The maximum number of files held open at once.
    static let slots = 6
    static let longName = String(repeating: "long", count: 50)

    init(seed: UInt64, without excluded: Set<OperationKind>) {
        random = SplitMix64(seed: seed)
        kinds = OperationKind.allCases.filter { !excluded.contains($0) }
            .flatMap { kind in Array(repeating: kind, count: Self.weight(of: kind)) }
    }

    /// How often each kind is drawn, relative to the others.
    private static func weight(of kind: OperationKind) -> Int {
        switch kind {
        case .create, .write, .makeDirectory, .heldWrite: 5
        case .rename, .append, .hold, .map, .heldRead, .read: 3
        case .fifo, .removeDirectory, .changeOwner, .synchronise: 1
        default: 2
        }
    }

    mutating func next() -> Operation {
        let kind = random.pick(kinds)
        return contentsOperation(kind) ?? namesOperation(kind) ?? heldOperation(kind)
    }

    private mutating func contentsOperation(_ kind: OperationKind) -> Operation? {
        switch kind {
        case .write: .write(file(), offset: offset(), count: count(), seed: random.below(1000))
        case .append: .append(file(), count: count(), seed: random.below(1000))
        case .rewrite: .rewrite(file(), count: count(), seed: random.below(1000))
        case .truncate: .truncate(file(), size: offset())
        case .allocate:
            .allocate(file(), mode: random.pick(Self.allocations), offset: offset(), length: Int64(count()))
        case .read: .read(file(), offset: offset(), count: count())
        case .copy: .copy(file(), offset: offset(), to: file(), targetOffset: offset(), count: count())
        case .map: .map(file(), offset: offset(), count: count(), seed: random.below(1000))
        case .synchronise: .synchronise(anything())
        default: nil
        }
    }

    private mutating func namesOperation(_ kind: OperationKind) -> Operation? {
        switch kind {
        case .create: .create(file(), mode: mode(), exclusive: random.below(2) == 0)
        case .rename: rename(flags: random.pick([0, 0, LINUX_RENAME_NOREPLACE]))
        case .exchange: rename(flags: LINUX_RENAME_EXCHANGE)
        case .link: .link(random.below(10) == 0 ? directory() : file(), to: file())
        case .unlink: .unlink(random.below(10) == 0 ? directory() : file())
        case .makeDirectory: .makeDirectory(directory(), mode: mode() | 0o700)
        case .removeDirectory: .removeDirectory(directory())
        case .symbolicLink: .symbolicLink(file(), target: random.pick(Self.targets))
        case .fifo: .fifo(file(), mode: mode())
        case .list: .list(directory())
        case .status: .status(anything())
        case .readLink: .readLink(anything())
        default: attributesOperation(kind)
        }
    }

    private mutating func attributesOperation(_ kind: OperationKind) -> Operation? {
        switch kind {
        case .changeMode: .changeMode(anything(), mode: mode())
        case .changeOwner:
            .changeOwner(
                // Not both unchanged: whether that clears setuid differs (docs/posix.md).
                anything(), owner: random.pick([0, 10_001]),
                group: random.pick([0, 10_002, unchanged]), following: random.below(2) == 0)
        case .setTimes:
            .setTimes(anything(), accessed: time(), modified: time(), following: random.below(3) > 0)
        case .setAttribute:
            .setAttribute(
                anything(), attribute: attribute(), count: random.below(100), seed: random.below(1000),
                flags: Int32(random.pick([0, 0, 1, 2])))
        case .removeAttribute: .removeAttribute(anything(), attribute: attribute())
        default: nil
        }
    }

    private mutating func heldOperation(_ kind: OperationKind) -> Operation {
        let slot = random.below(Self.slots)
        return switch kind {
        case .hold:
            .hold(slot: slot, file(), flags: random.pick([O_RDWR, O_RDWR | O_CREAT, O_RDWR | O_APPEND]))
        case .heldWrite: .heldWrite(slot: slot, offset: offset(), count: count(), seed: random.below(1000))
        case .heldRead: .heldRead(slot: slot, offset: offset(), count: count())
        case .heldTruncate: .heldTruncate(slot: slot, size: offset())
        case .heldMode: .heldMode(slot: slot, mode: mode())
        case .release: .release(slot: slot)
        default: .heldStatus(slot: slot)
        }
    }
}
