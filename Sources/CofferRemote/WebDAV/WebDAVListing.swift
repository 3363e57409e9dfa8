/// One page of a listing, made by walking collections in the order of names.
///
/// A server shows a collection only as a whole, so a page is large: each one reads again the collections that
/// it is in.
struct WebDAVListing {
    /// The number of entries in a page.
    static let entryCountMax = 10_000

    private let client: WebDAVClient
    private let after: RemoteName?
    private let entryCountMax: Int
    private(set) var entries: [RemotePage.Entry] = []
    /// What shows that an entry was replaced, for each entry.
    private(set) var tags: [String] = []
    /// Whether more names follow the page.
    private(set) var isFull = false

    init(_ client: WebDAVClient, after: RemoteName?, entryCountMax: Int = Self.entryCountMax) {
        self.client = client
        self.after = after
        self.entryCountMax = entryCountMax
    }

    /// Adds the contents of a prefix; returns whether there is room for more.
    @discardableResult
    mutating func walk(_ prefix: RemotePrefix) async throws(RemoteError) -> Bool {
        if let after, !prefix.contains(after), prefix.text < after.text { return true }
        guard let directory = try await WebDAVDirectory.read(String(prefix.text.dropLast()), client) else {
            return true
        }
        if Task.isCancelled { throw .cancelled }
        // The "/" sorts a collection as the names of the objects in it sort.
        let members = directory.entries.filter { RemoteName.isSegment($0.name) }
            .map { (key: $0.isCollection ? "\($0.name)/" : $0.name, entry: $0) }.sorted { $0.key < $1.key }
        var last: String?
        for (key, entry) in members where key != last {
            last = key
            if entry.isCollection {
                guard let inner = prefix.appending(entry.name) else { continue }
                if try await !walk(inner) { return false }
            } else if let name = prefix.name(entry.name), after.map({ $0 < name }) ?? true {
                if entries.count == entryCountMax {
                    isFull = true
                    return false
                }
                entries.append(RemotePage.Entry(name: name, byteCount: entry.byteCount))
                tags.append(entry.tag)
            }
        }
        return true
    }
}
