package import CofferFormat

/// The values of a register, by ascending stamp.
package struct RegisterValues: Equatable, Sendable {
    /// Which register.
    package let register: Register
    /// At least one.
    package let values: [RegisterValue]

    package init(register: Register, values: [RegisterValue]) {
        self.register = register
        self.values = values
    }
}
