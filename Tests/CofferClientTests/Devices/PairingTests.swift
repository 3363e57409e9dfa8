import CofferFormat
import CofferSystem
import CofferTrust
import CofferVault
import Foundation
import Testing

@testable import CofferClient

/// A second device of a person.
@Suite(.serialized, .ownThread) struct PairingTests {
    private let world: DeviceWorld

    init() throws { world = try DeviceWorld() }

    /// A person whose vault has a file and a remote.
    private func sharer() throws -> OpenProfile {
        let alice = try world.sharer()
        try alice.write("from the laptop", to: "one", in: "Personal")
        _ = try alice.sync("Personal")
        return alice
    }

    @Test func bothDevicesWriteTheSameVault() throws {
        let laptop = try sharer()
        let desktop = try world.paired(laptop, with: "desktop")
        #expect(desktop.profile.name == "Alice" && desktop.profile.device == "Alice's desktop")
        #expect(desktop.names() == ["Personal"])
        let own = try laptop.ask(IdentityRequest.show)
        let same = try desktop.ask(IdentityRequest.show)
        #expect(own.identity == same.identity && own.fingerprint == same.fingerprint)
        _ = try desktop.sync("Personal")
        #expect(try desktop.read("one", in: "Personal") == "from the laptop")
        try desktop.write("from the desktop", to: "two", in: "Personal")
        try laptop.write("at the same time", to: "three", in: "Personal")
        _ = try desktop.sync("Personal")
        _ = try laptop.sync("Personal")
        _ = try desktop.sync("Personal")
        for device in [laptop, desktop] {
            for name in ["one", "two", "three"] { #expect(try device.has(name, in: "Personal"), "\(name)") }
        }
        let logs = [laptop, desktop].map { $0.profile.shares.map(\.log) }
        #expect(logs[0].count == 1 && logs[1].count == 1 && logs[0] != logs[1], "a log for each device")
        for device in [laptop, desktop] {
            let report = try #require(try device.sync("Personal").first)
            #expect(report.findings.isEmpty && report.failure == nil && report.unsentItems == 0)
            #expect(report.devices.count == 2 && Set(report.devices.map(\.label)).count == 2)
            #expect(try device.members().members.count == 1, "one person")
        }
        let lists = try [laptop, desktop].map { try $0.ask(DevicesRequest()).devices }
        #expect(lists[0].map(\.id) == lists[1].map(\.id) && lists[0].map(\.isTrusted) == [true, true])
        #expect(lists[0].map(\.isThis) == [true, false] && lists[1].map(\.isThis) == [false, true])
        #expect(laptop.profile.deviceKeys.id != desktop.profile.deviceKeys.id)
    }

    /// The new device begins with the members that the other one has verified, before it reads the remote.
    @Test func theNewDeviceStartsFromVerifiedLinks() throws {
        let laptop = try sharer()
        let desktop = try world.paired(laptop, with: "desktop")
        let links = try [laptop, desktop].map { device in
            try device.vault("Personal").facts.keptRows().filter { $0.key.kind == .memberLink }.map(\.value)
        }
        #expect(links[0].count == 1 && links[0] == links[1])
    }

    /// A crash leaves no vault whose remote could show another history: the links are in the store first.
    @Test func aStoreIsFilledBeforeTheProfileListsIt() throws {
        let laptop = try sharer()
        let links = try laptop.vault("Personal").facts.keptRows().filter { $0.key.kind == .memberLink }
        let share = try #require(laptop.profile.shares.first)
        let store = JoinedStore(share: share, keys: laptop.profile.vaults[0].keys, rows: links)
        let test = try TestProfile()
        _ = try test.unlock().createVault(named: "Ours", joined: store, owner: .current)
        let rows = try OpenProfile(test).vault("Ours").facts.keptRows()
        #expect(!links.isEmpty && rows.filter { $0.key.kind == .memberLink } == links)
    }

    /// Vaults without a remote stay where they are.
    @Test func aVaultWithoutRemoteIsNotTransferred() throws {
        let laptop = try OpenProfile()
        let desktop = try world.paired(laptop, with: "desktop")
        #expect(desktop.names() == [] && laptop.names() == ["Personal"])
        #expect(desktop.profile.vaults.isEmpty)
    }

    @Test func aDeviceIsPairedOverTCP() throws {
        let laptop = try OpenProfile()
        let listener = try PairingListener(at: .tcp(host: "127.0.0.1", port: 0))
        guard case .tcp("127.0.0.1", let port) = try #require(listener.addresses.first) else {
            Issue.record("another address")
            return
        }
        #expect(port > 0)
        let paper = Condition<String?>(nil)
        let done = Condition<Bool?>(nil)
        let (profile, shared) = (laptop.profile, laptop.shared)
        Thread.detachNewThread {
            let pairing = AuthorizingPairing(
                profile: profile, checkKeys: {},
                bundle: { devices throws(ClientError) in try shared.bundle(devices) },
                ask: { code, _ throws(ClientError) in code.isSame(as: paper.wait { $0 }) },
                isHeard: { true })
            let isPaired = (try? pairing.run(listener)) != nil
            done.update { $0 = isPaired }
        }
        let location = world.location()
        try world.create(at: location, pairingWith: "127.0.0.1:\(port)", "desktop") { code in
            paper.update { $0 = code }
        }
        #expect(done.wait { $0 })
        #expect(location.exists)
    }

    // MARK: What goes wrong

    @Test func aWrongCodeTransfersNothing() throws {
        let laptop = try sharer()
        let person = DeviceWorld.Person(misreads: { _ in "0000 0000" })
        let outcome = try world.pair(laptop, with: "desktop", person: person)
        #expect(outcome.authorizing.failureName == "codesDiffer")
        #expect(outcome.joining?.caseName == "pairing")
        #expect(outcome.joining.map { "\($0)".contains("codes differ") } == true)
        #expect(!outcome.location.exists)
        #expect(laptop.profile.devices == nil)
        #expect(try laptop.ask(DevicesRequest()).devices.count == 1)
    }

    /// The code may be typed wrongly twice.
    @Test func aMistypedCodeMayBeEnteredAgain() throws {
        let laptop = try OpenProfile()
        let (address, location) = (world.address(), world.location())
        let paper = Condition<String?>(nil)
        let handler = laptop.handler
        let wait = world.authorize(laptop, at: address) {
            let code = paper.wait { $0 }
            let wrong = try? handler.answer(PairingAnswer.code("1")) { _ in }
            #expect(wrong != nil && wrong?.isRight == nil)
            return code
        }
        try world.create(at: location, pairingWith: address, "desktop") { code in
            paper.update { $0 = code }
        }
        #expect(wait().failureName == nil && location.exists)
    }

    @Test func aRefusalOnTheNewDeviceTransfersNothing() throws {
        let laptop = try OpenProfile()
        let outcome = try world.pair(laptop, with: "desktop", person: DeviceWorld.Person(confirms: false))
        #expect(outcome.joining?.caseName == "codesDiffer" && outcome.authorizing.failureName == "pairing")
        #expect(!outcome.location.exists)
        #expect(try laptop.ask(DevicesRequest()).devices.count == 1)
    }

    /// A connection that ends before the code changes nothing, and does not end the waiting.
    @Test func strangersAreForgotten() throws {
        let laptop = try OpenProfile()
        let (address, location) = (world.address(), world.location())
        let paper = Condition<String?>(nil)
        let wait = world.authorize(laptop, at: address) { paper.wait { $0 } }
        let always = PairingConnection.Wait(nanoseconds: PairingConnection.Wait.program) { true }
        for text in ["", "GET / HTTP/1.1\r\n\r\n", String(repeating: "x", count: 100)] {
            let connection = try PairingAddress(address).connect()
            if !text.isEmpty { try? connection.send(Array(text.utf8), always) }
        }
        try world.create(at: location, pairingWith: address, "desktop") { code in
            paper.update { $0 = code }
        }
        #expect(wait().failureName == nil && location.exists)
    }

    /// An end of the waiting also holds for a peer that always has another byte.
    @Test func aSlowStrangerDoesNotHoldADevice() throws {
        let address = try PairingAddress(world.address())
        let listener = try PairingListener(at: address)
        let stranger = try address.connect()
        let always = PairingConnection.Wait(nanoseconds: PairingConnection.Wait.program) { true }
        try stranger.send([1, 2, 3], always)
        let connection = try listener.accept(always)
        let over = PairingConnection.Wait(
            nanoseconds: PairingConnection.Wait.program, limit: Clock.monotonic, isHeard: { true })
        let late = clientError { () throws(ClientError) in _ = try connection.receive(over) }
        #expect(late?.caseName == "noAnswer")
        #expect(try connection.receive(always) == [1, 2, 3])
    }

    /// Once the code is known to the other side, the pairing is not tried again by itself.
    @Test func aConnectionCutAfterTheCodeEndsThePairing() throws {
        let laptop = try OpenProfile()
        let address = world.address()
        let wait = world.authorize(laptop, at: address) { "12345678" }
        let always = PairingConnection.Wait(nanoseconds: PairingConnection.Wait.program) { true }
        func connect() throws {
            let connection = try PairingAddress(address).connect()
            let hello = JoiningSide.Hello()
            let first = hello.message
            try connection.send(first, always)
            var side = try JoiningSide(hello, answer: try connection.receive(always))
            try connection.send(try side.number(after: try connection.receive(always)), always)
            _ = try side.code(after: try connection.receive(always))
        }
        try connect()
        // The person enters a code that is not right, or the connection is found to be cut.
        #expect(wait().failureName != nil)
        #expect(clientError { () throws(ClientError) in _ = try PairingAddress(address).connect() } != nil)
        #expect(laptop.profile.devices == nil)
    }

    /// A device that is gone before it has everything is in the list, and the person learns that.
    @Test func aPairingCutInTheTransferIsReported() throws {
        let laptop = try OpenProfile()
        let address = world.address()
        let paper = Condition<String?>(nil)
        let wait = world.authorize(laptop, at: address) { paper.wait { $0 } }
        func pair() throws {
            var pairing = try JoiningPairing(
                at: try PairingAddress(address), isHeard: { true },
                show: { code in
                    paper.update { $0 = "\(code)" }
                }, confirm: { _ in true })
            _ = try pairing.receive(asNew: DeviceKeys(label: "desktop"))
        }
        try pair()
        let result = wait()
        #expect(result.failureName == "notConfirmed")
        #expect(try laptop.ask(DevicesRequest()).devices.map(\.name) == ["laptop", "desktop"])
        // The way out that the message names.
        let report = try laptop.ask(RevokeRequest(device: "desktop"))
        #expect(report.device == "desktop" && report.vaults.isEmpty && report.stale.isEmpty)
        _ = try world.paired(laptop, with: "desk")
    }

    @Test func aDeviceIsAuthorizedOnce() throws {
        let laptop = try OpenProfile()
        let desktop = try world.paired(laptop, with: "desktop")
        let devices = try #require(laptop.profile.devices)
        // The same keys again, under another name.
        let keys = desktop.profile.deviceKeys
        let operation = try keys.addition(to: UserID(low: devices.id.low, high: devices.id.high))
        guard case .addDevice(let device, let possession) = operation else { return }
        let error = clientError { () throws(ClientError) in
            try laptop.profile.add(device, possession: possession)
        }
        #expect(error?.caseName == "alreadyAuthorized")
        // A profile that exists is not replaced.
        let again = clientError { () throws(ClientError) in
            try world.create(at: desktop.test.location, pairingWith: world.address(), "desktop") { _ in }
        }
        #expect(again?.caseName == "profileExists")
        // Another device with the same name.
        let outcome = try world.pair(laptop, with: "desktop")
        #expect(outcome.authorizing.failureName == "nameTaken" && outcome.joining?.caseName == "pairing")
        #expect(!outcome.location.exists && laptop.profile.devices?.state.added.count == 2)
    }

    @Test func aStrangerIsNotRefreshed() throws {
        let (laptop, other) = (try OpenProfile(), try OpenProfile())
        let outcome = try world.refresh(other, from: laptop)
        #expect(outcome.refreshing.failureName == "otherPerson")
        #expect(outcome.authorizing.failureName != nil)
        #expect(other.profile.devices == nil)
    }

    @Test func addressesAreRead() throws {
        let good: [(String, PairingAddress)] = [
            ("host:1", .tcp(host: "host", port: 1)), (":0", .tcp(host: "", port: 0)),
            ("[::1]:65535", .tcp(host: "::1", port: 65535)), ("./pair", .socket(path: "./pair")),
            ("/run/pair", .socket(path: "/run/pair")),
        ]
        for (text, address) in good { #expect(try PairingAddress(text) == address) }
        for text in ["", "host", "host:", "host:65536", "host:x", "a b:1", "[::1:2"] {
            let error = clientError { () throws(ClientError) in _ = try PairingAddress(text) }
            #expect(error?.caseName == "address", "\(text)")
        }
        #expect("\(PairingAddress.tcp(host: "::1", port: 7))" == "[::1]:7")
        #expect("\(try PairingAddress(":0").absolute)" == ":0")
        #expect("\(try PairingAddress("/run/pair").absolute)" == "/run/pair")
        #expect("\(try PairingAddress("./pair").absolute)".hasPrefix("/"))
        let nobody = clientError { () throws(ClientError) in
            _ = try PairingAddress(world.address()).connect()
        }
        #expect(nobody?.caseName == "cannotConnect")
    }

    /// One pairing at a time.
    @Test func aSecondPairingIsRefused() throws {
        let laptop = try OpenProfile()
        let (address, location) = (world.address(), world.location())
        let paper = Condition<String?>(nil)
        let wait = world.authorize(laptop, at: address) { paper.wait { $0 } }
        #expect(laptop.error(PairRequest.authorize(address: world.address()))?.caseName == "busy")
        #expect(laptop.error(PairingAnswer.code("1"))?.caseName == "noQuestion")
        try world.create(at: location, pairingWith: address, "desktop") { code in
            paper.update { $0 = code }
        }
        #expect(wait().failureName == nil)
    }
}
