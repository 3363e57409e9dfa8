"""The services by which containers and virtual machines of a cloud get their keys; prints its port.

Each answer has a new key: "key-1", "key-2", ... that ends an hour after 2030-01-01.
"""

import http.server
import json


class Handler(http.server.BaseHTTPRequestHandler):
    count = 0

    def log_message(self, *_):
        pass

    def answer(self, status, body=b""):
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def keys(self):
        Handler.count += 1
        keys = {
            "Code": "Success",
            "LastUpdated": None,
            "Type": "AWS-HMAC",
            "AccessKeyId": f"key-{Handler.count}",
            "SecretAccessKey": "se/cret",
            "Token": "token",
            "Expiration": "2030-01-01T01:00:00Z",
        }
        self.answer(200, json.dumps(keys).encode())

    def do_PUT(self):
        if self.path != "/latest/api/token" or not self.headers.get("X-aws-ec2-metadata-token-ttl-seconds"):
            return self.answer(403)
        self.answer(200, b"a-token==")

    def do_GET(self):
        if self.path == "/container":
            return self.keys() if self.headers.get("Authorization") == "open sesame" else self.answer(401)
        if self.path == "/nonsense":
            return self.answer(200, b"<html>")
        if self.headers.get("X-aws-ec2-metadata-token") != "a-token==":
            return self.answer(401)
        start = "/latest/meta-data/iam/security-credentials/"
        if self.path == start:
            return self.answer(200, b"my-role\n")
        return self.keys() if self.path == start + "my-role" else self.answer(404)


server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
print(server.server_port, flush=True)
server.serve_forever()
