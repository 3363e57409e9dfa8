package import CofferCrypto
internal import CofferFormat
internal import CofferSystem

/// The key of a `StateHash`; members share it, so that they can compare, and nobody else can make guesses.
package final class StateHashKey: Sendable {
    private let key: SymmetricKey<StateHashRole>

    /// - Parameter key: Is used up; the value keeps it.
    package init(_ key: consuming SymmetricKey<StateHashRole>) {
        self.key = key
    }

    /// The hash of an entry that is shown: keyed BLAKE2b-256 of 1, parent, item, name.
    func hash(_ showing: Showing) -> StateHash {
        hash { writer in
            writer.number(UInt8(1))
            writer.identifier(showing.place.parent)
            writer.identifier(showing.item)
            writer.append(showing.place.name.bytes)
        }
    }

    /// The hash of an item that is shown: keyed BLAKE2b-256 of 2 and of its attributes as facts.
    ///
    /// All contents count, so that devices that chose between different ones are told apart.
    func hash(_ item: ShownItem, _ id: ItemID) -> StateHash {
        hash { writer in
            writer.number(UInt8(2))
            writer.append(FactRecord.bytes(item.facts(id)))
            for content in item.otherContents {
                writer.append(FactRecord.bytes([Fact(.content(id, content))]))
            }
        }
    }

    private func hash(_ fields: (inout ByteWriter) -> Void) -> StateHash {
        var writer = ByteWriter(capacity: 256)
        fields(&writer)
        let input = writer.finish()
        var output: [UInt8] = .init(repeating: 0, count: 32)
        output.withMutableRawSpan { unsafe Blake2b.hash(input.span.bytes, key: key, into: &$0) }
        return StateHash(bytes: output) ?? StateHash.zero
    }
}
