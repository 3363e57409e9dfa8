internal import CofferCrypto
package import CofferFormat
internal import CofferSystem

/// An item as it is shown.
package struct ShownItem: Equatable, Sendable {
    /// The item's kind.
    package var kind: Fact.Kind
    /// Permissions; nil if no fact states them.
    package var mode: UInt16?
    /// When the content last changed, in nanoseconds since 1970; nil if no fact states it.
    package var modified: Int64?
    /// Extended attributes, by ascending name.
    package var extendedAttributes: [ExtendedAttribute]
    /// The content; nil if no fact states one.
    package var content: Fact.Content?
    /// Distinct contents that lost and are shown as copies, the highest stamp first.
    package var otherContents: [Fact.Content]

    /// An extended attribute of an item.
    package struct ExtendedAttribute: Equatable, Sendable {
        /// 1 to 255 bytes, including the namespace.
        package var name: [UInt8]
        /// Up to 65,536 bytes.
        package var value: [UInt8]

        package init(name: [UInt8], value: [UInt8]) {
            self.name = name
            self.value = value
        }
    }

    package init(
        kind: Fact.Kind, mode: UInt16?, modified: Int64?, extendedAttributes: [ExtendedAttribute],
        content: Fact.Content?, otherContents: [Fact.Content]
    ) {
        self.kind = kind
        self.mode = mode
        self.modified = modified
        self.extendedAttributes = extendedAttributes
        self.content = content
        self.otherContents = otherContents
    }

    /// Whether only its kind is known.
    var isBare: Bool {
        mode == nil && modified == nil && extendedAttributes.isEmpty && content == nil
    }

    /// The facts that state the item as it is shown.
    func facts(_ id: ItemID) -> [Fact] {
        var facts = [Fact(.kind(id, kind))]
        if let mode { facts.append(Fact(.mode(id, mode))) }
        if let modified { facts.append(Fact(.modified(id, modified))) }
        for attribute in extendedAttributes {
            facts.append(Fact(.extendedAttribute(id, name: attribute.name, value: attribute.value)))
        }
        if let content { facts.append(Fact(.content(id, content))) }
        return facts
    }

    /// The item as a copy by rule shows it: with another content, and everything else the same.
    func copy(_ content: Fact.Content, of item: ItemID) -> ShownItem {
        var copy = self
        copy.content = content
        copy.content?.origin = content.origin ?? item
        copy.otherContents = []
        return copy
    }
}

extension CopySource {
    /// The item and the entry of the copy: halves of BLAKE2b-256 of “coffer copy”, item, log, and sequence.
    ///
    /// They are the same on all devices, so that a copy exists only once, even when facts replace the rule.
    package var ids: (item: ItemID, entry: EntryID) {
        var writer = ByteWriter(capacity: 64)
        writer.append("coffer copy".utf8)
        writer.identifier(item)
        writer.identifier(dot.log)
        writer.number(dot.sequence)
        let hash = unsafe Blake2b.hash(writer.finish().span.bytes, byteCount: 32)
        func word(_ index: Int) -> UInt64 {
            unsafe hash.span.bytes.littleEndian(at: 8 * index, as: UInt64.self)
        }
        return (ItemID(low: word(0), high: word(1)), EntryID(low: word(2), high: word(3)))
    }
}
