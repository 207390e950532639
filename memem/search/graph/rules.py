"""How edges come about: links that notes state, keys and paths that they share, and which of many links are kept."""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import combinations

from memem.core.memory import (
    CONTRADICTS,
    DEPENDS_ON,
    GENERAL,
    KEY,
    LINK,
    PATH,
    RECONCILED,
    SAME_TOPIC,
    SUPERSEDES,
    SUPPORTS,
    Memory,
    link_target,
)

SCORES = {LINK: 1.0, RECONCILED: 0.9}
"""How strong a link is that says no more than that two belong together; what says more is certain."""
_CODE = re.compile(r"(```|~~~).*?(?:\1|\Z)|`[^`\n]+`", re.DOTALL)
_WIKILINK = re.compile(r"\[\[([^\[\]\n]+)\]\]")
_BORDER = re.compile(r"(?<=[.!?。！？])\s+|[;\n]")
_CUE = re.compile(
    r"""\b(?: (?P<depends>depend(?:s|ed|ing)?\ (?:up)?on|requires?|requiring|buil(?:ds?|t|ding)\ (?:up)?on)
            | (?P<needed>(?:required|needed)\ by)
            | (?P<supports>supports?|supporting|confirms?|confirming)
            | (?P<supported>(?:supported|confirmed)\ by) )\b""",
    re.VERBOSE | re.IGNORECASE,
)
_MEANT = {
    "depends": (DEPENDS_ON, False),
    "needed": (DEPENDS_ON, True),
    "supports": (SUPPORTS, False),
    "supported": (SUPPORTS, True),
}
_DENIED = re.compile(r"(?:\b(?:not|never|no longer|nothing|neither)|n['’]t)\b[^,]{0,20}$", re.IGNORECASE)
_THIS = re.compile(r"\s+(?:this|it)\b", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class StatedLink:
    """A link, and what it makes of the two memories. With `back`, the edge leads from the other one to this."""

    link: str
    kind: str
    origin: str
    score: float
    back: bool = False


def stated_links(memory: Memory) -> Iterator[StatedLink]:
    """Everything that a memory says of others."""
    origin = RECONCILED if memory.author == "model" else LINK
    for link in memory.related:
        yield StatedLink(link, SAME_TOPIC, origin, SCORES[origin])
    for link in memory.contradicts:
        yield StatedLink(link, CONTRADICTS, origin, 1.0)
    if memory.supersedes:
        yield StatedLink(memory.supersedes, SUPERSEDES, origin, 1.0)
    if memory.superseded_by:
        yield StatedLink(memory.superseded_by, SUPERSEDES, origin, 1.0, back=True)
    for link, before, after in in_sentences(memory.body):
        kind, back = _kind(before, after)
        yield StatedLink(link, kind, LINK, SCORES[LINK], back)


def in_sentences(body: str) -> Iterator[tuple[str, str, str]]:
    """The links of a statement, each with what stands before and after it in its sentence. Code holds no links."""
    if "[[" not in body:
        return
    text = _CODE.sub(lambda code: " " * len(code.group()), body)
    for found in _WIKILINK.finditer(text):
        if link_target(found.group()):
            before = _BORDER.split(text[: found.start()])[-1]
            yield found.group(), before, _BORDER.split(text[found.end() :], maxsplit=1)[0]


def _kind(before: str, after: str) -> tuple[str, bool]:
    """By the last such word before the link: "it depends on [[x]]". One behind it counts if this memory is what it is
    about: "[[x]] depends on this"."""
    cues = list(_CUE.finditer(before))
    if cues:
        cue = cues[-1]
        kind, back = _MEANT[str(cue.lastgroup)]
        return (SAME_TOPIC, False) if _DENIED.search(before[: cue.start()]) else (kind, back)
    behind = _CUE.search(after)
    if behind and _THIS.match(after, behind.end()) and not _DENIED.search(after[: behind.start()]):
        kind, back = _MEANT[str(behind.lastgroup)]
        return kind, not back
    return SAME_TOPIC, False


Pair = tuple[int, int, float]
"""Two places, and how strong the link between them is."""


@dataclass
class Clusters:
    """Which places are connected so far."""

    size: int
    _parents: list[int] = field(init=False)

    def __post_init__(self) -> None:
        self._parents = list(range(self.size))

    def of(self, place: int) -> int:
        """The place that stands for the cluster."""
        parents = self._parents
        while parents[place] != place:
            parents[place] = parents[parents[place]]
            place = parents[place]
        return place

    def join(self, one: int, other: int) -> bool:
        """Make one cluster of two; False when they were one already."""
        first, second = self.of(one), self.of(other)
        self._parents[max(first, second)] = min(first, second)
        return first != second

    def all(self) -> list[int]:
        """The cluster of each place."""
        return [self.of(place) for place in range(self.size)]


def forest(pairs: Iterable[Pair], clusters: Clusters) -> list[Pair]:
    """Those of the pairs, which come the strongest first, that connect what was not connected."""
    return [pair for pair in pairs if clusters.join(pair[0], pair[1])]


def filled(kept: Sequence[Pair], others: Iterable[Pair], degrees: list[int], most: int) -> Iterator[Pair]:
    """What is kept, and those of the others, the strongest first, that give neither end more than `most` links.

    `degrees` says how many each place has, and is brought up to date.
    """
    for one, other, _ in kept:
        degrees[one] += 1
        degrees[other] += 1
    yield from kept
    there = {(one, other) for one, other, _ in kept}
    for pair in others:
        one, other, _ = pair
        if degrees[one] < most and degrees[other] < most and (one, other) not in there:
            degrees[one] += 1
            degrees[other] += 1
            yield pair


RARE_KEY = 4
"""A key or pattern that more notes hold says little about any two of them."""


def shared_edges(memories: Sequence[Memory]) -> Iterator[tuple[int, int, float, str]]:
    """Pairs of one project, or of one and none in particular, by their places, the strongest first: how strong, by
    what. Each pair once."""
    holders: dict[tuple[str, str], list[int]] = {}
    for place, memory in enumerate(memories):
        for origin, words in ((KEY, memory.keys), (PATH, memory.paths)):
            for word in dict.fromkeys(word.strip().casefold() for word in words):
                holders.setdefault((origin, word), []).append(place)
    found: dict[tuple[int, int], tuple[float, str]] = {}
    for (origin, _), places in holders.items():
        if 2 <= len(places) <= RARE_KEY:
            score = round(0.4 + 0.4 / (len(places) - 1), 4)
            for pair in combinations(places, 2):
                if _may_meet(memories, *pair):
                    found[pair] = max(found.get(pair, (0.0, "")), (score, origin))
    ordered = sorted(found.items(), key=lambda item: (-item[1][0], item[0]))
    return ((*pair, score, origin) for pair, (score, origin) in ordered)


def _may_meet(memories: Sequence[Memory], one: int, other: int) -> bool:
    projects = {memories[one].project, memories[other].project}
    return len(projects) == 1 or GENERAL in projects
