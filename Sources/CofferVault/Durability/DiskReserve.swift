/// Disk space that was set aside, so that removals work on a full disk.
package protocol DiskReserve: Sendable {
    /// Returns the space to the disk.
    ///
    /// - Returns: Whether there was any.
    func release() -> Bool
    /// Sets space aside again once there is plenty; costs next to nothing while it is in place.
    func restore()
}
