import Foundation

/// Waits, for three minutes at the most, until something holds: what other threads and processes do takes as long as
/// the machine has other work.
@discardableResult
func waitUntil(_ condition: () throws -> Bool) rethrows -> Bool {
    for _ in 0..<18_000 {
        if try condition() { return true }
        usleep(10_000)
    }
    return try condition()
}
