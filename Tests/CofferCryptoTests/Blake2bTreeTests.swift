import CofferCrypto
import CofferSystem
import Testing

@Suite struct Blake2bTreeTests {
    private func leaf(_ bytes: [UInt8], _ size: Int, number: Int, isLast: Bool) -> [UInt8] {
        Blake2bTree(.extent, leafByteCount: size).leaf(bytes.span.bytes, number: number, isLast: isLast)
    }

    private func root(_ hashes: [UInt8], _ size: Int) -> [UInt8] {
        Blake2bTree(.extent, leafByteCount: size).root(hashes.span.bytes)
    }

    private func leaves(_ input: [UInt8], _ size: Int) -> [[UInt8]] {
        let count = (input.count + size - 1) / size
        var leaves: [[UInt8]] = []
        for number in 0..<count {
            let part = Array(input[number * size..<min((number + 1) * size, input.count)])
            leaves.append(leaf(part, size, number: number, isLast: number == count - 1))
        }
        return leaves
    }

    @Test func asOtherImplementations() throws {
        for vector in try VectorFile.read("blake2b-tree") {
            let size = try vector.number("leaf-size")
            let input = (0..<(try vector.number("length"))).map { UInt8($0 % 251) }
            let leaves = leaves(input, size)
            #expect(leaves.count == (try vector.number("leaves")), vector.place)
            #expect(leaves.first == (try vector.bytes("first")), vector.place)
            #expect(leaves.last == (try vector.bytes("last")), vector.place)
            #expect(root(leaves.flatMap { $0 }, size) == (try vector.bytes("root")), vector.place)
        }
    }

    /// A node passes for no other one, whatever its bytes are.
    @Test func nodesDiffer() {
        let bytes = pattern(64)
        var nodes = [
            leaf(bytes, 64, number: 0, isLast: false), leaf(bytes, 64, number: 0, isLast: true),
            leaf(bytes, 64, number: 1, isLast: false), leaf(bytes, 128, number: 0, isLast: false),
        ]
        nodes.append(root(bytes, 64))
        nodes.append(Blake2b.hash(bytes, for: .contentPage))
        #expect(Set(nodes).count == nodes.count)
    }
}
