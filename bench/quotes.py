"""`python -m bench quotes`: how many honest quotes with slips of copying are found, and how many wrong ones pass.

With `--data DIR` the sentences are from real transcripts (`DIR/transcripts/*/*.jsonl.gz`), else from a few made-up
conversations. Where the quote is the corrected copy, the slip is put into the turn. The curve shows each threshold, and
what a similarity alone would let pass.
"""

import argparse
import gzip
import io
import json
import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from random import Random
from time import perf_counter

from rapidfuzz import fuzz

from bench import measure
from bench.options import shared
from memem.core.conversation import HUMAN, Turn
from memem.mine.proof.quotes import MIN_SCORE, match_quote
from memem.transcript import session as transcript_session

VARIANTS, WRONG = 300, 2_000
THRESHOLDS = (0.7, 0.75, 0.8, 0.85, 0.9, 0.95, 1.0)
CHUNK_CHARACTERS = 24_000
MOST_SENTENCES = 40  # of a session, so that no long one is all that is measured
LETTERS = "abcdefghijklmnopqrstuvwxyz"
FILLERS = ("just", "really", "basically", "actually", "please", "simply", "the", "a")
OPPOSITES = (
    *(
        "from to",
        "to from",
        "before after",
        "after before",
        "more less",
        "less more",
        "enable disable",
        "disable enable",
    ),
    *("enabled disabled", "on off", "off on", "allow deny", "up down", "first last", "last first", "with without"),
    *("above below", "under over", "over under", "add remove", "remove add", "always never", "must may", "all no"),
)
BUILT_IN = """
No, use pnpm in this repository, the lockfile of npm breaks the build on Windows runners.
We move the gateway from HS256 to RS256 before the release 2.4.1, since it cannot share a secret.
Please don't run the integration tests after every change, they take 12 minutes and block the queue.
The staging database listens on port 5433, and production on 5432; never point src/config/db.ts at production.
Always enable feature_flags.checkout_v2 before you record the demo, it is disabled by default.
---
The retries have to back off after 3 attempts, otherwise the payment provider throttles us for 60 seconds.
I prefer small commits with a reason in the message, and no squashing when the branch is merged.
We keep timestamps in UTC in the tables, and convert them to the person's zone only in the browser.
Deploys happen on Tuesday from the release branch, with the changelog written before anything is tagged.
Run make lint before make test, because the type errors are shown faster than a failing suite.
---
The cache in lib/session_store.rb expires after 15 minutes, and it must not be larger than 256 MB.
Remove the old importer with its fixtures, nobody has called parseLegacyFeed since version 1.9.
Let us allow uploads up to 20 MB, more than that goes through the signed link from the bucket.
Images are resized on the worker, not in the request, or the first page takes 4 seconds to load.
Documentation goes to the folder docs/guide, and each page starts with an example people can copy.
"""


@dataclass(frozen=True, slots=True)
class Sentence:
    """A sentence of a conversation, with the turn it is in."""

    text: str
    turns: tuple[Turn, ...]
    place: int

    def edited(self, text: str) -> tuple[Turn, ...]:
        """The conversation with another text for the sentence."""
        turn = self.turns[self.place]
        changed = replace(turn, text=turn.text.replace(self.text, text, 1))
        return (*self.turns[: self.place], changed, *self.turns[self.place + 1 :])


@dataclass(frozen=True, slots=True)
class Case:
    kind: str
    turns: tuple[Turn, ...]
    quote: str


Edit = Callable[[str, Random], tuple[str, str] | None]
"""Makes of a sentence what was said and what is quoted."""


# --- honest quotes --------------------------------------------------------------------------------------------------


def _mark(mark: str) -> Edit:
    def edit(text: str, random: Random) -> tuple[str, str] | None:
        words = text.split(" ")
        at = random.randrange(len(words))
        if not words[at].isalnum():
            return None
        quote = text.replace("**", "") if mark == "**" else text.replace("`", "")
        return " ".join((*words[:at], f"{mark}{words[at]}{mark}", *words[at + 1 :])), quote

    return edit


def _between(said: Sequence[str], quoted: Sequence[str]) -> Edit:
    def edit(text: str, random: Random) -> tuple[str, str] | None:
        words = text.split(" ")
        at = random.randrange(1, len(words))
        one = random.choice(said)
        other = random.choice([each for each in quoted if each != one])
        both = (" ".join((*words[:at], mark, *words[at:])) for mark in (one, other))
        return next(both), next(both)

    return edit


def _quote_marks(text: str, random: Random) -> tuple[str, str] | None:
    words = text.replace("’", "'").split(" ")
    at = random.randrange(len(words))
    said = " ".join((*words[:at], f'"{words[at]}"', *words[at + 1 :]))
    quoted = " ".join((*words[:at], f"“{words[at]}”", *words[at + 1 :])).replace("'", "’")
    return (said, quoted) if random.random() < 0.5 else (quoted, said)


def _ellipsis(text: str, random: Random) -> tuple[str, str] | None:
    words = text.split(" ")
    if len(words) < 9:
        return None
    start, end = len(words) // 3, len(words) * 2 // 3
    if NEGATIVE.search(" ".join(words[start:end])):
        return None  # what is left out matters
    dots = random.choice((" … ", " ... ", " […] ", "... "))
    return text, " ".join(words[:start]) + dots + " ".join(words[end:])


def _space(text: str, random: Random) -> tuple[str, str] | None:
    spaces = (" ", "  ", "\n", "\t", "\u00a0", "\n\n")
    return text, "".join(random.choice(spaces) if char == " " and random.random() < 0.5 else char for char in text)


def _case(text: str, random: Random) -> tuple[str, str] | None:
    return text, random.choice((text.lower(), text.upper(), text[:1].swapcase() + text[1:]))


def _slip(text: str, random: Random) -> str | None:
    """Misspell one plain word."""
    found = re.finditer(r"(?<![\w./\\:@=`-])[a-z]{5,}(?![\w/\\@=`-]|[.:]\w)", text)
    words = [match for match in found if not NEGATIVE.search(match[0])]
    if not words:
        return None
    match = random.choice(words)
    word, at = match[0], random.randrange(len(match[0]) - 1)
    wrong = random.choice(
        (
            word[:at] + word[at + 1] + word[at] + word[at + 2 :],
            word[:at] + word[at + 1 :],
            word[:at] + word[at] + word[at:],
            word[:at] + random.choice(LETTERS) + word[at + 1 :],
        )
    )
    return text[: match.start()] + wrong + text[match.end() :] if wrong != word else None


def _typo(text: str, random: Random) -> tuple[str, str] | None:
    wrong = _slip(text, random)
    return (text, wrong) if wrong else None


def _corrected(text: str, random: Random) -> tuple[str, str] | None:
    wrong = _slip(text, random)
    return (wrong, text) if wrong else None


def _punctuation(text: str, _: Random) -> tuple[str, str] | None:
    return f"{text.rstrip('.')}.", text.rstrip(".!?")


def _filler(text: str, random: Random) -> tuple[str, str] | None:
    words = text.split(" ")
    at = random.randrange(1, len(words))
    if NEGATIVE.search(words[at - 1]):
        return None  # "not just"
    return " ".join((*words[:at], random.choice(FILLERS), *words[at:])), text


def _item(text: str, random: Random) -> tuple[str, str] | None:
    return f"\n{random.choice(('- ', '* ', '1. ', '12) ', '### ', '> '))}{text}\n", text


def _link(text: str, random: Random) -> tuple[str, str] | None:
    words = text.split(" ")
    at = random.randrange(len(words))
    if re.search(r"[\[\]()`]", words[at]):
        return None
    return " ".join((*words[:at], f"[{words[at]}](https://example.com/page-{at})", *words[at + 1 :])), text


def _unicode(text: str, random: Random) -> tuple[str, str] | None:
    words = text.split(" ")
    at = random.randrange(1, len(words))
    text = " ".join((*words[:at], random.choice(("café", "für", "año", "naïve", "한국어")), *words[at:]))
    forms = [unicodedata.normalize(form, text) for form in ("NFC", "NFD")]
    random.shuffle(forms)
    return forms[0], forms[1]


HONEST: dict[str, Edit] = {
    "bold dropped": _mark("**"),
    "backticks dropped": _mark("`"),
    "arrow": _between(("->", "→", "=>"), ("->", "→", "=>", "⇒")),
    "dash": _between(("—", "–", "--", "-"), ("—", "–", "--", "-")),
    "quotation marks": _quote_marks,
    "ellipsis in the middle": _ellipsis,
    "white space": _space,
    "case": _case,
    "typo corrected": _corrected,
    "typo added": _typo,
    "punctuation dropped": _punctuation,
    "filler dropped": _filler,
    "list marker dropped": _item,
    "link flattened": _link,
    "Unicode form": _unicode,
}

# --- wrong quotes ---------------------------------------------------------------------------------------------------

NEGATIVE = re.compile(
    r"\b(?:not|never|no|none|without|nobody|nothing|cannot|unless|except|only|until|but|if)\b|n['’]t\b", re.I
)
Wrong = Callable[[Sentence, Sequence[Sentence], Random], str | None]


def _shuffled(sentence: Sentence, _: Sequence[Sentence], random: Random) -> str | None:
    words = sentence.text.split(" ")
    if random.random() < 0.5:
        random.shuffle(words)
    else:
        one, other = random.sample(range(len(words)), 2)
        words[one], words[other] = words[other], words[one]
    return " ".join(words)


def _foreign(_: Sentence, others: Sequence[Sentence], random: Random) -> str | None:
    return random.choice(others).text


def _negated(sentence: Sentence, _: Sequence[Sentence], random: Random) -> str | None:
    words = sentence.text.split(" ")
    at = random.randrange(1, len(words))
    return " ".join((*words[:at], random.choice(("not", "never", "don't", "no", "without")), *words[at:]))


def _affirmed(sentence: Sentence, _: Sequence[Sentence], random: Random) -> str | None:
    found = list(re.finditer(r"\b(?:not|never|no|without|don['’]t|cannot) ", sentence.text, re.I))
    if not found:
        return None
    match = random.choice(found)
    return sentence.text[: match.start()] + sentence.text[match.end() :]


def _renumbered(sentence: Sentence, _: Sequence[Sentence], random: Random) -> str | None:
    digits = [match.start() for match in re.finditer(r"[0-9]", sentence.text)]
    if not digits:
        return None
    at = random.choice(digits)
    new = random.choice([digit for digit in "123456789" if digit != sentence.text[at]])
    return sentence.text[:at] + random.choice((new, new + sentence.text[at])) + sentence.text[at + 1 :]


def _renamed(sentence: Sentence, _: Sequence[Sentence], random: Random) -> str | None:
    names = re.findall(r"[\w-]*(?:[a-z][A-Z]|\w[_/.]\w|\w-\w)[\w./-]*\w", sentence.text)
    if not names:
        return None
    name = random.choice(names)
    at = random.choice([place for place, char in enumerate(name) if char.isalnum()])
    new = random.choice([letter for letter in LETTERS if letter != name[at].lower()])
    return sentence.text.replace(name, name[:at] + new + name[at + random.randrange(2) :])


def _turned(sentence: Sentence, _: Sequence[Sentence], random: Random) -> str | None:
    words = sentence.text.split(" ")
    places = [
        (at, pair.split()[1]) for at, word in enumerate(words) for pair in OPPOSITES if word.lower() == pair.split()[0]
    ]
    if not places:
        return None
    at, other = random.choice(places)
    return " ".join((*words[:at], other, *words[at + 1 :]))


def _halves(one: str, other: str) -> str:
    first, second = one.split(" "), other.split(" ")
    return " ".join((*first[: (len(first) + 1) // 2], *second[len(second) // 2 :]))


def _stitched(sentence: Sentence, _: Sequence[Sentence], random: Random) -> str | None:
    turns = [turn for at, turn in enumerate(sentence.turns) if at != sentence.place]
    found = [text for turn in turns for text in split_sentences(turn.text)]
    return random.choice((_halves, _with_ellipsis))(sentence.text, random.choice(found)) if found else None


def _with_ellipsis(one: str, other: str) -> str:
    return f"{one} … {other}"


def _invented(sentence: Sentence, others: Sequence[Sentence], random: Random) -> str | None:
    return random.choice((_halves, _with_ellipsis))(sentence.text, random.choice(others).text)


MISLEADING: dict[str, Wrong] = {
    "words shuffled": _shuffled,
    "of another session": _foreign,
    "negation added": _negated,
    "negation removed": _affirmed,
    "number changed": _renumbered,
    "identifier changed": _renamed,
    "direction turned": _turned,
    "stitched from two turns": _stitched,
    "second half invented": _invented,
}

# --- the sentences --------------------------------------------------------------------------------------------------


def split_sentences(text: str) -> list[str]:
    parts = re.split(r"(?<=[.!?])\s+|\n+", re.sub(r"```.*?(?:```|\Z)", "\n", text, flags=re.DOTALL))
    return [part for part in map(str.strip, parts) if 30 <= len(part) <= 300 and len(part.split(" ")) >= 6]


def read_sentences(data: Path | None, random: Random) -> list[list[Sentence]]:
    """The sentences of each session, with the turns that a model would be shown."""
    sessions = list(_transcripts(data)) if data else [_built_in(part) for part in BUILT_IN.split("---")]
    found = []
    for turns in sessions:
        chunk, sentences, size = list[Turn](), list[Sentence](), 0
        chunks = [chunk]
        for turn in turns:
            if size + len(turn.text) > CHUNK_CHARACTERS:
                chunk, size = [], 0
                chunks.append(chunk)
            chunk.append(turn)
            size += len(turn.text)
        for each in map(tuple, chunks):
            sentences += [
                Sentence(text, each, place)
                for place, turn in enumerate(each)
                for text in set(split_sentences(turn.text))
            ]
        sentences.sort(key=lambda sentence: (sentence.turns[sentence.place].uuid, sentence.text))
        found.append(random.sample(sentences, min(MOST_SENTENCES, len(sentences))))
    return [sentences for sentences in found if sentences]


def _transcripts(data: Path) -> Iterator[list[Turn]]:
    for folder in sorted((data / "transcripts").iterdir()):
        last = max(folder.glob("*.jsonl.gz"), key=lambda path: int(path.name.partition(".")[0]))
        steps = transcript_session.steps(io.BytesIO(gzip.decompress(last.read_bytes())), 0, folder.name)
        yield [step.line.turn for step in steps if step.line.turn]


def _built_in(text: str) -> list[Turn]:
    return [Turn(f"built-in-{number}-{line[:9]}", HUMAN, line) for number, line in enumerate(text.strip().splitlines())]


def make_honest(sessions: Sequence[Sequence[Sentence]], count: int, random: Random) -> list[Case]:
    cases: list[Case] = []
    for number in range(count):
        kind = list(HONEST)[number % len(HONEST)]
        while True:
            sentence = random.choice(random.choice(sessions))
            if edited := HONEST[kind](sentence.text, random):
                said, quote = edited
                cases.append(Case(kind, sentence.edited(said), quote))
                break
    return cases


def make_wrong(sessions: Sequence[Sequence[Sentence]], count: int, random: Random) -> list[Case]:
    cases: list[Case] = []
    tries = 0
    while len(cases) < count and (tries := tries + 1) < 100 * count:
        kind = list(MISLEADING)[len(cases) % len(MISLEADING)]
        own = random.randrange(len(sessions))
        others = [sentence for place, each in enumerate(sessions) if place != own for sentence in each]
        sentence = random.choice(sessions[own])
        quote = MISLEADING[kind](sentence, others, random)
        if quote and not _is_said(sentence.turns, quote, kind):
            cases.append(Case(kind, sentence.turns, quote))
    return cases


def _is_said(turns: Sequence[Turn], quote: str, kind: str) -> bool:
    """Whether somebody said just that: by chance, and without the negation that stood before it."""
    if kind == "negation removed":
        return False
    if kind in ("words shuffled", "negation added"):
        return any(f" {_plain(quote)} " in f" {_plain(turn.text)} " for turn in turns)
    # Similar sentences are common in a session, and two of them may well be in one turn.
    parts = [_plain(part, FILLERS) for part in quote.split("…")]
    least = 100 if len(parts) == 1 else 90
    return any(all(fuzz.partial_ratio(part, _plain(turn.text, FILLERS)) >= least for part in parts) for turn in turns)


def _plain(text: str, without: Sequence[str] = ()) -> str:
    return " ".join(word for word in re.findall(r"\w+", text.casefold()) if word not in without)


# --- the measurement ------------------------------------------------------------------------------------------------


def run(arguments: list[str]) -> int:
    """Print what is found and what passes; 1 when a wrong quote passes or too many honest ones are missed."""
    parser = shared(argparse.ArgumentParser(prog="python -m bench quotes", description=__doc__))
    parser.add_argument("--seed", type=int, default=1, help="of the slips (default: 1)")
    parser.add_argument("--variants", type=int, default=VARIANTS, help=f"honest quotes (default: {VARIANTS})")
    parser.add_argument("--wrong", type=int, default=WRONG, help=f"wrong quotes (default: {WRONG})")
    parser.add_argument("--show", action="store_true", help="list every mistake")
    options = parser.parse_args(arguments)
    random = Random(options.seed)
    sessions = read_sentences(options.data, random)
    honest, wrong = make_honest(sessions, options.variants, random), make_wrong(sessions, options.wrong, random)
    start = perf_counter()
    scores = {case: _score(case) for case in (*honest, *wrong)}
    milliseconds = 1000 * (perf_counter() - start) / len(scores)
    found, passed = (_count(cases, scores, MIN_SCORE) for cases in (honest, wrong))
    sizes = Counter(case.kind for case in (*honest, *wrong))
    rows = [(kind, sizes[kind], found[kind]) for kind in HONEST if sizes[kind]]
    print(measure.table(("slip", "quotes", "found"), [*rows, ("all", len(honest), found.total())]))
    rows = [(kind, sizes[kind], passed[kind]) for kind in MISLEADING if sizes[kind]]
    print("\n" + measure.table(("wrong quote", "quotes", "accepted"), [*rows, ("all", len(wrong), passed.total())]))
    alone = {case: _similarity(case) for case in (*honest, *wrong)}
    curve = [
        (at, *(_count(cases, by, at).total() for by in (scores, alone) for cases in (honest, wrong)))
        for at in THRESHOLDS
    ]
    head = ("threshold", "found", "accepted", "found by similarity alone", "accepted by similarity alone")
    print("\n" + measure.table(head, curve))
    print(f"\n{milliseconds:.1f} ms for a quote; threshold {MIN_SCORE}; seed {options.seed}; {len(sessions)} sessions.")
    if options.show:
        mistakes = [case for case in honest if scores[case] < MIN_SCORE] + [
            case for case in wrong if scores[case] >= MIN_SCORE
        ]
        for case in mistakes:
            print(f"{case.kind}: {case.quote!r}")
    if options.json:
        table = {"kinds": {kind: [sizes[kind], (found | passed)[kind]] for kind in sizes}, "curve": curve}
        options.json.write_text(json.dumps({"bench": "quotes", "seed": options.seed, **table}), encoding="utf-8")
    return 0 if found.total() >= 0.95 * len(honest) and not passed.total() else 1


def _score(case: Case) -> float:
    match = match_quote(case.turns, case.quote, min_score=0)
    return match.score if match else -1.0


def _similarity(case: Case) -> float:
    quote = _plain(case.quote)
    return max(fuzz.partial_ratio(quote, _plain(turn.text)) / 100 if turn.text else 0 for turn in case.turns)


def _count(cases: Sequence[Case], scores: dict[Case, float], threshold: float) -> Counter[str]:
    return Counter(case.kind for case in cases if scores[case] >= threshold)
