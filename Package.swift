// swift-tools-version: 6.2
import PackageDescription

/// “make fuzz” builds the fuzzer in place of its tests, and all targets so that they tell it what they reach.
let isFuzzing = Context.environment["COFFER_FUZZING"] != nil
let fuzzing = isFuzzing ? ["-sanitize=fuzzer,address"] : []

/// Every target: Swift 6 mode, strict memory safety, no warning left standing.
let settings: [SwiftSetting] =
    [
        .swiftLanguageMode(.v6),
        .strictMemorySafety(),
        .treatAllWarnings(as: .error),
        .enableUpcomingFeature("ExistentialAny"),
        .enableUpcomingFeature("InternalImportsByDefault"),
        .enableUpcomingFeature("MemberImportVisibility"),
    ] + (isFuzzing ? [.unsafeFlags(fuzzing)] : [])

/// Debug builds of the product are optimized, too.
///
/// Its tests compute much (random histories, simulations, a fault at every call) and take half the CPU time so.
/// COFFER_DEBUG=1 leaves the optimization out, for debuggers.
let optimization: [SwiftSetting] =
    isFuzzing || Context.environment["COFFER_DEBUG"] != nil
    ? [] : [.unsafeFlags(["-O"], .when(configuration: .debug))]

/// Tests call C freely, so they go without strict memory safety.
let testSettings: [SwiftSetting] =
    [
        .swiftLanguageMode(.v6),
        .treatAllWarnings(as: .error),
        .enableUpcomingFeature("ExistentialAny"),
        .enableUpcomingFeature("InternalImportsByDefault"),
        .enableUpcomingFeature("MemberImportVisibility"),
    ] + (isFuzzing ? [.unsafeFlags(fuzzing)] : [])

func systemLibrary(_ name: String, _ pkgConfig: String, _ package: String) -> Target {
    .systemLibrary(name: name, pkgConfig: pkgConfig, providers: [.apt([package])])
}

func module(_ name: String, _ dependencies: [Target.Dependency]) -> Target {
    .target(name: name, dependencies: dependencies, swiftSettings: settings + optimization)
}

/// What tests of several targets share: simulations, models, cases.
func testSupport(_ name: String, _ dependencies: [Target.Dependency], exclude: [String] = []) -> Target {
    .target(
        name: name, dependencies: dependencies, path: "Tests/\(name)", exclude: exclude,
        swiftSettings: testSettings + optimization)
}

func tests(_ name: String, _ dependencies: [Target.Dependency], resources: [Resource] = []) -> Target {
    .testTarget(name: name, dependencies: dependencies, resources: resources, swiftSettings: testSettings)
}

let fuzzed: [Target.Dependency] = [
    "CSQLite", "CofferSystem", "CofferCrypto", "CofferFormat", "CofferTrust", "CofferStore", "CofferVault",
    "CofferFUSE", "CofferRemote", "CofferClient", "CofferTestSupport",
]
let fuzzer = Target.executableTarget(
    name: "coffer-fuzzer", dependencies: fuzzed, path: "Tests/Fuzzing",
    exclude: ["README.md", "Corpus", "fuzz.sh", "Tests"], swiftSettings: testSettings,
    linkerSettings: [.unsafeFlags(fuzzing + ["-use-ld=lld"])])
let fuzzerTests = Target.testTarget(
    name: "FuzzingTests", dependencies: fuzzed, path: "Tests/Fuzzing",
    exclude: ["README.md", "Corpus", "fuzz.sh", "Fuzzer"], swiftSettings: testSettings)

// Targets stand in dependency order: a target imports only from rows above it (Tests/ArchitectureTests).
let package = Package(
    name: "coffer",
    dependencies: [
        .package(url: "https://github.com/apple/swift-argument-parser", from: "1.8.2")
    ],
    targets: [
        systemLibrary("CFuse3", "fuse3", "libfuse3-dev"),
        systemLibrary("CSodium", "libsodium", "libsodium-dev"),
        systemLibrary("CLibB2", "libb2", "libb2-dev"),
        systemLibrary("CCrypto", "libcrypto", "libssl-dev"),
        systemLibrary("CSQLite", "sqlite3", "libsqlite3-dev"),
        systemLibrary("CLibBSD", "libbsd", "libbsd-dev"),
        systemLibrary("CCurl", "libcurl", "libcurl4-openssl-dev"),
        systemLibrary("CExpat", "expat", "libexpat1-dev"),
        systemLibrary("CQRencode", "libqrencode", "libqrencode-dev"),
        .target(name: "CCofferSystem"),

        module("CofferSystem", ["CCofferSystem"]),
        module("CofferCrypto", ["CofferSystem", "CSodium", "CLibB2", "CCrypto"]),
        module("CofferFormat", ["CofferSystem"]),
        module("CofferHTTP", ["CCurl", "CofferSystem"]),
        module("CofferTrust", ["CofferCrypto", "CofferFormat"]),
        module("CofferFacts", ["CofferSystem", "CofferCrypto", "CofferFormat"]),
        module("CofferStore", ["CSQLite", "CofferSystem", "CofferCrypto", "CofferFormat", "CofferFacts"]),
        module(
            "CofferVault",
            ["CofferSystem", "CofferCrypto", "CofferFormat", "CofferTrust", "CofferFacts", "CofferStore"]),
        module("CofferRemote", ["CExpat", "CofferSystem", "CofferCrypto", "CofferFormat", "CofferHTTP"]),
        module("CofferFUSE", ["CFuse3", "CCofferSystem", "CofferSystem", "CofferFormat", "CofferVault"]),
        module(
            "CofferSync",
            ["CofferSystem", "CofferCrypto", "CofferFormat", "CofferTrust", "CofferFacts", "CofferRemote"]),
        module(
            "CofferClient",
            [
                "CCofferSystem", "CofferSystem", "CofferCrypto", "CofferFormat", "CofferTrust", "CofferFacts",
                "CofferStore", "CofferVault", "CofferFUSE", "CofferRemote", "CofferSync",
            ]),
        module("CofferBench", ["CofferSystem", "CofferCrypto", "CofferFormat", "CofferClient"]),
        .executableTarget(
            name: "coffer",
            dependencies: [
                "CLibBSD", "CQRencode", "CCofferSystem", "CofferSystem", "CofferCrypto", "CofferFormat",
                "CofferTrust", "CofferRemote", "CofferClient", "CofferBench",
                .product(name: "ArgumentParser", package: "swift-argument-parser"),
            ], swiftSettings: settings),

        // What times Coffer against its peers: no part of the product.
        .target(name: "CFuseCeiling", dependencies: ["CFuse3"], path: "Benchmarks/CFuseCeiling"),
        .executableTarget(
            name: "fuse-ceiling-memory", dependencies: ["CFuse3", "CFuseCeiling"],
            path: "Benchmarks/fuse-ceiling-memory"),
        .executableTarget(
            name: "fuse-ceiling-passthrough", dependencies: ["CFuse3", "CFuseCeiling"],
            path: "Benchmarks/fuse-ceiling-passthrough"),
        .target(
            name: "BenchmarkReport", path: "Benchmarks/BenchmarkReport", swiftSettings: testSettings),
        .executableTarget(
            name: "coffer-benchmarks",
            dependencies: [
                "BenchmarkReport", .product(name: "ArgumentParser", package: "swift-argument-parser"),
            ],
            path: "Benchmarks/coffer-benchmarks", swiftSettings: testSettings),
        .executableTarget(
            name: "coffer-microbenchmarks",
            dependencies: [
                "BenchmarkReport", "CofferSystem", "CofferCrypto", "CofferFormat", "CofferTrust",
                "CofferFacts", "CofferStore", "CofferVault",
                .product(name: "ArgumentParser", package: "swift-argument-parser"),
            ],
            path: "Benchmarks/coffer-microbenchmarks", swiftSettings: testSettings),
        tests("BenchmarkReportTests", ["BenchmarkReport"]),

        .target(name: "CFilesystemCalls", path: "Tests/CFilesystemCalls"),
        testSupport("FilesystemCases", ["CFilesystemCalls"]),
        .executableTarget(
            name: "filesystem-workload", dependencies: ["FilesystemCases"], path: "Tests/filesystem-workload",
            swiftSettings: testSettings),
        tests("ArchitectureTests", []),
        testSupport(
            "CofferTestSupport",
            [
                "CofferSystem", "CofferCrypto", "CofferFormat", "CofferTrust", "CofferStore", "CofferVault",
                "MergeCases",
            ]),

        testSupport(
            "RemoteConformance", ["CofferSystem", "CofferFormat", "CofferRemote", "CofferTestSupport"]),
        // People with keys, who share vaults.
        testSupport(
            "SyncTestSupport",
            ["CofferCrypto", "CofferFormat", "CofferTrust", "CofferSync", "CofferTestSupport"]),
        .executableTarget(
            name: "remote-workload",
            dependencies: ["CofferSystem", "CofferFormat", "CofferRemote", "RemoteConformance"],
            path: "Tests/remote-workload", swiftSettings: testSettings),

        // Servers that tests start.
        testSupport("LocalServers", [], exclude: ["Scripts"]),

        tests("CofferSystemTests", ["CFilesystemCalls", "CofferSystem"]),
        tests("CofferHTTPTests", ["CofferSystem", "CofferHTTP", "LocalServers"]),
        tests("CofferFormatTests", ["CofferFormat", "CofferSystem", "CofferTestSupport"]),
        tests(
            "CofferTrustTests", ["CofferCrypto", "CofferFormat", "CofferTrust", "CofferTestSupport"],
            resources: [.copy("Vectors")]),
        tests(
            "CofferStoreTests",
            [
                "CSQLite", "CofferSystem", "CofferCrypto", "CofferFormat", "CofferFacts", "CofferStore",
                "CofferTestSupport",
            ]),
        tests(
            "CofferVaultTests",
            [
                "CofferSystem", "CofferCrypto", "CofferFormat", "CofferTrust", "CofferFacts", "CofferStore",
                "CofferVault", "CofferTestSupport", "MergeCases", "FactHistories",
            ]),
        tests(
            "CofferRemoteTests",
            [
                "CofferSystem", "CofferFormat", "CofferHTTP", "CofferRemote", "CofferTestSupport",
                "RemoteConformance", "LocalServers",
            ]),
        tests(
            "CofferFUSETests",
            [
                "CCofferSystem", "CofferSystem", "CofferFormat", "CofferCrypto", "CofferFacts", "CofferStore",
                "CofferVault", "CofferFUSE", "CofferTestSupport", "CFilesystemCalls",
            ]),
        tests(
            "CofferSyncTests",
            [
                "CofferCrypto", "CofferFormat", "CofferTrust", "CofferFacts", "CofferRemote", "CofferSync",
                "CofferTestSupport", "RemoteConformance", "SyncTestSupport",
            ]),
        tests(
            "CofferClientTests",
            [
                "CofferSystem", "CofferCrypto", "CofferFormat", "CofferTrust", "CofferStore", "CofferVault",
                "CofferRemote", "CofferSync", "CofferFUSE", "CofferClient",
            ]),
        tests("CofferBenchTests", ["CofferBench"]),
        // What users of a vault do, and what comes of it, whatever their devices are made of.
        testSupport("MergeCases", ["CofferSystem"]),
        // Random histories of devices, on any store of facts.
        testSupport("FactHistories", ["CofferCrypto", "CofferFormat", "CofferFacts", "CofferTestSupport"]),
        tests(
            "CofferFactsTests",
            [
                "CofferSystem", "CofferCrypto", "CofferFormat", "CofferFacts", "CofferTestSupport",
                "MergeCases", "FactHistories",
            ]),
        tests(
            "CofferReplicaTests",
            [
                "CofferSystem", "CofferCrypto", "CofferFormat", "CofferTrust", "CofferFacts", "CofferStore",
                "CofferVault", "CofferRemote", "CofferSync", "CofferClient", "CofferTestSupport",
                "RemoteConformance", "SyncTestSupport", "MergeCases",
            ]),
        tests(
            "MountTests",
            [
                "CFilesystemCalls", "FilesystemCases", "MergeCases", "LocalServers", "CofferSystem",
                "CofferCrypto",
                "CofferTrust", "CofferClient",
            ]),
        tests("CofferCryptoTests", ["CofferCrypto", "CofferSystem"], resources: [.copy("Vectors")]),
    ] + [isFuzzing ? fuzzer : fuzzerTests]
)
