/// Room on the disk that was taken beforehand, so that removing works where there is none left.
package protocol DiskReserve: Sendable {
    /// Gives the room back to the disk.
    ///
    /// - Returns: Whether there was any.
    func release() -> Bool
    /// Takes room again, once there is plenty; costs next to nothing while it is there.
    func restore()
}
