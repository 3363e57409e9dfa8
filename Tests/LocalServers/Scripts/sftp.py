"""An SFTP server on standard input and output that misbehaves.

sftp.py MODE DIRECTORY: MODE says how, see the methods; "honest" does not.
"""

import os
import stat
import struct
import sys
import time

OK, EOF, ABSENT, FORBIDDEN, FAILURE, UNSUPPORTED = 0, 1, 2, 3, 4, 8
MODE, ROOT = sys.argv[1:3]
source, sink = sys.stdin.buffer, sys.stdout.buffer


def string(data):
    return struct.pack(">I", len(data)) + data


class Reader:
    def __init__(self, data):
        self.data = data

    def take(self, count):
        taken, self.data = self.data[:count], self.data[count:]
        return taken

    def number(self):
        return struct.unpack(">I", self.take(4))[0]

    def long(self):
        return struct.unpack(">Q", self.take(8))[0]

    def string(self):
        return self.take(self.number())

    def path(self):
        return os.path.join(ROOT, self.string().decode())


def send(kind, body):
    sink.write(struct.pack(">IB", len(body) + 1, kind) + body)
    sink.flush()


def status(number, code, text=b"what the server says"):
    send(101, struct.pack(">II", number, code) + string(text) + string(b"en"))


def attributes(found):
    return struct.pack(
        ">IQIIIII", 0xF, found.st_size, found.st_uid, found.st_gid, found.st_mode, int(found.st_atime), int(found.st_mtime)
    )


class Server:
    def __init__(self):
        self.open = {}
        self.next = 0
        self.count = 0

    def handle(self, number, value):
        self.next += 1
        key = str(self.next).encode()
        self.open[key] = value
        send(102, struct.pack(">I", number) + string(key))

    def do_3(self, number, reader):
        path, flags = reader.path(), reader.number()
        mode = os.O_RDWR if flags & 2 else os.O_RDONLY
        mode |= os.O_CREAT if flags & 8 else 0
        mode |= os.O_EXCL if flags & 0x20 and MODE != "not-exclusive" else 0
        self.handle(number, os.open(path, mode, 0o666))

    def do_4(self, number, reader):
        value = self.open.pop(reader.string())
        if isinstance(value, int):
            os.close(value)
        if MODE == "late" and isinstance(value, int):
            return status(number, FAILURE, b"the upload failed")
        status(number, OK)

    def do_5(self, number, reader):
        file, offset, count = self.open[reader.string()], reader.long(), reader.number()
        data = os.pread(file, count, offset)
        if not data:
            return status(number, EOF)
        if MODE == "dying" and offset > 100_000:
            os._exit(1)
        if MODE == "generous":
            data += b"x" * 100
        if MODE == "empty-data":
            data = b""
        if MODE == "thrifty":
            data = data[: max(1, len(data) // 3)]
        send(103, struct.pack(">I", number) + string(data))

    def do_6(self, number, reader):
        file, offset, data = self.open[reader.string()], reader.long(), reader.string()
        os.pwrite(file, data, offset)
        status(number, OK)

    def do_7(self, number, reader):
        send(105, struct.pack(">I", number) + attributes(os.lstat(reader.path())))

    def do_17(self, number, reader):
        send(105, struct.pack(">I", number) + attributes(os.stat(reader.path())))

    def do_8(self, number, reader):
        send(105, struct.pack(">I", number) + attributes(os.fstat(self.open[reader.string()])))

    def do_9(self, number, reader):
        status(number, OK)

    def do_11(self, number, reader):
        path = reader.path()
        if MODE == "deep":
            return self.handle(number, [(f"d{index}".encode(), os.lstat(ROOT)) for index in range(50)])
        names = [(name.encode(), os.lstat(os.path.join(path, name))) for name in sorted(os.listdir(path))]
        if MODE == "names":
            some = os.lstat(ROOT + "/vaults")
            odd = [b"..", b"a/b", b"../../x", b"\x1b[2J", b"\xff\xfe", b"", b".hidden", b"x" * 5000, b"a\0b"]
            names += [(name, some) for name in odd] + names
        self.handle(number, names)

    def do_12(self, number, reader):
        names = self.open[reader.string()]
        if MODE == "endless":
            file = os.lstat(sys.argv[0])
            self.count += 1
            names = [(f"n{self.count}-{index}".encode(), file) for index in range(1000)]
        elif MODE == "vanishing" and not names:
            return status(number, ABSENT)
        elif MODE != "empty-names" and not names:
            return status(number, EOF)
        else:
            self.open.update({key: [] for key, value in self.open.items() if value is names})
        body = b"".join(string(name) + string(b"") + attributes(found) for name, found in names)
        count = 0xFFFFFFFF if MODE == "count" else len(names)
        send(104, struct.pack(">II", number, count) + body)

    def do_13(self, number, reader):
        os.unlink(reader.path())
        status(number, OK)

    def do_14(self, number, reader):
        os.mkdir(reader.path())
        status(number, OK)

    def do_15(self, number, reader):
        os.rmdir(reader.path())
        status(number, OK)

    def do_18(self, number, reader):
        path, new = reader.path(), reader.path()
        if os.path.isdir(path) and os.path.isdir(new) and MODE == "joining":
            for name in os.listdir(path):
                os.rename(os.path.join(path, name), os.path.join(new, name))
            os.rmdir(path)
        else:
            os.rename(path, new)
        status(number, OK)

    def do_200(self, number, reader):
        if reader.string() != b"hardlink@openssh.com":
            return status(number, UNSUPPORTED)
        path, new = reader.path(), reader.path()
        if MODE == "copying":
            with open(path, "rb") as old, open(new, "wb") as copy:
                copy.write(old.read())
        elif MODE == "linking":
            os.link(path, new)
        status(number, OK)

    def serve(self, packet):
        kind, reader = packet[0], Reader(packet[1:])
        number = reader.number()
        if MODE == "oversized":
            return sink.write(struct.pack(">IBI", 1 << 30, 101, number)) and sink.flush()
        if MODE == "large-status":
            return status(number, FAILURE, b"x" * 200_000)
        if MODE == "wrong-number":
            return status(number + 77, OK)
        if MODE == "twice":
            status(number, OK)
            return status(number, OK)
        if MODE == "wrong-kind":
            return send(103, struct.pack(">I", number) + string(b"data"))
        if MODE == "unknown-kind":
            return send(77, struct.pack(">I", number))
        if MODE == "cut":
            return send(101, struct.pack(">I", number) + b"\0\0")
        if MODE == "long-handle":
            return send(102, struct.pack(">I", number) + string(b"h" * 300))
        if MODE == "silent":
            return None
        if MODE == "rude":
            return status(number, FAILURE, b"\x1b]0;title\x07\x1b[31mred\xc2\x9b31m\r\nsecond line\xe2\x80\xae" + b"y" * 900)
        try:
            getattr(self, f"do_{kind}")(number, reader)
        except FileNotFoundError:
            status(number, ABSENT)
        except KeyError:
            status(number, FAILURE, b"unknown handle")
        except OSError:
            status(number, FAILURE)


def main():
    if MODE == "talkative":
        sink.write(b"Welcome to the machine\n")
        sink.flush()
        time.sleep(60)
    if MODE == "complaining":
        sys.stderr.write("\x1b[31mno\x07 way\n")
        sys.exit(255)
    if MODE == "noisy":
        # More than any pipe holds, before and after the greeting.
        sys.stderr.write("noise " * 100_000)
        sys.stderr.flush()
    server = Server()
    links = string(b"hardlink@openssh.com") + string(b"1")
    while True:
        head = source.read(4)
        if len(head) < 4:
            return
        packet = source.read(struct.unpack(">I", head)[0])
        if packet[0] == 1:
            send(2, struct.pack(">I", 2 if MODE == "old" else 3) + (links if MODE not in ("not-exclusive", "joining") else b""))
            if MODE == "noisy":
                sys.stderr.write("Host key verification failed.\n" * 10_000)
                sys.stderr.flush()
        else:
            server.serve(packet)


try:
    main()
except BrokenPipeError:
    pass
