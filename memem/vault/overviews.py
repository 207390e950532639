"""What lines of Home, and of a project's page, look like: so that what a person types among them is told apart."""

import re

from memem.core.memory import KINDS
from memem.vault import pages

PLURALS = {kind: f"{kind}s".capitalize() for kind in KINDS}
"""The headings of a project's page."""
_ITEM = r"\[\[[^\[\]]+\]\](?:: \d+ in force(?:, \d+ not)?)?"
_OURS = re.compile(
    rf"# \S.*|## (?:Projects|Conflicts|Waiting for review|Last changed|Pinned|Others|{'|'.join(PLURALS.values())})"
    rf"|(?:> )?- {_ITEM}(?: · [^\s·]+)*(?: · {_ITEM})?(?: \([^()]*\))?|{_ITEM}(?: · {_ITEM})*"
    r"|(?:> |- )?[\d,]+ more: .*|> \[!note\]- No longer in force.*|Nothing is remembered yet\."
)


def is_ours(line: str) -> bool:
    """Whether memem may have written this line, whatever was remembered then."""
    return _OURS.fullmatch(line) is not None


def typed(text: str) -> str:
    """What a person wrote between the marks of such a page."""
    return "\n".join(pages.typed_within(text, "", is_ours))
