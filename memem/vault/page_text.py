"""memem's part of a page: where it is, and which text of a page is the user's."""

import re
import zlib

BEGIN = "<!-- Start of memem's section; memem overwrites it -->"
END = "<!-- End of memem's section; text outside it is kept -->"
# With the marks of earlier versions, which the next update of a page replaces.
_BEGINS = (BEGIN, "<!-- memem writes from here -->")
_ENDS = (END, "<!-- to here; what you write around it stays -->")
_BLANK_LINES = re.compile(r"\A(?:[^\S\n]*\n)+")
SEAL = "<!-- %08x -->"
SEALED = re.compile(r"<!-- [0-9a-f]{8} -->")
RECORD = "<!-- written:"  # begins the last line of a playbook, which lists memem's lines by their digests
_LINK = re.compile(r"\s*\[\[[^\[\]|]*\|([0-9A-Za-z-]{8})\]\]\s*\Z")


def find_own_part(text: str) -> tuple[int, int] | None:
    """Start and end of memem's part with its marks; a single mark is the user's text."""
    end, last = max((text.rfind(mark), mark) for mark in _ENDS)
    start = max(text.rfind(mark, 0, max(end, 0)) for mark in _BEGINS)
    is_single = start < 0 or any(mark in text[start:end] for mark in _ENDS)
    return None if is_single else (start, end + len(last))


def get_own_lines(text: str) -> list[str]:
    place = find_own_part(text)
    own = text[place[0] : place[1]] if place else ""
    own = own[own.find("-->") + 3 : own.rfind("<!--")]
    return _BLANK_LINES.sub("", own).rstrip().splitlines()  # the user may have indented the first line


def is_sealed(lines: list[str], seal: str) -> bool:
    """Whether memem's lines are unchanged since it wrote them."""
    return seal == SEAL % zlib.crc32("\n".join(lines).strip().encode())


def split_line(line: str) -> tuple[str, str]:
    """The text of a playbook's line, and the short id of the linked note or nothing."""
    bare = line.strip().removeprefix("- ").strip()
    found = _LINK.search(bare)
    return (bare[: found.start()], found[1]) if found else (bare, "")


def digest(text: str) -> str:
    return f"{zlib.crc32(text.strip().encode('utf-8', 'replace')):08x}"


def find_user_text(text: str) -> str:
    """The text of a page that is not certainly memem's: around its part, and lines typed into it."""
    place = find_own_part(text)
    if place is None:
        return text
    around = text[: place[0]] + text[place[1] :]
    lines = get_own_lines(text)
    if lines and is_sealed(lines[:-1], lines[-1]):
        return around
    record = next((line for line in reversed(lines) if line.startswith(RECORD)), "")
    return "\n".join([around, *(line for line in lines if line != record and not _is_recorded(line, record))])


def _is_recorded(line: str, record: str) -> bool:
    """Whether a playbook's record lists this line, whose link Obsidian may have changed."""
    words, id8 = split_line(line)
    written = rf"{id8}\.[1-5]\.{digest(f'{words} {id8}')}\."
    return bool(id8) and line.startswith("- ") and re.search(rf" {written}", record) is not None
