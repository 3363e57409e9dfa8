package import CofferCrypto
internal import CofferFormat
internal import CofferSystem
internal import CofferTrust
internal import CofferVault

/// A new profile for a further device of a person.
package enum PairedProfile {
    /// What a pairing shows the person, and asks.
    package struct Dialogue {
        /// Shows the digits that the person enters on the other device.
        let show: (String) -> Void
        /// Asks whether the other device, which belongs to a person of this name, says that the codes are the
        /// same.
        let confirm: (String) throws(ClientError) -> Bool

        /// Makes a dialogue of two functions, which are called on the thread of `create`.
        package init(
            show: @escaping (String) -> Void, confirm: @escaping (String) throws(ClientError) -> Bool
        ) {
            self.show = show
            self.confirm = confirm
        }
    }

    /// What was created.
    package struct Report: Sendable {
        /// The person's name.
        package let name: String
        /// The names of the vaults.
        package let vaults: [String]
        /// What could not be done, as text.
        package let problems: [String]
    }

    /// Pairs this device with one that waits at an address, and creates its profile.
    ///
    /// The profile exists once its keys are on disk; the vaults follow. If the pairing fails before that, there is
    /// no profile.
    ///
    /// - Parameters:
    ///   - machine: The name of this device; the label for others is made from it and the person's name.
    ///   - settings: The passphrase's; names and the first vault do not matter.
    /// - Throws: `.device`, and what `Profile.create` throws.
    package static func create(
        at location: ProfileLocation, pairingWith address: PairingAddress, machine: String,
        passphrase: borrowing SecretBytes, _ settings: Profile.Settings, _ dialogue: Dialogue
    ) throws(ClientError) -> Report {
        // What can fail on this device alone fails before the other one lists it.
        try Profile.prepare(location, passphrase, settings)
        var pairing = try JoiningPairing(at: address, isHeard: { true }) {
            dialogue.show("\($0)")
        } confirm: { acceptance throws(ClientError) in
            try dialogue.confirm(acceptance.name)
        }
        let device = DeviceKeys(label: DeviceLabel.of(machine, ownedBy: pairing.name))
        let bundle = try pairing.receive(asNew: device)
        var body = ProfileBody(identity: bundle.identity, device: device)
        (body.publicIdentity, body.devices) = (bundle.publicIdentity, bundle.devices)
        body.addVerified(bundle)
        let profile = try Profile.make(at: location, passphrase, settings, body)
        try profile.change { _ throws(ClientError) in }
        let problems = ProblemLog()
        let vaults = OpenVaults(profile, problems: problems, isReadOnly: false)
        defer { vaults.close() }
        let shared = SharedVaults(vaults)
        defer { shared.stop() }
        shared.add(bundle)
        try pairing.finish()
        return Report(
            name: profile.name, vaults: profile.vaults.map(\.name), problems: problems.all.map(\.text))
    }
}
