internal import CofferSystem

/// A set that keeps its elements in order.
struct SortedSet<Element: Comparable & Sendable>: Sendable {
    /// In ascending order.
    private(set) var elements: [Element] = []

    /// The first position whose element is not below `element`.
    private func index(of element: Element) -> Int {
        elements.partitioningIndex { $0 >= element }
    }

    mutating func insert(_ element: Element) {
        let index = index(of: element)
        if index == elements.count || elements[index] != element { elements.insert(element, at: index) }
    }

    mutating func remove(_ element: Element) {
        let index = index(of: element)
        if index < elements.count, elements[index] == element { elements.remove(at: index) }
    }

    func first(from element: Element) -> Element? {
        let index = index(of: element)
        return index < elements.count ? elements[index] : nil
    }

    func elements(after last: Element?, limit: Int) -> [Element] {
        guard let last else { return Array(elements.prefix(limit)) }
        var start = index(of: last)
        if start < elements.count, elements[start] == last { start += 1 }
        return Array(elements[start...].prefix(limit))
    }
}
