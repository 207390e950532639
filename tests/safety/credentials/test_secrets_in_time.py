"""Searching a text for secrets takes time in proportion to its length."""

import time

import pytest

from memem.safety.credentials.redact import redact

# What the patterns begin with, and what they repeat, over and over.
UNITS = [
    *("a", "=", '"', "'", "\\", "-", "A1", "\n", "\n1aaa", " ", "0a", "a\u200b"),
    *(
        "password",
        "password=",
        "password for a b ",
        "key=",
        "token: ",
        'secret "',
        "[redacted: ",
        "[redacted: password]",
    ),
    *("-----BEGIN", "-----BEGIN PRIVATE KEY-----\n", "Private-Lines: 1\naaaa ", "://", "://a:b", "http://a:", "a@"),
    *("eyJa.", "ghp_", "ghp_1a\n", "AKIA" + "A1" * 8 + " ", "sk-a1-", "M" + "a1" * 12 + ".", "s.a1", "a1+ASt"),
    *("curl -u ", "authorization: ", "cookie: ", "cookie:a=b;", " login -p", "machine a login ", "a:5432:a:a:"),
    *("kind: secret\ndata:\n  a: b\n", '{"kty"', "mnemonic abc ", "abcde fghij ", "otpauth://?", "heroku_a1 : "),
    *('key="password" value="', 'auth=("a", ', "aaaaa is the password", "facebook 123456789012345|"),
]
SMALL, TIMES = 8_000, 4


@pytest.mark.slow(keep=8)
@pytest.mark.parametrize("unit", UNITS, ids=repr)
def test_four_times_the_text_takes_about_four_times_as_long(unit: str) -> None:
    """Quadratic would be sixteen times; the processor's time does not depend on who else is busy."""
    text = unit * (SMALL * TIMES // len(unit))
    redact(text[:200])
    small, large = (min(_seconds(text[:length]) for _ in range(2)) for length in (SMALL, SMALL * TIMES))
    assert large < 10 * max(small, 0.002)


def _seconds(text: str) -> float:
    begun = time.process_time()
    redact(text)
    return time.process_time() - begun
