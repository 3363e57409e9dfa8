import CofferFormat
import Foundation
import Testing

import CofferTrust

/// The records of Vectors/ never change by a byte: everything once written stays readable forever.
///
/// A new format version gets new files. COFFER_WRITE_VECTORS=1 writes files that are missing.
@Suite struct VectorTests {
    private static let directory = URL(filePath: #filePath).deletingLastPathComponent()
        .appending(path: "Vectors")

    private func json(_ fields: VectorRecords.Fields) throws -> String {
        let options: JSONSerialization.WritingOptions = [
            .prettyPrinted, .sortedKeys, .withoutEscapingSlashes,
        ]
        return String(
            decoding: try JSONSerialization.data(withJSONObject: fields, options: options), as: UTF8.self)
            + "\n"
    }

    @Test func everyRecordIsUnchanged() throws {
        let isWriting = ProcessInfo.processInfo.environment["COFFER_WRITE_VECTORS"] != nil
        for (name, fields) in try VectorRecords().all() {
            let file = Self.directory.appending(path: name + ".json")
            if isWriting, !FileManager.default.fileExists(atPath: file.path) {
                try json(fields).write(to: file, atomically: true, encoding: .utf8)
            }
            #expect(NSDictionary(dictionary: fields).isEqual(to: try stored(name)), "\(name)")
        }
    }

    private func stored(_ name: String) throws -> [String: Any] {
        let data = try Data(contentsOf: Self.directory.appending(path: name + ".json"))
        let object = try JSONSerialization.jsonObject(with: data)
        return try #require(object as? [String: Any])
    }

    private func identity(_ links: [String]) throws -> IdentityChain {
        let text = try #require(links.first)
        let first = try LinkRecord(hex(text))
        var chain = IdentityChain(id: first.chain)
        try chain.catchUp(with: links.map(hex))
        return chain
    }

    @Test func storedSettingsOfTheHistoryAreVerified() throws {
        let fields = try stored("kept-history")
        let chains = try #require(fields["identity chains"] as? [[String]])
        let links = try #require(fields["links"] as? [String])
        let chain = try MemberChain(
            VaultID(low: 0x0706_0504_0302_0100, high: 0x0F0E_0D0C_0B0A_0908), replaying: links.map(hex),
            knowing: KnownIdentities(try chains.map(identity)))
        #expect(chain.links.map(\.code) == [1, 9, 9, 9])
        #expect(chain.state.historySeconds == 0)
    }

    @Test func storedChainsAreVerified() throws {
        let fields = try stored("member-chain")
        let chains = try #require(fields["identity chains"] as? [[String]])
        let links = try #require(fields["links"] as? [String])
        let name = try #require(fields["vault"] as? String)
        let vault = try #require(VaultID(hexadecimal: name))
        let chain = try MemberChain(
            vault, replaying: links.map(hex), knowing: KnownIdentities(try chains.map(identity)))
        #expect(chain.links.map(\.code) == [1, 2, 3, 6, 5, 7, 4, 2, 8])
        #expect(chain.state.members.values.map(\.role) == [.owner])
        #expect(chain.state.epoch == Epoch(3))
    }

    @Test func everyOperationHasOneEncoding() throws {
        for (name, kind) in [
            ("member-chain", ChainKind.member), ("identity-chain", .identity), ("device-chain", .device),
        ] {
            let links = try stored(name)["links"] as? [String]
            for text in try #require(links) {
                let link = try LinkRecord(hex(text))
                #expect(link.kind == kind)
                let body = link.body.span.bytes
                switch kind {
                case .member: #expect(try MemberOperation(code: link.code, body: body).body == link.body)
                case .identity: #expect(try IdentityOperation(code: link.code, body: body).body == link.body)
                case .device: #expect(try DeviceOperation(code: link.code, body: body).body == link.body)
                }
            }
        }
    }
}
