internal import ArgumentParser
internal import CofferCrypto

/// How a passphrase is kept: its hint, and the cost of an attempt.
struct PassphraseSettings: ParsableArguments {
    @Option(
        help:
            "A hint to show after three wrong passphrases (default: none). Anyone who has the profile can read it: do not give the passphrase away."
    )
    var hint: String?
    @Option(
        help:
            "The memory that each attempt at the passphrase takes: interactive 64 MiB, moderate 256 MiB, sensitive 1 GiB."
    )
    var strength = Strength.moderate
}

/// A passphrase that replaces another one.
struct NewPassphraseOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp("Read the new passphrase from a file instead of asking for it.", valueName: "file")
    )
    var newPassphraseFile: String?
    @OptionGroup var settings: PassphraseSettings

    /// Reads the passphrase from the file, or asks for it twice.
    func read() throws -> SecretBytes {
        guard let newPassphraseFile else { return try Passphrase.promptTwice("New passphrase: ") }
        let new = try Passphrase.read(file: newPassphraseFile)
        Passphrase.remark(on: new)
        return new
    }
}
