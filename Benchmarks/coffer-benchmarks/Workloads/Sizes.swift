/// The sizes of the workloads.
struct Sizes {
    /// The size of the large file, in bytes.
    var largeFile = 512 << 20
    var randomReads = 6_000
    var randomWrites = 2_048
    var appends = 2_000
    /// How often each small operation is done on a slow disk.
    var slowRounds = 400
    var seeks = 12
    /// How long the player plays after each seek, in seconds.
    var playSeconds = 0.5
    /// The number of small files, of 4 KiB each.
    var smallFiles = 5_000
    /// The number of files for measuring a mount with many files.
    var mountedFiles = 100_000
    /// The size of the content whose space on disk is measured, in bytes.
    var spaceContent = 256 << 20
    /// How often that content is rewritten.
    var rewritings = 4
    /// How long a store may take to settle, in seconds.
    var settling = 300.0
    /// Whether to use the larger source tree.
    var isTreeLarge = true

    static let full = Sizes()
    static let quick = Sizes(
        largeFile: 128 << 20, randomReads: 1_500, randomWrites: 512, appends: 300, slowRounds: 200,
        seeks: 5, playSeconds: 0.2,
        smallFiles: 1_500, mountedFiles: 5_000, spaceContent: 64 << 20, rewritings: 3, isTreeLarge: false)

    static let filesPerDirectory = 500
    /// The size of a player's reads, in bytes.
    static let playedPiece = 128 << 10
    /// The rate of a player, in bytes per second: 200 Mbit/s, more than any disc has.
    static let playedRate = 25_000_000.0

    var texts: [String] {
        [
            "large file \(largeFile >> 20) MiB", "\(randomReads) random reads",
            "\(randomWrites) random writes",
            "\(appends) appends", "\(slowRounds) small operations of each kind on a slow disk",
            "\(seeks) seeks, each with \(playSeconds) s of playing at 25 MB/s",
            "\(smallFiles) small files in directories of \(Self.filesPerDirectory)",
            "“many files” at a mount: \(mountedFiles)",
            "room on the disk: \(spaceContent >> 20) MiB, written \(rewritings) times over",
        ]
    }
}
