"""Text as it reads: without invisible characters, in plain letters."""

import unicodedata
from dataclasses import dataclass

from memem.core.data_files import Patterns

_PATTERNS = Patterns(__file__, "folding.toml")


@dataclass(frozen=True, slots=True)
class FoldedText:
    """Plain text, and for each of its characters the place in the original."""

    text: str
    places: tuple[int, ...]

    def place(self, start: int, end: int) -> tuple[int, int]:
        """Return where a part of the plain text, which is not empty, stands in the original."""
        return self.places[start], self.places[end - 1] + 1


def fold(text: str) -> FoldedText | None:
    """Return the text as it reads; None when it reads as it is written."""
    first_look = _PATTERNS["control" if text.isascii() else "suspect"]
    if not first_look.search(text) or not _PATTERNS["disguise"].search(text):
        return None
    unseen = _PATTERNS["unseen"]
    places = tuple(place for place, character in enumerate(text) if not unseen.match(character))
    return FoldedText("".join(_plain(text[place]) for place in places), places)


def _plain(character: str) -> str:
    plain = unicodedata.normalize("NFKC", character) if _PATTERNS["styled"].match(character) else character
    return plain if len(plain) == 1 else character


# Letters that look Latin, after case folding: Cyrillic, Armenian, Latin letters of other alphabets.
_ALIKE = dict(
    zip("авеёкмнорстухіїјѕԁԛԝһьɡӏѵɑıօսոհցզյքɩʏᴏᴄᴜᴠᴡᴢ", "abeëkmhopctyxiïjsdqwhbglvaiounhgqjpiyocuvwz", strict=True)
)
# A Greek letter looks like one Latin letter when small and like another when large: there is a table for each reading.
_GREEK = "αβεζηικμνορτυχωγ"
LOOK_ALIKE = str.maketrans(_ALIKE | dict(zip(_GREEK, "abeznikuvoptuxwy", strict=True)))
LOOK_ALIKE_LARGE = str.maketrans(_ALIKE | dict(zip(_GREEK, "abezhikmnoptyxwy", strict=True)))
