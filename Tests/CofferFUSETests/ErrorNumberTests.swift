import CofferFUSE
import CofferFormat
import CofferSystem
import CofferTestSupport
import CofferVault
import Glibc
import Testing

/// Every error of a vault, and the errno that a program sees.
@Suite struct ErrorNumberTests {
    static let table: [(FileSystemError, Int32)] = [
        (.notFound, ENOENT), (.alreadyExists, EEXIST), (.notDirectory, ENOTDIR), (.isDirectory, EISDIR),
        (.directoryNotEmpty, ENOTEMPTY), (.nameTooLong, ENAMETOOLONG), (.invalidArgument, EINVAL),
        (.notPermitted, EPERM), (.accessDenied, EACCES), (.readOnly, EROFS), (.crossVault, EXDEV),
        (.busy, EBUSY), (.noSpace, ENOSPC), (.fileTooLarge, EFBIG), (.tooManyLinks, EMLINK),
        (.attributeNotFound, ENODATA), (.attributeTooLarge, E2BIG), (.bufferTooSmall, ERANGE),
        (.notSupported, EOPNOTSUPP), (.beyondEnd, ENXIO), (.stale, ESTALE), (.damaged(place: "a page"), EIO),
        (.system(SystemError("read", code: EACCES)), EIO), (.format(.truncated, place: "a pack"), EIO),
        (.index(code: 11, message: "broken"), EIO), (.stopped(reason: "broken"), EIO),
        (.unreachable(reason: "no remote"), EIO), (.timedOut, ETIMEDOUT),
        (.keyMissing(Epoch(2)), EIO), (.notArrived(PackID(low: 1, high: 2)), EIO),
        (.notSealed(.otherVersions), EIO),
    ]

    /// Fails to compile when a case is added, so that the table is completed.
    private func name(_ error: FileSystemError) -> String {
        switch error {
        case .notFound, .alreadyExists, .notDirectory, .isDirectory, .directoryNotEmpty, .nameTooLong,
            .invalidArgument, .notPermitted, .accessDenied, .readOnly, .crossVault, .busy, .noSpace,
            .fileTooLarge, .tooManyLinks, .attributeNotFound, .attributeTooLarge, .bufferTooSmall,
            .notSupported, .beyondEnd, .stale, .timedOut:
            "\(error)"
        case .damaged: "damaged"
        case .unreachable: "unreachable"
        case .keyMissing: "keyMissing"
        case .notArrived: "notArrived"
        case .notSealed: "notSealed"
        case .format: "format"
        case .system: "system"
        case .pageAbsent: "pageAbsent"
        case .index: "index"
        case .stopped: "stopped"
        }
    }

    /// The number of cases of `FileSystemError`; grows with each case that `name` gets.
    private static let caseCount = 32

    @Test func everyCase() throws {
        let file = try SimulatedStorageDirectory().open("index.sqlite", create: true)
        let table = Self.table + [(.pageAbsent(AbsentPage(of: file, at: 0, count: 4096)), EIO)]
        for (error, number) in table { #expect(error.errno == number, "\(error)") }
        #expect(Set(table.map { name($0.0) }).count == Self.caseCount)
    }

    /// Errors that programs can distinguish stay distinct.
    @Test func distinct() {
        let numbers = Self.table.filter { $0.1 != EIO }.map(\.1)
        #expect(Set(numbers).count == numbers.count)
    }

    /// No error of a vault uses an errno to which the kernel gives another meaning.
    @Test func reserved() {
        for number in [0, EINTR, EAGAIN, ENOSYS, ENOTCONN, ENOMEM] {
            #expect(!Self.table.contains { $0.1 == number })
        }
    }

    @Test func summaries() {
        for (error, _) in Self.table { #expect(!error.summary.isEmpty) }
        #expect(FileSystemError.damaged(place: "a page").summary.contains("a page"))
    }
}
