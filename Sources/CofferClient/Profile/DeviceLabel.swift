/// The label that other members see of a device, mostly in names of conflict copies.
package enum DeviceLabel {
    /// Returns the label for a machine.
    ///
    /// Two people may both call their machine “laptop”. A name that does not contain a word of its owner's
    /// name is therefore prefixed with that name: “Ann's laptop”. A label that would be too long stays
    /// without the prefix, and so does one of blanks only, which no device may have.
    ///
    /// - Parameters:
    ///   - machine: The name that the person, or the system, gave the machine.
    ///   - person: The person's name.
    package static func of(_ machine: String, ownedBy person: String) -> String {
        let known = Set(words(of: machine))
        guard !machine.allSatisfy(\.isWhitespace), !words(of: person).contains(where: known.contains) else {
            return machine
        }
        let label = "\(person)'s \(machine)"
        return label.utf8.count <= byteCountMax ? label : machine
    }

    /// The largest length of a label (docs/format.md).
    private static let byteCountMax = 255

    private static func words(of text: String) -> [String] {
        text.lowercased().split { !$0.isLetter && !$0.isNumber }.map(String.init)
    }
}
