/// What others see of a device, in the names of conflict copies above all: whose it is, and which.
package enum DeviceLabel {
    /// The label for a machine.
    ///
    /// Two people may both call theirs “laptop”. So a name that does not say whose machine it is gets the person's in
    /// front: “Ann's laptop”.
    ///
    /// - Parameters:
    ///   - machine: What the person, or the system, calls the machine.
    ///   - person: The person's name.
    package static func of(_ machine: String, ownedBy person: String) -> String {
        let known = Set(words(of: machine))
        guard !machine.isEmpty, !words(of: person).contains(where: known.contains) else { return machine }
        let label = "\(person)'s \(machine)"
        return label.utf8.count <= byteCountMax ? label : machine
    }

    /// Bytes of a label (docs/format.md).
    private static let byteCountMax = 255

    private static func words(of text: String) -> [String] {
        text.lowercased().split { !$0.isLetter && !$0.isNumber }.map(String.init)
    }
}
