internal import CofferFacts
internal import CofferFormat
internal import CofferTrust

// Errors of the layers below, as parts of sentences about a commit.

extension FormatError {
    /// Says what is wrong with the bytes.
    var words: String {
        switch self {
        case .notThisKind: "it is another kind of object"
        case .newerVersion(let found, _): "it has format version \(found)"
        case .truncated: "it ends too early"
        case .trailingBytes: "more bytes follow its end"
        case .invalid(let field): "its \(field) is invalid"
        case .unknown(let field, let found): "its \(field) is \(found), which this Coffer does not know"
        case .duplicate(let field): "it has \(field) twice"
        }
    }
}

extension CommitRefusal {
    /// Says why the author may not do it.
    var words: String {
        switch self {
        case .unknownHead: "it names members that this device does not know"
        case .otherHead: "it names other members than the vault had"
        case .notMember: "its author was not a member at the time"
        case .missingRight(let permission): "its author had no right to \(permission.rawValue)"
        case .tooLate(let link, _):
            "link \(link) of the members ended its author's right, and was made without this commit"
        case .notTheBound(let link): "link \(link) of the members names another commit in its place"
        }
    }
}

extension FactRefusal {
    /// Says what makes the commit invalid.
    var words: String {
        switch self {
        case .noSequence: "it has no number"
        case .saidTwice(let register): "it states \(register.words) twice"
        case .unseenCommit(let register, let dot):
            """
            it replaces \(register.words) from commit \(dot.sequence) of log \(dot.log), which its author \
            did not have
            """
        case .aboutRoot(let register): "it changes \(register.words), the vault's root"
        case .intoItself(let entry): "it moves the item of entry \(entry) into itself"
        }
    }
}

extension FactComplaint {
    /// Says what is odd.
    var words: String {
        switch self {
        case .kindChanged(let item): "item \(item) was of another kind before"
        case .unknownItem(let item, let register):
            "\(register.words) is stated, but the kind of item \(item) is unknown"
        case .contentOfNoFile(let item): "item \(item) has content, but is not a file"
        case .unknownParent(let entry, let item):
            "entry \(entry) is in item \(item), whose kind is unknown"
        case .parentNoDirectory(let entry, let item):
            "entry \(entry) is in item \(item), which is not a directory"
        case .itemChanged(let entry, let item): "entry \(entry) led to another item before, not \(item)"
        case .secondEntry(let entry, let item): "directory \(item) has a second entry, \(entry)"
        }
    }
}

extension Register {
    /// The item or entry, and which of its properties.
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
