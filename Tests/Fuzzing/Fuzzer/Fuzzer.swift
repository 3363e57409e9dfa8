import Glibc

/// The main function of libFuzzer, for programs that have their own (its document: "Using libFuzzer as a
/// library").
@_silgen_name("LLVMFuzzerRunDriver")
private func runFuzzer(
    _ argumentCount: UnsafeMutablePointer<CInt>,
    _ arguments: UnsafeMutablePointer<UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>>,
    _ test: @convention(c) (UnsafePointer<UInt8>?, Int) -> CInt
) -> CInt

/// The decoder that COFFER_FUZZ_DECODER names: an argument would not reach the processes that
/// libFuzzer starts itself.
private let decoder: Decoder? = Decoder.all.first { $0.name == variable("COFFER_FUZZ_DECODER") }

private func variable(_ name: String) -> String? {
    getenv(name).map { String(cString: $0) }
}

/// Fuzzes one decoder, with the options and directories of libFuzzer.
///
/// Without a decoder it lists them all; with COFFER_FUZZ_SEEDS it writes the seeds of the decoder into that
/// directory.
@main
enum Fuzzer {
    static func main() throws {
        guard let decoder else {
            for decoder in Decoder.all { print(decoder.name, decoder.byteCountMax) }
            return
        }
        if let directory = variable("COFFER_FUZZ_SEEDS") {
            return try writeSeeds(of: decoder, into: directory)
        }
        var count = CommandLine.argc
        var arguments = CommandLine.unsafeArgv
        exit(
            runFuzzer(&count, &arguments) { start, count in
                Fuzzer.test([UInt8](UnsafeBufferPointer(start: start, count: count)))
                return 0
            })
    }

    private static func test(_ input: [UInt8]) {
        do {
            _ = try decoder?.run(input)
        } catch {
            print("A promise is broken: \(error)")
            fflush(nil)
            abort()
        }
    }

    private static func writeSeeds(of decoder: Decoder, into directory: String) throws {
        for (number, seed) in try decoder.seeds().enumerated() {
            guard let file = fopen("\(directory)/seed-\(number)", "w") else { continue }
            fwrite(seed, 1, seed.count, file)
            fclose(file)
        }
    }
}
