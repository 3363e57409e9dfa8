package import CofferSync
package import CofferTrust
internal import Synchronization

/// The keys of one person on one device.
package final class PersonKeys: VaultKeys {
    package let person: Person
    private let kept = Mutex<Keyring?>(nil)

    package init(_ person: Person) { self.person = person }

    package var author: RecordAuthor { person.author }
    package func keyring() async -> Keyring? { kept.withLock { $0 } }
    package func keep(_ keyring: Keyring?) { kept.withLock { $0 = keyring } }

    package func open(_ wraps: WrapSet, of chain: MemberChain, known: Keyring?) async throws(TrustError)
        -> Keyring
    {
        let keyring = try person.open(wraps, of: chain, known: known)
        kept.withLock { $0 = keyring }
        return keyring
    }
}
