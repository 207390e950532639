"""Rules for edges: links stated in notes, keys and paths that notes share, and which of many links stay."""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations

from memem.core import memory as core
from memem.core.memory import GENERAL, KEY, LINK, PATH, RECONCILED, SAME_TOPIC, Memory, link_target

Pair = tuple[int, int, float]  # two places and the strength of the link between them

SCORES = {LINK: 1.0, RECONCILED: 0.9}  # of a link that only says that two memories belong together
MAX_SHARERS = 4  # a key or path of more notes says little about any two of them
_CODE = re.compile(r"(```|~~~).*?(?:\1|\Z)|`[^`\n]+`", re.DOTALL)
_WIKILINK = re.compile(r"\[\[([^\[\]\n]+)\]\]")
_SENTENCE_END = re.compile(r"(?<=[.!?。！？])\s+|[;\n]")
_CUE = re.compile(
    r"""\b(?: (?P<depends>depend(?:s|ed|ing)?\ (?:up)?on|requires?|requiring|buil(?:ds?|t|ding)\ (?:up)?on)
            | (?P<needed>(?:required|needed)\ by)
            | (?P<supports>supports?|supporting|confirms?|confirming)
            | (?P<supported>(?:supported|confirmed)\ by) )\b""",
    re.VERBOSE | re.IGNORECASE,
)
_CUE_KINDS = {
    "depends": (core.DEPENDS_ON, False),
    "needed": (core.DEPENDS_ON, True),
    "supports": (core.SUPPORTS, False),
    "supported": (core.SUPPORTS, True),
}
_NEGATION = re.compile(r"(?:\b(?:not|never|no longer|nothing|neither)|n['’]t)\b[^,]{0,20}$", re.IGNORECASE)
_THIS = re.compile(r"\s+(?:this|it)\b", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class StatedLink:
    """A link in a note and the edge it makes; with `back`, the edge leads from the other memory to this one."""

    link: str
    kind: str
    origin: str
    score: float
    back: bool = False


def list_stated_links(memory: Memory) -> Iterator[StatedLink]:
    origin = RECONCILED if memory.author == "model" else LINK
    for link in memory.related:
        yield StatedLink(link, SAME_TOPIC, origin, SCORES[origin])
    for link in memory.contradicts:
        yield StatedLink(link, core.CONTRADICTS, origin, 1.0)
    if memory.supersedes:
        yield StatedLink(memory.supersedes, core.SUPERSEDES, origin, 1.0)
    if memory.superseded_by:
        yield StatedLink(memory.superseded_by, core.SUPERSEDES, origin, 1.0, back=True)
    for link, before, after in find_body_links(memory.body):
        kind, back = _infer_kind(before, after)
        yield StatedLink(link, kind, LINK, SCORES[LINK], back)


def find_body_links(body: str) -> Iterator[tuple[str, str, str]]:
    """The links of a statement outside code, each with the text before and after it in its sentence."""
    if "[[" not in body:
        return
    text = _CODE.sub(lambda code: " " * len(code.group()), body)
    for match in _WIKILINK.finditer(text):
        if link_target(match.group()):
            before = _SENTENCE_END.split(text[: match.start()])[-1]
            yield match.group(), before, _SENTENCE_END.split(text[match.end() :], maxsplit=1)[0]


def _infer_kind(before: str, after: str) -> tuple[str, bool]:
    """The kind by the last cue before the link ("depends on [[x]]"), or one after it ("[[x]] depends on this")."""
    if cues := list(_CUE.finditer(before)):
        is_negated = _NEGATION.search(before[: cues[-1].start()])
        return (SAME_TOPIC, False) if is_negated else _CUE_KINDS[str(cues[-1].lastgroup)]
    cue = _CUE.search(after)
    if cue and _THIS.match(after, cue.end()) and not _NEGATION.search(after[: cue.start()]):
        kind, back = _CUE_KINDS[str(cue.lastgroup)]
        return kind, not back
    return SAME_TOPIC, False


class Clusters:
    """Connected positions (union-find)."""

    def __init__(self, size: int) -> None:
        self._parents = list(range(size))

    def of(self, place: int) -> int:
        """The position that represents the cluster."""
        parents = self._parents
        while parents[place] != place:
            parents[place] = parents[parents[place]]
            place = parents[place]
        return place

    def join(self, one: int, other: int) -> bool:
        """Merge two clusters; False when they are one already."""
        first, second = self.of(one), self.of(other)
        self._parents[max(first, second)] = min(first, second)
        return first != second


def build_forest(pairs: Iterable[Pair], clusters: Clusters) -> list[Pair]:
    """The pairs, strongest first, that connect two clusters."""
    return [pair for pair in pairs if clusters.join(pair[0], pair[1])]


def fill_degrees(forest: Sequence[Pair], pairs: Iterable[Pair], degrees: list[int], max_degree: int) -> Iterator[Pair]:
    """The forest, then the strongest pairs whose ends both have fewer than `max_degree` links; updates `degrees`."""
    for one, other, _ in forest:
        degrees[one] += 1
        degrees[other] += 1
    yield from forest
    linked = {(one, other) for one, other, _ in forest}
    for pair in pairs:
        one, other, _ = pair
        if degrees[one] < max_degree and degrees[other] < max_degree and (one, other) not in linked:
            degrees[one] += 1
            degrees[other] += 1
            yield pair


def find_shared_edges(memories: Sequence[Memory]) -> Iterator[tuple[int, int, float, str]]:
    """Pairs of places that share a rare key or path, within a project or with `general`: score and origin."""
    sharers: dict[tuple[str, str], list[int]] = {}
    for place, memory in enumerate(memories):
        for origin, words in ((KEY, memory.keys), (PATH, memory.paths)):
            for word in dict.fromkeys(word.strip().casefold() for word in words):
                sharers.setdefault((origin, word), []).append(place)
    best: dict[tuple[int, int], tuple[float, str]] = {}
    for (origin, _), places in sharers.items():
        if 2 <= len(places) <= MAX_SHARERS:
            score = round(0.4 + 0.4 / (len(places) - 1), 4)
            for pair in combinations(places, 2):
                projects = {memories[place].project for place in pair}
                if len(projects) == 1 or GENERAL in projects:
                    best[pair] = max(best.get(pair, (0.0, "")), (score, origin))
    ordered = sorted(best.items(), key=lambda item: (-item[1][0], item[0]))
    return ((*pair, score, origin) for pair, (score, origin) in ordered)
