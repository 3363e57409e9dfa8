import CofferSystem
import CofferTestSupport
import Foundation
import Testing

@testable import CofferClient

/// What others may do to exports and imports, beside sending damaged ones.
@Suite(.serialized) struct ExportDefenceTests {
    /// A link in the place of a store, or of its mark, leads the removal nowhere else.
    @Test func plantedLinks() throws {
        let test = try TestProfile()
        let vaults = test.location.vaults
        let directory = try TemporaryDirectory()
        try Data([1]).write(to: URL(filePath: "\(directory.path)/precious"))
        do { _ = try OpenProfile(test) }
        let (store, mark) = (String(repeating: "5", count: 32), String(repeating: "6", count: 32))
        let files = FileManager.default
        try files.createSymbolicLink(atPath: "\(vaults)/\(store)", withDestinationPath: directory.path)
        try Data().write(to: URL(filePath: "\(vaults)/\(store).importing"))
        try files.createDirectory(atPath: "\(vaults)/\(mark)", withIntermediateDirectories: false)
        try files.createSymbolicLink(
            atPath: "\(vaults)/\(mark).importing", withDestinationPath: "\(directory.path)/precious")
        _ = try OpenProfile(test)
        #expect(try files.contentsOfDirectory(atPath: directory.path) == ["precious"])
        let names = try files.contentsOfDirectory(atPath: vaults)
        #expect(Set(names).isSuperset(of: [store, mark, "\(store).importing", "\(mark).importing"]))
    }

    // MARK: The stream's way to a mount

    /// Sends bytes with descriptors, as a command does with one.
    private static func send(_ descriptors: [Int32], over socket: Int32) {
        let count = 16 + 4 * descriptors.count
        var control = [UInt8](repeating: 0, count: (count + 7) / 8 * 8)
        control.withUnsafeMutableBytes { bytes in
            bytes.storeBytes(of: count, as: Int.self)
            bytes.storeBytes(of: SOL_SOCKET, toByteOffset: 8, as: Int32.self)
            bytes.storeBytes(of: 1, toByteOffset: 12, as: Int32.self)
            for (place, number) in descriptors.enumerated() {
                bytes.storeBytes(of: number, toByteOffset: 16 + 4 * place, as: Int32.self)
            }
            var byte: UInt8 = 0
            withUnsafeMutablePointer(to: &byte) { pointer in
                var part = iovec(iov_base: pointer, iov_len: 1)
                withUnsafeMutablePointer(to: &part) { part in
                    var message = msghdr()
                    message.msg_iov = part
                    message.msg_iovlen = 1
                    if !descriptors.isEmpty {
                        message.msg_control = bytes.baseAddress
                        message.msg_controllen = bytes.count
                    }
                    #expect(sendmsg(socket, &message, 0) == 1)
                }
            }
        }
    }

    /// One descriptor is taken, and no other number stays open.
    @Test func streamOverASocket() throws {
        var ends: [Int32] = [0, 0]
        try #require(socketpair(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0, &ends) == 0)
        defer { ends.forEach { close($0) } }
        let client = RequestClient(isHeard: { true }, progress: { _ in }, connection: ends[0])
        for count in 0...3 {
            var pipes: [Int32] = []
            for _ in 0..<count {
                var pair: [Int32] = [0, 0]
                try #require(pipe(&pair) == 0)
                // A descriptor that stays open must not make the test wait.
                try #require(fcntl(pair[0], F_SETFL, O_NONBLOCK) == 0)
                pipes += pair
            }
            let writing = (0..<count).map { pipes[2 * $0 + 1] }
            Self.send(writing, over: ends[1])
            writing.forEach { close($0) }
            if count == 1 {
                let stream = try client.takeStream()
                #expect(write(stream.number, "x", 1) == 1)
            } else {
                do {
                    _ = try client.takeStream()
                    Issue.record("\(count) descriptors were taken")
                } catch { #expect(error.caseName == ClientError.control(.malformed).caseName) }
            }
            // Nobody can write any more: all descriptors that came are closed.
            for place in 0..<count {
                var buffer = [UInt8](repeating: 0, count: 8)
                #expect(read(pipes[2 * place], &buffer, 8) == (count == 1 ? 1 : 0))
                if count == 1 { #expect(read(pipes[2 * place], &buffer, 8) == 0) }
                close(pipes[2 * place])
            }
        }
    }

    /// A command that sends no stream keeps no thread, and is not waited for once it has gone.
    @Test func noStream() throws {
        var ends: [Int32] = [0, 0]
        try #require(socketpair(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0, &ends) == 0)
        defer { close(ends[0]) }
        func error(isHeard: Bool) -> String? {
            let client = RequestClient(isHeard: { isHeard }, progress: { _ in }, connection: ends[0])
            do throws(ClientError) {
                _ = try client.takeStream()
                return nil
            } catch { return error.caseName }
        }
        let begin = ContinuousClock.now
        #expect(error(isHeard: false) == "exportInterrupted")
        #expect(ContinuousClock.now - begin < .seconds(3))
        let malformed = ClientError.control(.malformed).caseName
        #expect(error(isHeard: true) == malformed)
        close(ends[1])
        #expect(error(isHeard: true) == malformed)
    }
}
