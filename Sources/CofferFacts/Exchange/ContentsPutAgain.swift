/// The result of sending contents again that the remote had lost.
package struct ContentsPutAgain: Equatable, Sendable {
    /// Bytes that the next commits send.
    package var byteCount = 0
    /// Bytes that are neither on this device nor at the remote.
    package var lostByteCount = 0
    /// Whether there are more to send.
    package var isPart = false

    /// Nothing was sent again.
    package init() {}
}
