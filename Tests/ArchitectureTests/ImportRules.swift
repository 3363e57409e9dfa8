/// Rules about imports.
///
/// Each one reports all violations.
enum ImportRules {
    /// Every target has a row, so that the rules below cover all of them.
    static func targetsWithoutRow(_ targets: [String]) -> [String] {
        targets.filter { Layers.rows[$0] == nil }
    }

    /// A target imports only from rows above its own; targets of one row do not know each other.
    static func layers(_ files: [SourceFile]) -> [Violation] {
        violations(files) { target, module in
            guard let own = Layers.rows[target], let other = Layers.rows[module], other >= own else {
                return nil
            }
            return "\(target) is in row \(own) and must not import \(module), which is in row \(other)"
        }
    }

    /// A target imports only what Package.swift declares for it, as a transitive import compiles too.
    static func declared(_ files: [SourceFile], _ manifest: Manifest) -> [Violation] {
        violations(files) { target, module in
            if Layers.toolchain.contains(module) || module.hasPrefix("Foundation") { return nil }
            if manifest.dependencies[target, default: []].contains(module) { return nil }
            return "Package.swift does not declare that \(target) depends on \(module)"
        }
    }

    /// A target imports every dependency that Package.swift declares for it.
    static func unused(_ files: [SourceFile], _ manifest: Manifest) -> [String] {
        var imported: [String: Set<String>] = [:]
        for file in files { imported[file.target, default: []].formUnion(file.imports.map(\.module)) }
        return imported.sorted { $0.key < $1.key }.flatMap { target, modules in
            manifest.dependencies[target, default: []].subtracting(modules).sorted().map {
                "Package.swift: \(target) depends on \($0), but does not import it"
            }
        }
    }

    /// Only the targets that Layers.importers lists import its modules.
    static func importers(_ files: [SourceFile], of modules: Set<String>) -> [Violation] {
        violations(files) { target, module in
            guard modules.contains(module), let allowed = Layers.importers[module],
                !allowed.contains(target)
            else { return nil }
            let who = allowed.isEmpty ? "nobody does" : "only \(allowed.sorted().joined(separator: ", "))"
            return "\(target) must not import \(module): \(who)"
        }
    }

    private static func violations(
        _ files: [SourceFile], _ complaint: (_ target: String, _ module: String) -> String?
    ) -> [Violation] {
        files.flatMap { file in
            file.imports.compactMap { module, line in
                complaint(file.target, module).map { Violation(file, line: line, $0) }
            }
        }
    }
}
