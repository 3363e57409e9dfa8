internal import ArgumentParser
internal import CofferClient
internal import CofferCrypto
internal import CofferSystem
internal import CofferTrust

/// The option for the words of a recovery key.
struct RecoveryKeyOption: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "Read the words of the recovery key from a file (“-” for standard input) instead of asking for them.",
            valueName: "file"),
        completion: .file())
    var recoveryKeyFile: String?

    /// Reads the words from the file, or at the terminal, where mistakes are asked for again.
    ///
    /// Only at the terminal do messages name words.
    func read() throws -> RecoveryKey {
        guard let recoveryKeyFile else {
            var prompt = RecoveryKeyPrompt()
            return try prompt.read()
        }
        let text = try TextFile.read(recoveryKeyFile)
        do throws(RecoveryKeyError) {
            return try RecoveryKey(words: RecoveryWord.split(text))
        } catch {
            // Messages of scripts are kept in logs.
            throw ClientError.recovery(.words(error.withoutWords))
        }
    }
}

/// Asks at the terminal for the words of a recovery key.
struct RecoveryKeyPrompt {
    private var words: [String] = []

    /// Asks until the words are a recovery key.
    mutating func read() throws -> RecoveryKey {
        Output.error(
            "Type the \(RecoveryKey.wordCount) words of your recovery sheet in their order, as many on a line as you like. The first four letters of each word are enough."
        )
        while true {
            let isWhole = try fill()
            do throws(RecoveryKeyError) {
                return try RecoveryKey(words: words)
            } catch {
                Output.error("\(error)")
                try mend(error, isWhole: isWhole)
            }
        }
    }

    /// Asks for words until there are enough.
    ///
    /// - Returns: False if the person had one word less, and none left to type.
    private mutating func fill() throws -> Bool {
        while words.count < RecoveryKey.wordCount {
            let typed = try Self.ask("Word \(words.count + 1): ")
            if typed.isEmpty {
                if words.count == RecoveryKey.wordCount - 1 { return false }
                Output.error("\(Output.count(RecoveryKey.wordCount - words.count, "word")) are left.")
            }
            add(typed)
        }
        return true
    }

    /// Adds typed words up to the first that is not in the list.
    private mutating func add(_ typed: [String]) {
        for word in typed {
            do throws(RecoveryKeyError) {
                words.append(try RecoveryWord(word, number: words.count + 1).description)
            } catch {
                Output.error("\(error) Go on from word \(words.count + 1).")
                return
            }
        }
    }

    /// Asks for the words that were mistyped, or for all of them if it is not known which were.
    private mutating func mend(_ error: RecoveryKeyError, isWhole: Bool) throws {
        switch error {
        case .wrongWords(let wrong):
            for word in wrong { words[word.number - 1] = try askForOne(word.number) }
        case .exchanged(let first, let second):
            words[first - 1] = try askForOne(first)
            words[second - 1] = try askForOne(second)
        case .missingWord(let number): words.insert(try askForOne(number), at: number - 1)
        case .extraWord(let number, _): words.remove(at: number - 1)
        case .wrongCount where !isWhole: return
        case .wrongCount, .unclear, .unknownWord:
            Output.error("Type all of them again.")
            words = []
        }
    }

    private func askForOne(_ number: Int) throws -> String {
        while true {
            guard let typed = try Self.ask("Word \(number): ").first else { continue }
            do throws(RecoveryKeyError) {
                return try RecoveryWord(typed, number: number).description
            } catch {
                Output.error("\(error)")
            }
        }
    }

    /// Asks for a line, and shows what is typed: 16 words cannot be typed blindly.
    static func ask(_ prompt: String) throws -> [String] {
        do throws(ClientError) {
            let line = try Passphrase.prompt(prompt, echoes: true)
            return RecoveryWord.split(line.withBytes { String(decoding: $0.array, as: UTF8.self) })
        } catch {
            switch error {
            case .profile(.emptyPassphrase): return []
            case .profile(.noTerminal): throw ClientError.recovery(.noTerminal)
            default: throw error
            }
        }
    }
}
