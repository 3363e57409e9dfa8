internal import CofferFacts
internal import CofferFormat
internal import CofferTrust

// Errors of the layers below, as parts of sentences about a commit.

extension FormatError {
    /// What is wrong with the bytes.
    var words: String {
        switch self {
        case .notThisKind: "it is another kind of object"
        case .newerVersion(let found, _): "it has format version \(found)"
        case .truncated: "it ends too early"
        case .trailingBytes: "it goes on behind its end"
        case .invalid(let field): "its \(field) cannot be"
        case .unknown(let field, let found): "its \(field) is \(found), which is not known here"
        case .duplicate(let field): "it has \(field) twice"
        }
    }
}

extension CommitRefusal {
    /// Why the author may not do it.
    var words: String {
        switch self {
        case .unknownHead: "it names members that are not known here"
        case .otherHead: "it names other members than the vault had"
        case .notMember: "its author was no member then"
        case .missingRight(let permission): "its author had no right to \(permission.rawValue)"
        case .tooLate(let link):
            "link \(link) of the members ended its author's right, and whoever made that did not have it"
        case .notTheBound(let link): "link \(link) of the members names another commit in its place"
        }
    }
}

extension FactRefusal {
    /// What nobody can say.
    var words: String {
        switch self {
        case .noSequence: "it has no number"
        case .saidTwice(let register): "it says two things of \(register.words)"
        case .unseenCommit(let register, let dot):
            "it replaces \(register.words) by commit \(dot.sequence) of log \(dot.log), which its author did not have"
        case .aboutRoot(let register): "it changes \(register.words), the vault's root"
        case .intoItself(let entry): "it puts what entry \(entry) leads to into itself"
        }
    }
}

extension FactComplaint {
    /// What is odd.
    var words: String {
        switch self {
        case .kindChanged(let item): "item \(item) was of another kind before"
        case .unknownItem(let item, let register): "\(register.words) is said, and not what item \(item) is"
        case .contentOfNoFile(let item): "item \(item) has a content and is no file"
        case .unknownParent(let entry, let item):
            "entry \(entry) is to lie in item \(item), of which nothing is known"
        case .parentNoDirectory(let entry, let item):
            "entry \(entry) is to lie in item \(item), which is no directory"
        case .itemChanged(let entry, let item): "entry \(entry) led to another item than \(item) before"
        case .secondEntry(let entry, let item): "directory \(item) has a second entry, \(entry)"
        }
    }
}

extension Register {
    /// What it is about.
    var words: String {
        switch self {
        case .kind(let item): "the kind of item \(item)"
        case .mode(let item): "the mode of item \(item)"
        case .modified(let item): "the date of item \(item)"
        case .extendedAttribute(let item, _): "an attribute of item \(item)"
        case .content(let item): "the content of item \(item)"
        case .place(let entry): "the place of entry \(entry)"
        }
    }
}
