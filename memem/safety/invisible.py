"""Remove invisible tricks from text: controls, hidden characters, terminal sequences."""

from memem.core.data_files import Patterns

_PATTERNS = Patterns(__file__, "invisible.toml")


def neutralise(text: str) -> tuple[str, int]:
    """Return the text without invisible tricks, and how many were removed or replaced. Idempotent."""
    if not _PATTERNS["ascii_control" if text.isascii() else "suspect"].search(text):
        return text, 0
    text = _PATTERNS["carriage_return"].sub("\n", text)
    text = _PATTERNS["surrogate_pair"].sub(
        lambda pair: pair[0].encode("utf-16", "surrogatepass").decode("utf-16"), text
    )
    text, sequences = _PATTERNS["ansi"].subn("", text)
    text, breaks = _PATTERNS["line_break"].subn("\n", text)
    text, surrogates = _PATTERNS["surrogate"].subn("\ufffd", text)
    placed = _without_misplaced(_PATTERNS["never_or_flag"].sub(lambda match: match["flag"] or "", text))
    # Blank cells stay in a braille word or drawing; a run of nothing else is white space in disguise.
    visible = _PATTERNS["braille"].sub(lambda run: run[0] if run[0].strip("\u2800") else " " * len(run[0]), placed)
    blanks = placed.count("\u2800") - visible.count("\u2800")
    return visible, sequences + breaks + surrogates + len(text) - len(placed) + blanks


def _without_misplaced(text: str) -> str:
    pieces: list[str] = []
    previous, position = "", 0
    for match in _PATTERNS["conditional"].finditer(text):
        start, end = match.span()
        if start > position:
            pieces.append(text[position:start])
            previous = text[start - 1]
        position = end
        if _PATTERNS["allowed"].fullmatch(previous + match.group() + text[end : end + 1]):
            previous = match.group()
            pieces.append(previous)
    return "".join([*pieces, text[position:]])
