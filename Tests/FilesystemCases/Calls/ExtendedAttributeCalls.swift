internal import CFilesystemCalls

extension Sandbox {
    func setAttribute(_ name: String, _ attribute: String, _ value: [UInt8], _ flags: Int32 = 0) throws {
        try check("setxattr", linux_set_attribute(path(name), attribute, value, value.count, flags))
    }

    func setAttribute(_ name: String, _ attribute: String, _ value: String, _ flags: Int32 = 0) throws {
        try setAttribute(name, attribute, Array(value.utf8), flags)
    }

    func attribute(_ name: String, _ attribute: String, capacity: Int = 65_536) throws -> [UInt8] {
        try [UInt8](unsafeUninitializedCapacity: max(capacity, 1)) { buffer, used in
            used = try check(
                "getxattr", linux_get_attribute(path(name), attribute, buffer.baseAddress, capacity))
        }
    }

    /// The size of a value, found with an empty buffer.
    func attributeSize(_ name: String, _ attribute: String) throws -> Int {
        try check("getxattr", linux_get_attribute(path(name), attribute, nil, 0))
    }

    func removeAttribute(_ name: String, _ attribute: String) throws {
        try check("removexattr", linux_remove_attribute(path(name), attribute))
    }

    /// The names of the user attributes in order.
    func userAttributes(_ name: String) throws -> [String] {
        try attributeNames(name).filter { $0.hasPrefix("user.") }
    }

    /// The names of all attributes in order.
    func attributeNames(_ name: String, capacity: Int = 65_536) throws -> [String] {
        let bytes = try [UInt8](unsafeUninitializedCapacity: capacity) { buffer, used in
            used = try check("listxattr", linux_list_attributes(path(name), buffer.baseAddress, capacity))
        }
        return bytes.split(separator: 0).map { String(decoding: $0, as: UTF8.self) }.sorted()
    }
}
