"""A proxy on loopback that ends TLS itself, with a certificate of its own: what is meant for a provider gets here."""

import socket
import ssl
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from urllib.parse import urlsplit


@contextmanager
def tunnel(host: str, url: str, folder: Path) -> Iterator[dict[str, str]]:
    """Lead all requests for `https://HOST` to `url`; give the environment that makes a client go this way."""
    key, certificate = folder / "key.pem", folder / "certificate.pem"
    made = ["openssl", "req", "-x509", "-nodes", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1"]
    named = ["-days", "2", "-subj", f"/CN={host}", "-addext", f"subjectAltName=DNS:{host}"]
    subprocess.run([*made, *named, "-keyout", key, "-out", certificate], check=True, capture_output=True)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    to = urlsplit(url)
    with socket.create_server(("127.0.0.1", 0)) as listening:

        def accept() -> None:
            with suppress(OSError):  # closed: that is the end
                while True:
                    client, _ = listening.accept()
                    threading.Thread(target=lead, args=(client,), daemon=True).start()

        def lead(client: socket.socket) -> None:
            with suppress(OSError):
                while not client.recv(1 << 16, socket.MSG_PEEK).endswith(b"\r\n\r\n"):
                    pass
                client.recv(1 << 16)
                client.sendall(b"HTTP/1.1 200 Connection established\r\n\r\n")
                with (
                    context.wrap_socket(client, server_side=True) as inside,
                    socket.create_connection((to.hostname or "", to.port or 0)) as server,
                ):
                    back = threading.Thread(target=pump, args=(server, inside), daemon=True)
                    back.start()
                    pump(inside, server)
                    back.join()

        threading.Thread(target=accept, daemon=True).start()
        proxy = f"http://127.0.0.1:{listening.getsockname()[1]}"
        yield {"HTTPS_PROXY": proxy, "SSL_CERT_FILE": str(certificate)}
        listening.shutdown(socket.SHUT_RDWR)


def pump(source: socket.socket, sink: socket.socket) -> None:
    with suppress(OSError):
        while piece := source.recv(1 << 16):
            sink.sendall(piece)
    with suppress(OSError):
        sink.shutdown(socket.SHUT_WR)
