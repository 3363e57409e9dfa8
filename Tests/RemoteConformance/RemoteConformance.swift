package import CofferRemote

/// The promises of every backend, as cases that run on any: docs/protocol.md names the case of each promise.
///
/// Cases do not depend on a testing library, so that a command can run them against a user's own server.
package struct RemoteCase: Sendable, CustomStringConvertible {
    /// The promise that the case shows.
    package let name: String
    /// The kind of place that it needs.
    package let kind: RemotePlace.Kind
    /// Runs the case in an empty place; throws if the promise does not hold.
    package let run: @Sendable (RemotePlace) async throws -> Void

    init(
        _ name: String, _ kind: RemotePlace.Kind = .ordinary,
        _ run: @escaping @Sendable (RemotePlace) async throws -> Void
    ) {
        self.name = name
        self.kind = kind
        self.run = run
    }

    package var description: String { name }
}

/// All cases.
package enum RemoteConformance {
    /// The outcome of a case that did not fail.
    package enum Outcome: Equatable, Sendable {
        case passed
        /// This machine has no place for it.
        case skipped
    }

    /// All cases, in reading order.
    package static let cases: [RemoteCase] =
        readCases + writeCases + listCases + raceCases + limitCases + changeCases + crashCases

    /// Runs a case in a place of its own.
    package static func run(_ item: RemoteCase, at places: some RemotePlaces) async throws -> Outcome {
        guard let place = try await places.make(item.kind) else { return .skipped }
        defer { place.remove() }
        do {
            try await item.run(place)
        } catch is SkippedCase {
            return .skipped
        }
        return .passed
    }
}

/// Thrown by a case that cannot run in a place.
struct SkippedCase: Error {}

/// A promise that a backend breaks.
package struct ConformanceFailure: Error, CustomStringConvertible {
    package let description: String

    package init(_ description: String) {
        self.description = description
    }
}

/// Throws unless a condition holds.
func expect(_ holds: Bool, _ complaint: @autoclosure () -> String) throws {
    if !holds { throw ConformanceFailure(complaint()) }
}

/// Throws unless both values are equal.
func expect<Value: Equatable>(_ value: Value, is expected: Value, _ what: @autoclosure () -> String) throws {
    if value != expected { throw ConformanceFailure("\(what()): \(value) instead of \(expected)") }
}

/// Throws unless the body throws one of these.
func expect<Value>(
    _ errors: RemoteError..., by what: String, _ body: () async throws(RemoteError) -> Value
) async throws {
    do throws(RemoteError) {
        _ = try await body()
    } catch {
        if !errors.contains(error) { throw ConformanceFailure("\(what) says: \(error)") }
        return
    }
    throw ConformanceFailure("\(what) does not throw")
}

extension RemoteBackend {
    /// All bytes of a small object.
    package func all(_ name: RemoteName) async throws(RemoteError) -> [UInt8] {
        let content = try await get(name, 0..<min(limits.rangeByteCountMax, 8 << 20))
        guard content.bytes.count == content.objectByteCount else {
            throw .tooLarge(byteCount: content.objectByteCount, limit: content.bytes.count)
        }
        return content.bytes
    }

    /// All entries of a listing, page by page.
    package func all(
        _ prefix: RemotePrefix, after first: RemoteName? = nil
    ) async throws(RemoteError) -> [RemotePage.Entry] {
        var entries: [RemotePage.Entry] = []
        var after = first
        repeat {
            let page = try await list(prefix, after: after)
            entries += page.entries
            after = page.next
        } while after != nil
        return entries
    }
}
