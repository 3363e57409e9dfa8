extension RandomAccessCollection where Index == Int {
    /// The first index whose element has a property that all later elements have, too, and no earlier one has; the end if
    /// none has it.
    ///
    /// Public, like `Condition`, so that it is inlined.
    @inlinable
    public func partitioningIndex(where isBehind: (Element) -> Bool) -> Int {
        var (low, high) = (startIndex, endIndex)
        while low < high {
            let middle = low + (high - low) / 2
            if isBehind(self[middle]) { high = middle } else { low = middle + 1 }
        }
        return low
    }
}
