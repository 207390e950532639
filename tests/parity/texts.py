"""Texts that tokenizers and encoders disagree about: each stands for a rule, or for what people paste."""

from random import Random

NASTY = (
    "",
    " \t\r\n\u3000\xa0",
    "\u200b\ufeff\u00ad",
    "\u0301\u0302",
    "[CLS][SEP] [PAD][UNK][MASK]",
    "[[MASK]] x[MASK]y [mask] [MA\u200bSK] [MASK\u0301] [ CLS]",
    "[CLS[SEP]]",
    "Café CAFE\u0301 naïve Ångström \u212b \u212a",
    "ΟΔΟΣ Σ ΣΣ σς",
    "İstanbul ıI ſ ß ẞ Straße",
    "ǅ ŉ ﬁ ﬀ ²³ ½ Ⅷ ⓐ ａｂｃ！",
    "a\x0bb a\x0cb a\x1cb a\x1fb a\x85b a\x7fb a\x00b",
    "a\u2028b a\u2029b a\u1680b a\u202fb a\u180eb",
    "a\ufffdb a\ue000b a\U000f0000b a\U000e0041b \U000e0001",
    "$1+2=3 <a|b> ^~` _x_ #tag @me C++ C# \\d+ %s",
    "€5 £6 ¥7 ©®™ §¶ ¡¿ «x» a·b",
    "“quoted” ‘single’ – — … ‹› ‽ ⁇ 、。「」・〜",
    "\u037e \u0387 \u1fef \u2260 \u226e \u2329 \u2000x\u2001",
    "数据库a的b 日本語のAPIキー ㍿",
    "\u3400\u9fff\uf900\ufa0e\U00020000\U0002a6df\U0002a700\U0002b81f\U0002b820\U0002b91f\U0002b920\U0002ceaf\U0002ceb0",
    "가나다 한국어 \u1112\u1161\u11ab ㅎㅏㄴ ガギ ｶﾞ か\u3099 \u302e\u302f",
    "हिन्दी क्षत्रिय বাংলা தமிழ் ภาษาไทย ລາວ မြန်မာ ខ្មែរ བོད་",
    "עִבְרִית العَرَبِيَّة العـــربية \u202bRTL\u202c \u0600\u06dd",
    "می\u200cخواهم لا ﷺ ﷽",
    "👨\u200d👩\u200d👧\u200d👦 🏳\ufe0f\u200d🌈 👍🏽 1\ufe0f\u20e3 🇩🇪 ok👍ok",
    "\u263a\ufe0f a\u2192b x\u00d7y \u221e \u2211",
    "a\u08e2b a\u08d4b a\u1df6b a\u0890b",
    "a\u2e43b a\u2e5db a\u0a76b a\U00011660b a\u061db",
    "a\u166db a\U000111c9b ca\u1734fe a\u0378b a\U0010ffffb a\U0001e944b",
    "\ua7cb\ua7dc\u1c89 \u10a0\u1c90 \u13a0\uab70 \U00010400 \U0001e900",
    "x" * 100 + " " + "x" * 101,
    "é" * 100 + " " + "é" * 101,
    "x\u200b\u0301" * 100 + "y",
    "a" * 5000 + ",b",
    "." * 1019 + "[MASK]tail",
    "数" * 1023 + "cafe\u0301",
    "\u200b" * 3000 + "word",
    "wo" + "\u200b" * 3000 + "rd",
    "word " * 400,
    " " * 5000 + "end",
    "d41d8cd98f00b204e9800998ecf8427e 0x7fff5fbff8c0 lib/python3.11/site-packages/_x.py:42: E1101",
    "The\r\n\tquick--brown\n\n\nfox's “can’t”…don't",
    "1,234.56 12:30 2026-03-01T00:00:00Z v1.2.3-rc.1+b5",
    "z\u0335\u0321\u0327a\u0300\u0301\u0302l\u0323g\u0489o",
)

PLAIN = (
    "How do we sign access tokens?",
    "Access tokens are signed with RS256, because the gateway must verify them without a shared secret.",
    "数据库连接池的大小是二十。",
    "データベースの接続プールを再起動する。",
    "데이터베이스를 재시작한다.",
    "Die Prüfung läuft jede Nacht um halb drei und darf zweimal laufen.",
    "def retry(call, times=3):\n    for _ in range(times):\n        with suppress(TimeoutError):\n            call()",
    "A long note. " + "The ledger job copies settled orders to accounting and is safe to run twice. " * 60,
)


def mixtures(count: int, seed: int = 1) -> list[str]:
    """Random strings out of pieces of all the above and of any code points, from one character to some hundreds."""
    random = Random(seed)  # noqa: S311
    pieces = [piece for text in (*NASTY, *PLAIN) for piece in text[:400].split(" ")]
    made = []
    for _ in range(count):
        text = "".join(random.choice((" ", "", "\n")) + _piece(random, pieces) for _ in range(random.randrange(1, 60)))
        made.append(text)
    return made


def _piece(random: Random, pieces: list[str]) -> str:
    if random.random() < 0.7:
        return random.choice(pieces)
    code = random.choice((random.randrange(0x20, 0x250), random.randrange(0x250, 0x3000), random.randrange(0x11_0000)))
    return "" if 0xD800 <= code < 0xE000 else chr(code)
