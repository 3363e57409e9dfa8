"""An HTTP server that misbehaves as the path of a request says; prints its port."""

import email.utils
import http.server
import socketserver
import time

# The keys of do_overload that were asked for.
asked = set()


def pattern(count):
    return bytes(index * 7 % 251 for index in range(count))


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def body(self):
        return self.rfile.read(int(self.headers.get("Content-Length") or 0))

    def answer(self, status, body=b"", headers=(), length=None):
        self.send_response(status)
        for name, value in headers:
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body) if length is None else length))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)
            self.wfile.flush()

    def wait_for_end(self):
        # The client closes the connection, or this process ends.
        try:
            while self.connection.recv(4096):
                pass
        except OSError:
            pass
        self.close_connection = True

    def endless(self, status):
        self.send_response(status)
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        piece = b"10000\r\n" + b"x" * 0x10000 + b"\r\n"
        self.close_connection = True
        try:
            while True:
                self.wfile.write(piece)
        except OSError:
            pass

    def serve(self):
        what, *rest = self.path.split("?")[0].strip("/").split("/")
        getattr(self, "do_" + what.replace("-", "_"))(*rest)

    def do_echo(self, *_):
        head = f"{self.command} {self.path}\n" + "".join(f"{k.lower()}: {v}\n" for k, v in self.headers.items())
        self.answer(200, head.encode() + b"\n" + self.body())

    def do_port(self):
        """Tells the client's port: whether it has kept its connection."""
        self.answer(200, str(self.client_address[1]).encode())

    def do_bytes(self, count):
        whole = pattern(int(count))
        wanted = self.headers.get("Range")
        if not wanted:
            return self.answer(200, whole)
        first, last = (int(part) for part in wanted.removeprefix("bytes=").split("-"))
        if first >= len(whole):
            return self.answer(416, b"", [("Content-Range", f"bytes */{len(whole)}")])
        part = whole[first : last + 1]
        said = f"bytes {first}-{first + len(part) - 1}/{len(whole)}"
        self.answer(206, part, [("Content-Range", said)])

    def do_whole(self, count):
        self.answer(200, pattern(int(count)))

    def do_generous(self):
        """More than the range that was asked for."""
        self.answer(206, pattern(100_000), [("Content-Range", "bytes 0-99999/100000")])

    def do_stall(self):
        self.answer(200, b"half", length=8)
        self.wait_for_end()

    def do_silent(self):
        self.body()
        self.wait_for_end()

    def do_cut(self):
        self.answer(200, b"x" * 500, length=1000)
        self.close_connection = True

    def do_endless(self, status="200"):
        self.endless(int(status))

    def do_headers(self):
        self.send_response(200)
        for number in range(20_000):
            self.send_header(f"X-{number}", "y" * 100)
        self.answer(200)
        self.close_connection = True

    def do_redirect(self):
        self.answer(302, b"elsewhere", [("Location", "/echo/redirected"), ("Retry-After", "7")])

    def do_noise(self):
        self.wfile.write(b"220 this is not HTTP\r\n")
        self.close_connection = True

    def do_portal(self, *_):
        """Answers everything with a page that wants a login, as networks do."""
        self.body()
        self.answer(200, b"<html>Welcome! Please log in.</html>", [("Content-Type", "text/html")])

    def do_away(self, *_):
        self.body()
        self.answer(302, b"", [("Location", "https://login.example/")])

    def do_proxy(self, *_):
        self.body()
        self.answer(407, b"", [("Proxy-Authenticate", "Basic")])

    def do_overload(self, key, status, form, *_):
        """Refuses the first request for a key, and says when to come back."""
        self.body()
        if key in asked:
            return self.do_bytes("100")
        asked.add(key)
        end = time.time() + 7
        said = {
            "seconds": "7",
            "date": email.utils.formatdate(end, usegmt=True),
            "old-date": time.strftime("%A, %d-%b-%y %H:%M:%S GMT", time.gmtime(end)),
            "asctime": time.asctime(time.gmtime(end)),
            "never": "99999999",
            "nonsense": "soon",
        }[form]
        self.answer(int(status), b"", [("Retry-After", said)])

    def do_clear(self):
        self.body()
        if self.headers.get("Authorization"):
            return self.answer(200, b"sent " + self.headers["Authorization"].encode())
        self.answer(401, b"who?", [("WWW-Authenticate", 'Basic realm="clear"')])

    do_GET = do_PUT = do_HEAD = do_DELETE = do_PROPFIND = do_MOVE = do_MKCOL = serve


class Server(socketserver.ThreadingMixIn, http.server.HTTPServer):
    daemon_threads = True
    request_queue_size = 64

    def handle_error(self, *_):
        pass


server = Server(("127.0.0.1", 0), Handler)
print(server.server_address[1], flush=True)
server.serve_forever()
