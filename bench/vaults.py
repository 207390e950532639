"""Synthetic vaults: made-up notes of made-up projects, the same at every run.

The words follow Zipf's law, as those of real notes do, so that common and rare words, identifiers and whole sentences
meet the index in realistic numbers. Note n is the same in every vault: a vault of 100 is the beginning of one of 1,000.
"""

import uuid
from datetime import UTC, datetime, timedelta
from itertools import accumulate
from random import Random

from memem.core.memory import ARCHIVE, KINDS, ORDINARY, Memory
from memem.vault import note
from memem.workspace import Workspace

SEED = 20_260_301
VOCABULARY = 8_000
PROJECTS = ("general", "shop-api", "ledger", "mobile-app", "data-lake", "edge-proxy", "design-kit", "ops-runbooks")
CJK_EVERY = 33
ARCHIVE_SHARE, MINED_SHARE = 0.03, 0.6
SHORTEST, LONGEST = 150, 600
NEWEST = datetime(2026, 3, 1, 9, 0, tzinfo=UTC)

_GLUE = "the of to a is in and for we not with when it on must from that after by only never as so before are".split()
_KNOWN = """service request queue cache deploy index schema client worker table build branch release timeout retry
    config header cookie session order invoice payment customer report metric alert cluster node volume bucket
    migration column row lock thread batch stream topic consumer producer gateway proxy router handler parser lexer
    limit quota billing refund currency locale layout button screen gesture widget theme color font icon
    test fixture snapshot mock coverage lint format commit merge rebase review pipeline runner artifact image registry
    certificate rotation backup restore replica failover latency throughput budget sample trace span log archive export
    import csv parquet partition shard vacuum analyze plan join filter sort cursor page offset""".split()
_ONSETS = "b br c ch cl d dr f fl g gr h j k l m n p pl pr qu r s sh sl st t tr v w z".split()
_NUCLEI = "a e i o u ai ea io ou".split()
_CODAS = ["", "", "l", "m", "n", "nd", "r", "rt", "s", "st", "t", "x"]
_HAN = (
    "数据库连接池配置缓存服务部署版本测试分支合并订单支付退款日志监控报警备份恢复"
    "延迟吞吐限流重试超时索引查询事务锁线程队列消息"
)
_KANA = "サーバーデプロイキャッシュテストログエラーのはをにでがとした"


def _vocabulary() -> list[str]:
    """Distinct words, the most frequent first."""
    random = Random(SEED)
    words = dict.fromkeys(_KNOWN)
    while len(words) < VOCABULARY:
        syllables = random.choice((1, 2, 2, 3))
        parts = (random.choice(_ONSETS) + random.choice(_NUCLEI) + random.choice(_CODAS) for _ in range(syllables))
        words["".join(parts)] = None
    return list(words)


_WORDS = _vocabulary()
_CUMULATIVE = list(accumulate(1 / (rank + 8) for rank in range(VOCABULARY)))


def memory(number: int) -> Memory:
    """The memory of this number."""
    random = Random(SEED + number)
    created = NEWEST - timedelta(minutes=random.randrange(60 * 24 * 700))
    project = random.choice(PROJECTS)
    body = _cjk_body(random) if number % CJK_EVERY == 5 else _body(random)
    mined = random.random() < MINED_SHARE
    return Memory(
        id=str(uuid.UUID(int=random.getrandbits(128), version=4)),
        title=" ".join(body[: random.randrange(30, 80)].rsplit(" ", 1)[0].rstrip(" ,.;").split()),
        body=body,
        project=project,
        kind=random.choice(KINDS),
        tags=("memem", project, *_words(random, random.randrange(3))),
        layer=ARCHIVE if random.random() < ARCHIVE_SHARE else ORDINARY,
        importance=random.choice((2, 3, 3, 3, 4, 5)),
        keys=tuple(literal(random) for _ in range(random.randrange(3))),
        paths=(f"src/{_words(random, 1)[0]}/**",) if random.random() < 0.3 else (),
        created=created.isoformat(),
        updated=(created + timedelta(hours=random.randrange(200))).isoformat(),
        source_type="mined" if mined else "user",
        source_session=str(uuid.UUID(int=random.getrandbits(128), version=4)) if mined else "",
        confidence=round(random.uniform(0.6, 1), 2) if mined else 1.0,
        author="model" if mined else "human",
        evidence=_sentence(random) if mined else "",
    )


def literal(random: Random) -> str:
    """An identifier, a path, a version or a ticket."""
    first, second, third = _words(random, 3)
    number = random.randrange(1, 9_999)
    return random.choice(
        (
            f"{first}_{second}_{third}".upper(),
            f"{first}_{second}",
            f"{first}{second.title()}{third.title()}",
            f"src/{first}/{second}_{third}.py",
            f"{first}-{second}.yaml",
            f"v{number % 9}.{number % 37}.{number % 11}",
            f"{first[:4].upper()}-{number}",
            f"ERR{number:05}",
        )
    )


def queries(count: int) -> list[str]:
    """Return queries about the vault's first notes: questions, words, a literal, a few Han characters."""
    return [_query(Random(SEED - number), memory(number)) for number in range(1, count + 1)]


def prompts(count: int) -> list[str]:
    """Return a prompt: a question about a note between two other sentences."""
    return [
        f"{query} {_sentence(Random(SEED - number))} {_sentence(Random(-number))}"
        for number, query in enumerate(queries(count))
    ]


def write_notes(ws: Workspace, count: int) -> None:
    """Begin a vault in this workspace and write its first `count` notes; nothing is indexed."""
    ws.store.make_vault()
    for number in range(count):
        write_note(ws, memory(number))


def write_note(ws: Workspace, memory: Memory) -> None:
    """Put one more note into a vault."""
    (ws.store.paths.memories / note.file_name(memory)).write_bytes(note.new_text(memory).encode())


def _query(random: Random, asked: Memory) -> str:
    if not asked.body.isascii():
        return asked.body[4:10]
    words = [word.rstrip(".") for word in asked.body.split() if word.rstrip(".").lower() not in _GLUE]
    some = random.sample(words, 4)
    return random.choice(
        (
            f"how do we handle the {some[0]} and the {some[1]} when the {some[2]} is slow?",
            f"why did {some[0]} {some[1]} fail in {asked.project}?",
            " ".join(some),
            next((word for word in words if not word.isalpha()), some[0]),
            f"where is {next(iter(asked.keys), some[0])} set?",
        )
    )


def _body(random: Random) -> str:
    wanted = random.randrange(SHORTEST, LONGEST - 100)
    body = _sentence(random)
    while len(body) < wanted:
        body += ("\n\n" if random.random() < 0.15 else " ") + _sentence(random)
    return body[:LONGEST]


def _sentence(random: Random) -> str:
    content = _words(random, random.randrange(5, 12))
    if random.random() < 0.5:
        content[random.randrange(len(content))] = literal(random)
    mixed: list[str] = []
    for word in content:
        mixed += [random.choice(_GLUE), word] if random.random() < 0.7 else [word]
    text = " ".join(mixed)
    return text[0].upper() + text[1:] + "."


def _cjk_body(random: Random) -> str:
    letters = _HAN if random.random() < 0.6 else _HAN + _KANA
    phrases: list[str] = []
    while sum(map(len, phrases)) < SHORTEST + 2:
        phrases.append("".join(random.choices(letters, k=random.randrange(4, 14))) + random.choice("，。"))
        if random.random() < 0.3:
            phrases.append(f" {literal(random)} ")
    return "".join(phrases).strip()


def _words(random: Random, count: int) -> list[str]:
    return random.choices(_WORDS, cum_weights=_CUMULATIVE, k=count)
