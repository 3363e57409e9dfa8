import Foundation
import Testing

/// Every input of the corpus, through its decoder.
@Suite(.serialized) struct CorpusTests {
    private static let corpus = URL(filePath: #filePath).deletingLastPathComponent()
        .deletingLastPathComponent().appending(path: "Corpus")

    @Test(arguments: Decoder.all.map(\.name))
    func everyInputIsAcceptedOrRefused(name: String) throws {
        let decoder = try #require(Decoder.all.first { $0.name == name })
        let directory = Self.corpus.appending(path: name)
        let files = try FileManager.default.contentsOfDirectory(atPath: directory.path).sorted()
        #expect(!files.isEmpty)
        for file in files {
            let input = [UInt8](try Data(contentsOf: directory.appending(path: file)))
            do {
                _ = try decoder.run(input)
            } catch {
                Issue.record("\(name)/\(file): \(error)")
            }
        }
    }

    @Test(arguments: Decoder.all.map(\.name))
    func everySeedIsAccepted(name: String) throws {
        let decoder = try #require(Decoder.all.first { $0.name == name })
        let seeds = try decoder.seeds()
        #expect(!seeds.isEmpty)
        for (number, seed) in seeds.enumerated() {
            #expect(try decoder.run(seed) == .taken, "seed \(number) of \(name)")
        }
    }

    @Test func theCorpusHasNoOtherDirectories() throws {
        let names = try FileManager.default.contentsOfDirectory(atPath: Self.corpus.path).sorted()
        #expect(names == Decoder.all.map(\.name).sorted())
    }
}
