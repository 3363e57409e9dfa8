"""An S3 server (moto) that checks signatures and makes each call atomic; prints its port.

It has the bucket "tests", which the key "reader" can only read. The names of other buckets say how the server
fails: see FAILURES. Signatures are checked with botocore, which shares nothing with Coffer's own code.

s3.py [REVOKED]: keys that have a line in the file REVOKED are not known any more.
"""

import hashlib
import io
import logging
import os
import sys
import threading
import types
import urllib.parse

from botocore.auth import S3SigV4Auth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials
from moto.server import DomainDispatcherApplication, create_backend_app
from werkzeug.serving import WSGIRequestHandler, make_server
from werkzeug.test import Client

SECRETS = {
    "writer": "the secret of/the+writer",
    "deputy": "the secret of the deputy",
    "reader": "the secret of the reader",
    "ended": "ended",
}

FAILURES = {
    "slow": (503, "SlowDown", {"Retry-After": "3"}, ""),
    "elsewhere": (301, "PermanentRedirect", {"x-amz-bucket-region": "eu-west-1"}, ""),
    "malformed": (400, "AuthorizationHeaderMalformed", {}, "<Region>eu-central-1</Region>"),
    "skewed": (403, "RequestTimeTooSkewed", {}, ""),
    "late": (200, "InternalError", {}, ""),
    "full": (507, "XMinioStorageFull", {}, ""),
    "broken": (500, "InternalError", {}, ""),
}


class Answer(Exception):
    def __init__(self, status, code, headers=(), more=""):
        self.status, self.headers = status, dict(headers)
        text = f"<Error><Code>{code}</Code><Message>What is said about {code}.</Message>{more}</Error>"
        self.body = f'<?xml version="1.0" encoding="UTF-8"?>\n{text}'.encode()


def revoked():
    """The keys that are not known any more."""
    try:
        with open(sys.argv[1], encoding="utf-8") as lines:
            return lines.read().split()
    except (IndexError, FileNotFoundError):
        return []


def check_signature(environ, url):
    """Who has signed a request."""
    words = environ.get("HTTP_AUTHORIZATION", "").removeprefix("AWS4-HMAC-SHA256 ").split(",")
    parts = dict(word.strip().split("=", 1) for word in words if "=" in word)
    if not parts:
        raise Answer(403, "AccessDenied")
    user, _, region, service, _ = parts["Credential"].split("/")
    if user not in SECRETS or user in revoked():
        raise Answer(403, "InvalidAccessKeyId")
    request = AWSRequest(method=environ["REQUEST_METHOD"], url=url)
    for name in parts["SignedHeaders"].split(";"):
        request.headers[name] = environ["HTTP_" + name.upper().replace("-", "_")]
    request.context["timestamp"] = environ["HTTP_X_AMZ_DATE"]
    auth = S3SigV4Auth(Credentials(user, SECRETS[user]), service, region)
    auth.headers_to_sign = types.MethodType(lambda _, r: r.headers, auth)
    text = auth.string_to_sign(request, auth.canonical_request(request))
    if auth.signature(text, request) != parts["Signature"] or "host" not in parts["SignedHeaders"]:
        raise Answer(403, "SignatureDoesNotMatch")
    if user == "ended":
        raise Answer(400, "ExpiredToken")
    return user


class Checked:
    def __init__(self, app):
        self.app = app
        self.lock = threading.Lock()

    def __call__(self, environ, start_response):
        body = environ["wsgi.input"].read(int(environ.get("CONTENT_LENGTH") or 0))
        environ["wsgi.input"] = io.BytesIO(body)
        try:
            self.check(environ, body)
        except Answer as answer:
            headers = {"Content-Length": str(len(answer.body)), "Content-Type": "application/xml", **answer.headers}
            start_response(f"{answer.status} Refused", list(headers.items()))
            return [b"" if environ["REQUEST_METHOD"] == "HEAD" else answer.body]
        # moto looks whether an object exists, and then puts it.
        with self.lock:
            return [b"".join(self.app(environ, start_response))]

    def check(self, environ, body):
        raw = environ["REQUEST_URI"]
        bucket = urllib.parse.unquote(raw.lstrip("/").split("/")[0].split("?")[0])
        user = check_signature(environ, f"http://{environ['HTTP_HOST']}{raw}")
        if hashlib.sha256(body).hexdigest() != environ.get("HTTP_X_AMZ_CONTENT_SHA256"):
            raise Answer(400, "XAmzContentSHA256Mismatch")
        if bucket in FAILURES:
            raise Answer(*FAILURES[bucket])
        if user == "reader" and environ["REQUEST_METHOD"] not in ("GET", "HEAD"):
            raise Answer(403, "AccessDenied")
        if bucket == "refusing" and "HTTP_IF_NONE_MATCH" in environ:
            raise Answer(501, "NotImplemented")
        if bucket == "ignorant":
            environ.pop("HTTP_IF_NONE_MATCH", None)


logging.getLogger("werkzeug").setLevel(logging.ERROR)
WSGIRequestHandler.protocol_version = "HTTP/1.1"
moto = DomainDispatcherApplication(create_backend_app)
for bucket in ["tests", "refusing", "ignorant"]:
    assert Client(moto).put(f"/{bucket}", base_url="http://127.0.0.1/").status_code == 200
server = make_server(os.environ.get("COFFER_S3_ADDRESS", "127.0.0.1"), 0, Checked(moto), threaded=True)
print(server.server_port, flush=True)
server.serve_forever()
