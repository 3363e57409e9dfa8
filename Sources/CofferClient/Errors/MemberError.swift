internal import CofferSystem

/// A failure that concerns a member of a vault, or an invite to one.
package enum MemberError: Error {
    /// No member has this name.
    case noSuchMember(name: String, vault: String)
    /// Several members have this name.
    case ambiguousMember(name: String, vault: String)
    case noSuchRole(String)
    /// The words are not those of the identity.
    ///
    /// `first` is the position of the first word that differs, counted from 1; nil if the number of words is
    /// wrong.
    case otherWords(first: Int?)
    /// No open invite of this person begins with the id.
    case noSuchInvite(id: String, vault: String)
    /// Several open invites of this person begin with the id.
    case ambiguousInvite(id: String, vault: String)
}

extension MemberError: CustomStringConvertible {
    package var description: String {
        switch self {
        case .noSuchMember(let name, let vault):
            "“\(vault)” has no member “\(name)”. List the members with: coffer member list"
        case .ambiguousMember(let name, let vault):
            """
            Several members of “\(vault)” are called “\(name)”. Use the beginning of the member's identity \
            instead.
            """
        case .noSuchRole(let text): "“\(text)” is not a role. Use owner, admin, writer or reader."
        case .otherWords(let first?): "The words do not match: word \(first) is the first that differs."
        case .otherWords(nil): "The words do not match: an identity has eight words."
        case .noSuchInvite(let id, let vault):
            """
            No open invite of yours to “\(vault)” begins with “\(id)”. List them with: coffer member list \
            \(ShellWord.quoted(vault))
            """
        case .ambiguousInvite(let id, let vault):
            """
            Several open invites to “\(vault)” begin with “\(id)”: give more of the id. List them with: coffer member \
            list \(ShellWord.quoted(vault))
            """
        }
    }

    var exitCode: Int32 {
        switch self {
        case .noSuchMember, .noSuchInvite: 66  // EX_NOINPUT
        case .ambiguousMember, .ambiguousInvite: 64  // EX_USAGE
        case .noSuchRole: 76  // EX_PROTOCOL
        case .otherWords: 77  // EX_NOPERM
        }
    }
}
