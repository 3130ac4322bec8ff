"""Valid and invalid responses of servers."""

import asyncio
import ssl

import httpx
import testtools

from tacker_cnf.http_client.connection_pool import ConnectionPool, HttpResponse
from tacker_cnf.http_client.ssrf_policy import SsrfPolicy


class TestConnectionPool(testtools.TestCase):
    def send(
        self, *responses: bytes, calls: int = 1
    ) -> tuple[list[HttpResponse], int]:
        """Send requests to a server that sends these responses, one to each
        request, and closes the connection after an empty one.

        :returns: the responses, and the number of connections
        """
        connections = [0]
        remaining = iter(responses)

        async def serve(
            reader: asyncio.StreamReader, writer: asyncio.StreamWriter
        ) -> None:
            connections[0] += 1
            while True:
                try:
                    self.received_head = await reader.readuntil(b"\r\n\r\n")
                    await reader.readexactly(4)
                except (asyncio.IncompleteReadError, asyncio.CancelledError):
                    writer.close()
                    return
                response = next(remaining, b"")
                writer.write(response)
                await writer.drain()
                if not response or response.endswith(b"!"):
                    writer.close()
                    return

        async def run() -> list[HttpResponse]:
            server = await asyncio.start_server(serve, "127.0.0.1", 0)
            port = server.sockets[0].getsockname()[1]
            pool = ConnectionPool(
                f"http://127.0.0.1:{port}/a/b?c=%20d",
                ssl.create_default_context,
                {"Version": "2.0.0"},
                1.0,
                0.3,
                SsrfPolicy(allow_loopback=True).resolve,
            )
            try:
                return [
                    await pool.send("POST", b"body", {"X": "y"})
                    for _ in range(calls)
                ]
            finally:
                pool.close()
                server.close()

        with asyncio.Runner() as runner:
            return runner.run(run()), connections[0]

    def test_the_request_on_the_wire(self) -> None:
        self.send(b"HTTP/1.1 204 No Content\r\n\r\n")
        first, *headers = self.received_head.decode().rstrip().split("\r\n")
        self.assertEqual("POST /a/b?c=%20d HTTP/1.1", first)
        self.assertIn("Version: 2.0.0", headers)
        self.assertIn("X: y", headers)
        self.assertIn("Content-Length: 4", headers)
        self.assertTrue(any(h.startswith("Host: 127.0.0.1:") for h in headers))

    def test_connections_are_reused_if_safe(self) -> None:
        for sent, made in (
            (b"HTTP/1.1 204 \r\n\r\n", 1),
            (b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok", 1),
            (b"HTTP/1.1 100 Go\r\n\r\nHTTP/1.1 204 OK\r\n\r\n", 1),
            (b"HTTP/1.1 204\r\nConnection: Close\r\n\r\n", 2),
            (b"HTTP/1.0 204 OK\r\n\r\n", 2),
            (b"HTTP/1.1 500 X\r\nTransfer-Encoding: chunked\r\n\r\n0", 2),
            (b"HTTP/1.1 500 X\r\n\r\nno length", 2),
            (b"HTTP/1.1 500 X\r\nContent-Length: 99999999\r\n\r\n", 2),
            (b"HTTP/1.1 500 X\r\nContent-Length: -1\r\n\r\n", 2),
        ):
            responses, connections = self.send(sent, sent, calls=2)
            self.assertEqual(made, connections, sent.decode())
            self.assertEqual(responses[0], responses[1])

    def test_a_connection_closed_while_idle_is_replaced(self) -> None:
        good = b"HTTP/1.1 204 OK\r\n\r\n"
        responses, connections = self.send(good, b"", good, calls=2)
        self.assertEqual(
            [204, 204], [response.status for response in responses]
        )
        self.assertEqual(2, connections)

    def test_invalid_responses_are_reported(self) -> None:
        for response, kind, words in (
            (b"", httpx.ReadError, "closed the connection"),
            (b"SSH-2.0-x\r\n\r\n", httpx.RemoteProtocolError, "status"),
            (b"HTTP/1.1 999 X\r\n\r\n", httpx.RemoteProtocolError, "status"),
            (
                b"HTTP/1.1 204 X\r\nno colon\r\n\r\n",
                httpx.RemoteProtocolError,
                "header",
            ),
            (
                b"HTTP/1.1 204 X\r\nA: b!",
                httpx.RemoteProtocolError,
                "incomplete",
            ),
            (b"HTTP/1.1 204 X\r\nA: b", httpx.ReadTimeout, "in time"),
            (
                b"HTTP/1.1 204 X\r\n" + b"A: b\r\n" * 20000 + b"\r\n",
                httpx.RemoteProtocolError,
                "too long",
            ),
            (
                b"HTTP/1.1 500 X\r\nContent-Length: 9\r\n\r\nx!",
                httpx.RemoteProtocolError,
                "incomplete",
            ),
        ):
            refused = self.assertRaises(kind, self.send, response)
            self.assertIn(words, str(refused), response[:40].decode())
