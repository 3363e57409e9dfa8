internal import Glibc

extension OperationRunner {
    func changeNames(_ operation: Operation) throws -> String? {
        switch operation {
        case .rename(let name, let target, let flags): try box.rename(name, target, flags)
        case .link(let name, let target): try box.link(name, target)
        case .unlink(let name): try box.unlink(name)
        case .makeDirectory(let name, let mode): try box.makeDirectory(name, mode)
        case .removeDirectory(let name): try box.removeDirectory(name)
        case .symbolicLink(let name, let target): try box.symlink(target, name)
        case .fifo(let name, let mode): try box.makeFifo(name, mode)
        case .changeMode(let name, let mode): try box.changeMode(name, mode)
        case .changeOwner(let name, let owner, let group, let following):
            try following ? box.changeOwner(name, owner, group) : box.changeLinkOwner(name, owner, group)
        case .setTimes(let name, let accessed, let modified, let following):
            try box.setTimes(name, accessed: accessed, modified: modified, following: following)
        case .setAttribute(let name, let attribute, let count, let seed, let flags):
            try box.setAttribute(name, attribute, pattern(count, seed: seed), flags)
        case .removeAttribute(let name, let attribute): try box.removeAttribute(name, attribute)
        default: return nil
        }
        return ""
    }

    func useHeld(_ operation: Operation) throws -> String? {
        switch operation {
        case .hold(let slot, let name, let flags):
            held[slot] = nil
            held[slot] = try box.open(name, flags | O_NONBLOCK)
            return ""
        case .release(let slot):
            let file = held[slot]
            held[slot] = nil
            try file?.close()
            return file == nil ? "nothing held" : ""
        case .heldWrite(let slot, let offset, let count, let seed):
            return try held[slot].map { "\(try $0.write(pattern(count, seed: seed), at: offset)) bytes" }
                ?? "nothing held"
        case .heldRead(let slot, let offset, let count):
            return try held[slot].map { digest(try $0.read(count, at: offset)) } ?? "nothing held"
        case .heldTruncate(let slot, let size):
            try held[slot]?.truncate(size)
            return ""
        case .heldMode(let slot, let mode):
            try held[slot]?.changeMode(mode)
            return ""
        case .heldStatus(let slot): return try held[slot].map { summary(try $0.status()) } ?? "nothing held"
        default: return nil
        }
    }

    func look(_ operation: Operation) throws -> String {
        switch operation {
        case .read(let name, let offset, let count):
            return digest(try box.open(name, O_RDONLY | O_NONBLOCK).read(count, at: offset))
        case .list(let name): return "\(try box.names(name))"
        case .status(let name): return summary(try box.linkStatus(name))
        case .readLink(let name): return try box.readLink(name)
        default: return "not an operation"
        }
    }
}
