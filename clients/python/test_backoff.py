"""Tests of backoff.py: python3 -m unittest discover clients/python"""

from __future__ import annotations

import http.server
import io
import threading
import unittest
import urllib.error
import urllib.request
from email.message import Message

import backoff


def headers(*pairs: tuple[str, str]) -> Message:
    m = Message()
    for name, value in pairs:
        m[name] = value
    return m


class Told(unittest.TestCase):
    def test_told(self) -> None:
        now = 1767323045.0  # Fri, 02 Jan 2026 03:04:05 GMT
        later = "Fri, 02 Jan 2026 03:04:15 GMT"
        for have, want in (
            ((), (0, False)),
            ((("Retry-After", "7"), ("RateLimit", '"a";r=0;t=9')), (7, False)),
            ((("Retry-After", later),), (10, False)),
            ((("Retry-After", later), ("Date", "Fri, 02 Jan 2026 03:04:12 GMT")), (3, False)),
            ((("Retry-After", "Fri, 02 Jan 2026 03:00:00 GMT"),), (0, False)),
            ((("Retry-After", "9" * 30),), (backoff.LONGEST, False)),
            ((("Retry-After", "-1"),), (0, False)),
            ((("Retry-After", "soon"), ("RateLimit", '"a";r=0;t=9')), (9, False)),
            ((("RateLimit", '"a;r=1,\\"";r=0;t=2'), ("RateLimit", '"b";t=5;r=0')), (5, False)),
            ((("RateLimit", '"a";r=1;t=5, "b";r=2;t=9'),), (0, True)),
            ((("RateLimit", '"a";r=x;t=5'), ("RateLimit", '"\\'), ("RateLimit", ";;=")), (0, False)),
        ):
            with self.subTest(have):
                self.assertEqual(backoff.told(headers(*have), now), want)

    def test_jitter(self) -> None:
        policy = backoff.Policy()
        waits = {policy.jitter(3) for _ in range(1000)}
        self.assertGreater(len(waits), 900)
        self.assertLessEqual(max(waits), 0.8)
        self.assertGreater(max(waits), 0.4)
        self.assertGreaterEqual(min(waits), 0)
        self.assertLessEqual(policy.jitter(10**6), policy.max_spread)


class Urlopen(unittest.TestCase):
    """Against a server that answers from a list, the last one for good."""

    def setUp(self) -> None:
        self.answers: list[tuple[int, dict[str, str]]] = []
        self.got: list[bytes] = []
        self.slept: list[float] = []
        outer = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                length = int(self.headers.get("Content-Length") or 0)
                status, extra = outer.answers[min(len(outer.got), len(outer.answers) - 1)]
                outer.got.append(self.rfile.read(length))
                self.send_response(status)
                for name, value in extra.items():
                    self.send_header(name, value)
                self.send_header("Content-Length", "0")
                self.end_headers()

            do_POST = do_GET

            def log_message(self, *_: object) -> None:
                pass

        self.server = http.server.HTTPServer(("127.0.0.1", 0), Handler)
        thread = threading.Thread(target=self.server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        self.addCleanup(thread.join)
        self.addCleanup(self.server.server_close)
        self.addCleanup(self.server.shutdown)

    def ask(self, data: object = None, **more: object) -> int:
        fields = more.pop("headers", {})
        request = urllib.request.Request(f"http://127.0.0.1:{self.server.server_port}/", data=data, headers=fields)
        try:
            with backoff.urlopen(request, sleep=self.slept.append, **more) as response:
                return response.status
        except urllib.error.HTTPError as error:
            error.close()
            return error.code

    def check(self, status: int, attempts: int, least: float = 0, **how: object) -> None:
        self.assertEqual(self.ask(**how), status)
        self.assertEqual(len(self.got), attempts)
        self.assertGreaterEqual(sum(self.slept), least)
        self.assertEqual(len(set(self.got)), 1)

    def test_admitted(self) -> None:
        self.answers = [(200, {})]
        self.check(200, 1)

    def test_other_error(self) -> None:
        self.answers = [(500, {})]
        self.check(500, 1)

    def test_told_twice(self) -> None:
        self.answers = [(429, {"Retry-After": "2"}), (429, {"Retry-After": "3"}), (200, {})]
        self.check(200, 3, 5)

    def test_told_by_ratelimit(self) -> None:
        self.answers = [(429, {"RateLimit": '"a";r=0;t=4, "b";r=3;t=60'}), (200, {})]
        self.check(200, 2, 4)

    def test_to_the_end(self) -> None:
        self.answers = [(429, {"Retry-After": "1"})]
        self.check(429, 5, 4)

    def test_too_long(self) -> None:
        self.answers = [(429, {"Retry-After": "61"})]
        self.check(429, 1)

    def test_too_large(self) -> None:
        self.answers = [(429, {"RateLimit": '"a";r=3;t=4'})]
        self.check(429, 1)

    def test_deadline(self) -> None:
        self.answers = [(429, {"Retry-After": "30"})]
        self.check(429, 1, deadline=20)

    def test_post(self) -> None:
        self.answers = [(429, {"Retry-After": "1"}), (200, {})]
        self.check(200, 2, 1, data=b"x")

    def test_body_that_is_gone(self) -> None:
        self.answers = [(429, {"Retry-After": "1"})]
        self.check(429, 1, data=io.BytesIO(b"x"), headers={"Content-Length": "1"})

    def test_post_that_may_have_been_carried_out(self) -> None:
        self.answers = [(503, {"Retry-After": "1"})]
        self.check(503, 1, data=b"x")

    def test_post_with_a_key(self) -> None:
        self.answers = [(503, {"Retry-After": "1"}), (200, {})]
        self.check(200, 2, 1, data=b"x", headers={"Idempotency-Key": "1"})

    def test_unavailable(self) -> None:
        self.answers = [(503, {"Retry-After": "1"}), (200, {})]
        self.check(200, 2, 1)


if __name__ == "__main__":
    unittest.main()
