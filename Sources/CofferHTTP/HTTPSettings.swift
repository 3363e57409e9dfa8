internal import Glibc

/// How a client treats all its servers.
package struct HTTPSettings: Equatable, Sendable {
    /// Seconds until a connection must be made.
    package var connectSeconds = 20
    /// Seconds without progress after which a transfer ends.
    package var stallSeconds = 40
    /// A file of the certificates (PEM) that are trusted in place of the system's; nil for the system's.
    package var certificateFile: String?

    /// The defaults above, and the certificates that CURL_CA_BUNDLE or SSL_CERT_FILE names, as for curl(1).
    package init() {
        for name in ["CURL_CA_BUNDLE", "SSL_CERT_FILE"] where certificateFile == nil {
            guard let path = unsafe getenv(name), unsafe path[0] != 0 else { continue }
            certificateFile = unsafe String(cString: path)
        }
    }
}
