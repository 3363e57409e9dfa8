/// One line of a manifest.
///
/// A line announces every change before it begins, and `done` follows once the calls that make it durable have returned:
/// fsync of the file for contents, fsync of the directories for names. `scribble` announces an overwriting
/// that is not made durable by itself. Nothing is announced before the change before it is done, so that at
/// most one change is open at the end of a manifest.
enum ManifestRecord: Equatable {
    /// A new file, whole.
    case create(path: String, file: UInt64, generation: UInt64, size: Int)
    /// A new file under the name `path`.tmp, renamed over `path`.
    case replace(path: String, file: UInt64, generation: UInt64, size: Int)
    /// More bytes at the end; every page keeps its generation, a new page takes the given one.
    case append(path: String, generation: UInt64, size: Int)
    /// Whole pages overwritten and made durable.
    case overwrite(path: String, generation: UInt64, first: Int, count: Int)
    /// Whole pages overwritten, not made durable.
    case scribble(path: String, generation: UInt64, first: Int, count: Int)
    /// Truncated to a smaller size; the whole file is made durable.
    case truncate(path: String, size: Int)
    /// fsync of the file.
    case synchronise(path: String)
    case rename(path: String, to: String)
    case remove(path: String)
    /// The last announced change is durable.
    case done

    /// The words of the line.
    var line: String {
        switch self {
        case .create(let path, let file, let generation, let size):
            "create \(path) \(file) \(generation) \(size)"
        case .replace(let path, let file, let generation, let size):
            "replace \(path) \(file) \(generation) \(size)"
        case .append(let path, let generation, let size): "append \(path) \(generation) \(size)"
        case .overwrite(let path, let generation, let first, let count):
            "overwrite \(path) \(generation) \(first) \(count)"
        case .scribble(let path, let generation, let first, let count):
            "scribble \(path) \(generation) \(first) \(count)"
        case .truncate(let path, let size): "truncate \(path) \(size)"
        case .synchronise(let path): "synchronise \(path)"
        case .rename(let path, let target): "rename \(path) \(target)"
        case .remove(let path): "remove \(path)"
        case .done: "done"
        }
    }

    /// Reads a line; nil if it is malformed.
    init?(line: Substring) {
        let words = line.split(separator: " ")
        guard let verb = words.first else { return nil }
        let path = words.count > 1 ? String(words[1]) : ""
        let numbers = words.dropFirst(2).compactMap { UInt64($0) }
        switch (verb, words.count, numbers.count) {
        case ("create", 5, 3):
            self = .create(path: path, file: numbers[0], generation: numbers[1], size: Int(numbers[2]))
        case ("replace", 5, 3):
            self = .replace(path: path, file: numbers[0], generation: numbers[1], size: Int(numbers[2]))
        case ("append", 4, 2): self = .append(path: path, generation: numbers[0], size: Int(numbers[1]))
        case ("overwrite", 5, 3):
            self = .overwrite(
                path: path, generation: numbers[0], first: Int(numbers[1]), count: Int(numbers[2]))
        case ("scribble", 5, 3):
            self = .scribble(
                path: path, generation: numbers[0], first: Int(numbers[1]), count: Int(numbers[2]))
        case ("truncate", 3, 1): self = .truncate(path: path, size: Int(numbers[0]))
        case ("synchronise", 2, 0): self = .synchronise(path: path)
        case ("rename", 3, 0): self = .rename(path: path, to: String(words[2]))
        case ("remove", 2, 0): self = .remove(path: path)
        case ("done", 1, 0): self = .done
        default: return nil
        }
    }
}
