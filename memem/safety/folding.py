"""A text as it reads, for whoever looks for something in it: without what cannot be seen, and in plain letters."""

import re
import unicodedata
from dataclasses import dataclass
from functools import cache

# Also what an honest text may hold: here it is only looked past, and stays where it is.
_UNSEEN = (
    "\x00-\x08\x0e-\x1f\x7f\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e"
    "\u2060-\u206f\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufffb\U000e0000-\U000e0fff"
)
_STRANGE = "\uff01-\uff5e\u24b6-\u24e9\U0001d400-\U0001d7ff"
# Quick to ask for, and true of more than is odd: each range beyond the basic plane costs time on every letter.
_SUSPECT = (
    "[\x00-\x08\x0e-\x1f\x7f\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e\u2060-\u206f"
    "\u24b6-\u24e9\u3164\ufe00-\uffff\U0001d400-\U000e0fff]"
)
_CONTROL = r"[\x00-\x08\x0e-\x1f\x7f]"
# Only within a word does what cannot be seen hide anything: behind an emoji it does not.
_ODD = f"[{_UNSEEN}](?=[-A-Za-z0-9_+/={_STRANGE}])|[{_STRANGE}]"


@dataclass(frozen=True, slots=True)
class Folded:
    """The plain text, and for each of its characters the place where it stands in the original."""

    text: str
    places: tuple[int, ...]

    def place(self, start: int, end: int) -> tuple[int, int]:
        """Where a part of the plain text, which is not empty, stands in the original."""
        return self.places[start], self.places[end - 1] + 1


def folded(text: str) -> Folded | None:
    """The text as it reads; None when it reads as it is written."""
    if not _compiled(_CONTROL if text.isascii() else _SUSPECT).search(text) or not _compiled(_ODD).search(text):
        return None
    gone = _compiled(f"[{_UNSEEN}]")
    kept = [(_plain(character), place) for place, character in enumerate(text) if not gone.match(character)]
    return Folded("".join(character for character, _ in kept), tuple(place for _, place in kept))


def _plain(character: str) -> str:
    if character.isascii() or not _compiled(f"[{_STRANGE}]").match(character):
        return character
    plain = unicodedata.normalize("NFKC", character)
    return plain if len(plain) == 1 else character


@cache
def _compiled(pattern: str) -> re.Pattern[str]:
    """When it is first needed: most texts are plain, and to compile takes milliseconds."""
    return re.compile(pattern)


# What looks like a Latin letter, after case is folded: Cyrillic, Armenian, Latin letters of other alphabets.
_ALIKE = dict(
    zip("авеёкмнорстухіїјѕԁԛԝһьɡӏѵɑıօսոհցզյքɩʏᴏᴄᴜᴠᴡᴢ", "abeëkmhopctyxiïjsdqwhbglvaiounhgqjpiyocuvwz", strict=True)
)
# Greek letters look like one Latin letter when small and like another when large: both ways of reading count.
_GREEK = "αβεζηικμνορτυχωγ"
LOOK_ALIKE = str.maketrans(_ALIKE | dict(zip(_GREEK, "abeznikuvoptuxwy", strict=True)))
LOOK_ALIKE_LARGE = str.maketrans(_ALIKE | dict(zip(_GREEK, "abezhikmnoptyxwy", strict=True)))
