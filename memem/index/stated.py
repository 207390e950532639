"""What a memory says of others by its links: in its properties, and in the sentences of its statement."""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from memem.core.edge import CONTRADICTS, DEPENDS_ON, LINK, RECONCILED, SAME_TOPIC, SUPERSEDES, SUPPORTS
from memem.core.memory import Memory, link_target

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
class Said:
    """A link, and what it makes of the two memories. With `back`, the edge leads from the other one to this."""

    link: str
    kind: str
    origin: str
    score: float
    back: bool = False


def said(memory: Memory) -> Iterator[Said]:
    """Everything that a memory says of others."""
    origin = RECONCILED if memory.author == "model" else LINK
    for link in memory.related:
        yield Said(link, SAME_TOPIC, origin, SCORES[origin])
    for link in memory.contradicts:
        yield Said(link, CONTRADICTS, origin, 1.0)
    if memory.supersedes:
        yield Said(memory.supersedes, SUPERSEDES, origin, 1.0)
    if memory.superseded_by:
        yield Said(memory.superseded_by, SUPERSEDES, origin, 1.0, back=True)
    for link, before, after in in_sentences(memory.body):
        kind, back = _kind(before, after)
        yield Said(link, kind, LINK, SCORES[LINK], back)


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
