"""The Markdown of pages: memem's part stands between two marks, the text around it is the person's."""

import re
import unicodedata
import zlib
from collections.abc import Callable
from pathlib import Path

from memem.core import files
from memem.core.errors import NoteChanged, VaultUnwritable
from memem.core.memory import KINDS

IsOurs = Callable[[str], bool]
"""Whether a line may be one that memem wrote earlier, about something that is no longer so."""
Part = str | Callable[[str], str]
"""What memem has to say on a page: as it is, or made from the page's text; nothing: the page is left as it is."""
BEGIN = "<!-- memem writes from here -->"
END = "<!-- to here; what you write around it stays -->"
_BLANK_LINES = re.compile(r"\A(?:[^\S\n]*\n)+")
_SEAL = "<!-- %08x -->"
_SEALED = re.compile(r"<!-- [0-9a-f]{8} -->")
_NAME_BYTES = 160  # file systems stop at 255; sync services add their own suffixes
_DEVICES = frozenset(
    ("con", "prn", "aux", "nul", *(f"{port}{number}" for port in ("com", "lpt") for number in range(10)))
)
_TAG = re.compile(r"<(?=[/!?%A-Za-z])")
_HASHTAG = re.compile(r"(?<![\w&\\])#(?=[^\s#])")
_IN_LINKS = str.maketrans({"[": "(", "]": ")", "|": "¦", "\\": "/", "`": "'"})


def file_stem(project: str) -> str:
    """The name of a project's pages, which no file system takes for another's, or for a device."""
    stem = project
    while len(stem.encode()) > _NAME_BYTES:
        stem = stem[:-1]
    stem = stem.rstrip("-.")
    if project.partition(".")[0] in _DEVICES:
        stem = f"project-{stem}"
    # What folds to something else, on a disk that does not tell cases apart, could be another project's.
    if stem == project == unicodedata.normalize("NFKC", project.casefold()):
        return stem
    return f"{stem}-{zlib.crc32(project.encode()):08x}"


def link(target: str, shown: str) -> str:
    """A link to a note by its name, or its path in the vault, under other words."""
    words = _quiet(" ".join(shown.translate(_IN_LINKS).split()))  # and no code, which other programs would run
    return f"[[{target}|{words}]]" if words else f"[[{target}]]"


def plain(line: str) -> str:
    """Somebody's words in a page: no mark of ours, no comment, element, link, tag or code begins in them."""
    line = _quiet(line.replace("`", "'")).replace("](", "]\\(")
    return _HASHTAG.sub(r"\\#", re.sub(r"\[(?=\[)", r"[\\", line))


def spoken(line: str) -> str:
    """The words of such a line as they were before."""
    return re.sub(r"\\([\[(#%])", r"\1", line)


def _quiet(line: str) -> str:
    return _TAG.sub("&lt;", line).replace("%%", "%\\%")


def own_part(text: str) -> tuple[int, int] | None:
    """Where memem's part stands, with its marks. A mark without the other is nobody's."""
    end = text.rfind(END)
    start = text.rfind(BEGIN, 0, max(end, 0))
    if start < 0 or END in text[start:end]:
        return None
    return start, end + len(END)


def own_lines(text: str) -> list[str]:
    """What stands between the marks."""
    place = own_part(text)
    own = text[place[0] + len(BEGIN) : place[1] - len(END)] if place else ""
    return _BLANK_LINES.sub("", own).rstrip().splitlines()  # an indented first line is a person's


def merged(text: str, part: str) -> str:
    """A page with `part` as memem's own; where it has none yet, that comes last.

    What stands beside a single mark may be a person's, and stays.
    """
    own = f"{BEGIN}\n{part.strip()}\n{END}"
    place = own_part(text)
    if place is None:
        return f"{text.rstrip()}\n\n{own}\n" if text.strip() else f"{own}\n"
    return text[: place[0]] + own + text[place[1] :]


def sealed(part: str) -> str:
    """A part with a checksum: by it memem knows whether a person has written into it."""
    return f"{part.strip()}\n{_SEAL % zlib.crc32(part.strip().encode())}"


def typed_within(text: str, part: str, is_ours: IsOurs) -> list[str]:
    """The lines that a person wrote between the marks of a sealed part, and that `part` would replace."""
    *lines, seal = own_lines(text) or [""]
    if not _SEALED.fullmatch(seal):
        lines, seal = [*lines, seal], ""
    if seal == _SEAL % zlib.crc32("\n".join(lines).strip().encode()):
        return []
    known = set(part.splitlines())
    return [line for line in lines if line.strip() and line not in known and not is_ours(line)]


def read(path: Path) -> str | None:
    """A page as it is, with its own line endings; empty when there is none, None when it is no text, or no file."""
    try:
        if not path.is_file():
            return None if path.exists() else ""
        return path.read_bytes().decode()
    except UnicodeDecodeError:
        return None
    except OSError as error:
        raise VaultUnwritable(f"Cannot read {path}: {files.reason(error)}. Nothing was changed.") from None


def leads_out(path: Path) -> bool:
    """Whether a page's place is a symbolic link, which may lead out of the vault."""
    return path.is_symlink() or path.parent.is_symlink()


def write(path: Path, part: Part, *, fsync: bool, is_ours: IsOurs | None = None) -> bool:
    """Bring memem's part of a page up to date; says whether that changed anything. Called under the write lock.

    With `is_ours` the part is sealed, and what a person wrote into it is put below it. A page that is not text, or
    behind a symbolic link, is left as it is. Raises NoteChanged, with nothing written, when
    somebody saves it at this very moment, and again.
    """
    if leads_out(path):
        return False
    try:
        return _written(path, part, is_ours, fsync=fsync)
    except NoteChanged:
        return _written(path, part, is_ours, fsync=fsync)


def _written(path: Path, part: Part, is_ours: IsOurs | None, *, fsync: bool) -> bool:
    before = read(path)
    own = "" if before is None else part if isinstance(part, str) else part(before)
    if before is None or not own or (after := _renewed(before, own, is_ours)) == before:
        return False
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        files.write_atomic(path, after.encode(), fsync=fsync, just_before=lambda: _refuse_change(path, before))
    except OSError as error:
        raise VaultUnwritable(f"Cannot write {path}: {files.reason(error)}. Nothing was changed.") from None
    return True


def _renewed(before: str, part: str, is_ours: IsOurs | None) -> str:
    if is_ours is None:
        return merged(before, part)
    typed = typed_within(before, part, is_ours)
    after = merged(before, sealed(part))
    if not typed:
        return after
    end = after.rfind(END) + len(END)
    return f"{after[:end]}\n\n{chr(10).join(typed)}{after[end:]}"


def withdraw(path: Path, instead: str, *, fsync: bool, rest: Callable[[str], str] = lambda _: "") -> bool:
    """Take a page away that nobody needs any more; says whether that changed anything. Called under the write lock.

    Where a person wrote around memem's part, that says `instead` from then on; `rest` is what they wrote within. A page
    without our marks is theirs. Raises NoteChanged as `write` does.
    """
    text = "" if leads_out(path) else read(path)
    place = own_part(text) if text else None
    if not text or place is None:
        return False
    if rest(text) or (text[: place[0]] + text[place[1] :]).strip():
        return write(path, lambda now: rest(now) or instead, fsync=fsync)
    _refuse_change(path, text)
    try:
        files.remove(path, fsync=fsync)
    except OSError as error:
        raise VaultUnwritable(f"Cannot remove {path}: {files.reason(error)}. Nothing was changed.") from None
    return True


def _refuse_change(path: Path, before: str) -> None:
    if read(path) != before:
        raise NoteChanged(f"{path} changed on disk since it was read; nothing was written.")


PLURALS = {kind: f"{kind}s".capitalize() for kind in KINDS}
"""The headings of a project's page."""
_ITEM = r"\[\[[^\[\]]+\]\](?:: \d+ in force(?:, \d+ not)?)?"
_OURS = re.compile(
    rf"# \S.*|## (?:Projects|Conflicts|Waiting for review|Last changed|Pinned|Others|{'|'.join(PLURALS.values())})"
    rf"|(?:> )?- {_ITEM}(?: · [^\s·]+)*(?: · {_ITEM})?(?: \([^()]*\))?|{_ITEM}(?: · {_ITEM})*"
    r"|(?:> |- )?[\d,]+ more: .*|> \[!note\]- No longer in force.*|Nothing is remembered yet\."
)


def is_overview_line(line: str) -> bool:
    """Whether memem may have written this line, whatever was remembered then."""
    return _OURS.fullmatch(line) is not None


def typed_in_overview(text: str) -> str:
    """What a person wrote between the marks of such a page."""
    return "\n".join(typed_within(text, "", is_overview_line))
