internal import CCurl

/// The transfers under way, and the handles that wait for the next; used by one thread.
///
/// A handle remembers the server's last challenge of Digest authentication, so a kept handle saves a request.
@safe
struct HTTPTransfers {
    private static let keptCountMax = 8

    private let multi: UnsafeMutableRawPointer
    private let settings: HTTPSettings
    /// By the numbers of their handles.
    private var running: [UInt: HTTPTransfer] = [:]
    private var kept: [HTTPHandle] = []
    /// How the server wants users to authenticate, once it has said so.
    private var authentication = HTTPAuthentication.unknown

    init(_ multi: UnsafeMutableRawPointer, _ settings: HTTPSettings) {
        unsafe self.multi = unsafe multi
        self.settings = settings
    }

    /// Begins the transfer of a call.
    mutating func begin(_ call: HTTPCall) {
        if call.isCancelled { return call.answer(.failure(.cancelled)) }
        guard let handle = kept.popLast() ?? HTTPHandle() else {
            return call.answer(.failure(.failed("no memory for a transfer")))
        }
        let transfer = HTTPTransfer(call, handle)
        do throws(HTTPError) {
            try transfer.configure(settings, authentication)
        } catch {
            return call.answer(.failure(error))
        }
        running[handle.number] = transfer
        unsafe curl_multi_add_handle(multi, handle.easy)
    }

    /// Moves bytes, and answers the calls that are done.
    mutating func drive() {
        var count: Int32 = 0
        unsafe curl_multi_perform(multi, &count)
        var result = CURLE_OK
        while let easy = unsafe coffer_curl_next_finished(multi, &result) {
            guard let transfer = running[UInt(bitPattern: easy)] else { continue }
            end(transfer)
            if let said = transfer.saidAuthentication { authentication = said }
            if kept.count < Self.keptCountMax { kept.append(transfer.handle) }
            transfer.call.answer(transfer.outcome(result))
        }
    }

    /// Ends the transfers of cancelled calls.
    mutating func endCancelled() { endAll { $0.isCancelled } }

    /// Ends the transfers of the calls that fulfil a condition.
    mutating func endAll(where isEnding: (HTTPCall) -> Bool = { _ in true }) {
        for transfer in running.values where isEnding(transfer.call) {
            end(transfer)
            transfer.call.answer(.failure(.cancelled))
        }
    }

    private mutating func end(_ transfer: HTTPTransfer) {
        unsafe curl_multi_remove_handle(multi, transfer.handle.easy)
        running[transfer.handle.number] = nil
    }
}

/// A handle of libcurl, which is freed with this object; it must be in no multi handle then.
@safe
final class HTTPHandle {
    let easy: UnsafeMutableRawPointer

    /// Makes a handle; nil if there is no memory.
    init?() {
        guard let easy = unsafe curl_easy_init() else { return nil }
        unsafe self.easy = unsafe easy
    }

    deinit { unsafe curl_easy_cleanup(easy) }

    var number: UInt { UInt(bitPattern: unsafe easy) }
}

/// How a server wants its users to authenticate.
enum HTTPAuthentication {
    case unknown, digest, basic
}
