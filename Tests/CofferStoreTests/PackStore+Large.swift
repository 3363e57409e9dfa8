import CofferFormat
import CofferStore
import CofferSystem

extension PackStore {
    /// Writes a large extent of sevens.
    func writeLarge(_ count: Int, newPack: () -> (Int64, PackID)) throws -> (pack: Int64, position: Int) {
        let buffer = try writer.takeBuffer()
        buffer.copy([UInt8](repeating: 7, count: count).span.bytes, to: 0)
        return try write(buffer, count: count, plaintext: Int64(count), newPack: newPack)
    }

    /// Writes the tail to its file, without syncing it.
    func flushTail() throws {
        try writeTail()
        try writer.finish()
        noteWritten()
    }

    /// Removes all references to a pack.
    func forgetContent(of pack: Int64) throws {
        addLive(-(rows.first { $0.number == pack }?.live ?? 0), to: pack)
    }

    /// Writes large extents until a new pack is begun.
    func fillPack(newPack: () -> (Int64, PackID)) throws {
        let before = currentNumber
        while currentNumber == before { _ = try writeLarge(1_049_600, newPack: newPack) }
        try writer.finish()
    }
}
