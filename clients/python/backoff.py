"""Requests to services that limit how often they are asked.

urlopen() waits as long as it is told, never less, and spreads what comes after
by chance, so that clients told the same don't come back together. It needs the
standard library only (Python 3.9 or later): copy the file.

    import backoff
    with backoff.urlopen("https://api.example.com/orders") as response:
        print(response.read())
"""

from __future__ import annotations

import datetime
import email.utils
import random
import time
import urllib.error
import urllib.request
from dataclasses import dataclass
from email.message import Message
from http.client import HTTPResponse
from typing import Callable, Iterator, NamedTuple

__all__ = ["Policy", "Told", "told", "urlopen"]

IDEMPOTENT = frozenset({"GET", "HEAD", "OPTIONS", "TRACE", "PUT", "DELETE"})
LONGEST = float(2**31 - 1)


@dataclass(frozen=True)
class Policy:
    """How often to try, and how long to wait; times are seconds."""

    attempts: int = 5  # at most, the first included
    max_wait: float = 60.0  # whoever is told to wait longer gets the answer at once
    # The wait where none is told, and what is added to one that is, is a random time
    # from 0 to spread, which doubles with each attempt up to max_spread.
    spread: float = 0.2
    max_spread: float = 10.0

    def jitter(self, attempt: int) -> float:
        """A random time, in seconds, to add before the attempt after this one."""
        return random.uniform(0, min(self.spread * 2.0 ** min(attempt - 1, 60), self.max_spread))


class Told(NamedTuple):
    """What an answer's headers say about the next attempt."""

    wait: float  # seconds; 0 if they don't say
    hopeless: bool  # the request is too large: waiting doesn't help


def told(headers: Message, now: float | None = None) -> Told:
    """Reads Retry-After, in seconds or as a date, else RateLimit (IETF draft 10).

    now is the time in seconds since 1970; it stands in for the header Date.
    """
    text = (headers.get("Retry-After") or "").strip()
    if text.isascii() and text.isdigit():
        return Told(LONGEST if len(text) > 9 else float(text), False)
    at = _date(text)
    if at is not None:
        # Both dates are the server's: how its clock differs from ours is no matter.
        start = _date(headers.get("Date") or "")
        if start is None:
            start = time.time() if now is None else now
        return Told(max(at - start, 0.0), False)
    some = spent = False
    wait = 0.0
    for line in headers.get_all("RateLimit") or []:
        for member in _split(line, ","):
            remaining, reset = _limit(member)
            if remaining is None:
                continue
            some = True
            if remaining == 0:
                spent = True
                wait = max(wait, reset)
    return Told(wait, some and not spent)


def urlopen(
    request: str | urllib.request.Request,
    *,
    policy: Policy = Policy(),
    timeout: float = 30.0,
    deadline: float | None = None,
    opener: urllib.request.OpenerDirector | None = None,
    sleep: Callable[[float], None] = time.sleep,
) -> HTTPResponse:
    """Like urllib.request.urlopen, but tries again after 429 and 503.

    429 says that the request was not carried out, so any is tried again; 503
    doesn't, so only idempotent ones are. A body is sent again only if it is bytes.
    timeout is that of one attempt, and deadline that of all together, in seconds:
    an attempt that would begin after it is not waited for. Raises
    urllib.error.HTTPError with the last answer when there is no attempt left or
    another one makes no sense.
    """
    if isinstance(request, str):
        request = urllib.request.Request(request)
    end = None if deadline is None else time.monotonic() + deadline
    do = urllib.request.urlopen if opener is None else opener.open
    attempt = 1
    while True:
        try:
            return do(request, timeout=timeout)
        except urllib.error.HTTPError as error:
            wait = _wait(request, error, attempt, policy, end)
            if wait is None:
                raise
            error.close()
        sleep(wait)
        attempt += 1


def _wait(
    request: urllib.request.Request,
    error: urllib.error.HTTPError,
    attempt: int,
    policy: Policy,
    end: float | None,
) -> float | None:
    """Seconds until the next attempt; None if there is to be none."""
    if attempt >= policy.attempts or error.code not in (429, 503):
        return None
    if error.code == 503 and request.get_method() not in IDEMPOTENT and not request.has_header("Idempotency-key"):
        return None
    if request.data is not None and not isinstance(request.data, (bytes, bytearray)):
        return None
    wait, hopeless = told(error.headers)
    if hopeless or wait > policy.max_wait:
        return None
    wait += policy.jitter(attempt)
    if end is not None and time.monotonic() + wait >= end:
        return None
    return wait


def _date(text: str) -> float | None:
    """A date of HTTP in seconds since 1970."""
    try:
        at = email.utils.parsedate_to_datetime(text)
        if at.tzinfo is None:
            at = at.replace(tzinfo=datetime.timezone.utc)
        return at.timestamp()
    except (TypeError, ValueError, IndexError, OverflowError):
        return None


def _limit(member: str) -> tuple[int | None, float]:
    """Reads r and t of a member of RateLimit, such as "per-ip";r=0;t=2."""
    remaining: int | None = None
    reset = 0.0
    for part in list(_split(member, ";"))[1:]:
        name, _, value = part.strip().partition("=")
        if not (value.isascii() and value.isdigit()) or len(value) > 15:
            continue
        if name == "r":
            remaining = int(value)
        elif name == "t":
            reset = min(float(value), LONGEST)
    return remaining, reset


def _split(text: str, at: str) -> Iterator[str]:
    """Cuts at a separator that doesn't stand in quotes."""
    quoted = escaped = False
    start = 0
    for i, c in enumerate(text):
        if escaped:
            escaped = False
        elif quoted and c == "\\":
            escaped = True
        elif c == '"':
            quoted = not quoted
        elif c == at and not quoted:
            yield text[start:i]
            start = i + 1
    yield text[start:]
