import Foundation

/// Waits until a condition holds, for three minutes at most: other threads and processes take as long as the
/// machine has other work.
@discardableResult
func waitUntil(_ condition: () throws -> Bool) rethrows -> Bool {
    for _ in 0..<18_000 {
        if try condition() { return true }
        usleep(10_000)
    }
    return try condition()
}
