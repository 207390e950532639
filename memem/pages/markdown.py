"""The Markdown of pages: memem's part stands between two marks; the text around it is the user's."""

import re
import unicodedata
import zlib
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from memem.core import files
from memem.core.errors import NoteChanged, VaultUnwritable
from memem.core.memory import KINDS
from memem.vault.page_text import BEGIN, END, SEAL, SEALED, find_own_part, get_own_lines, is_sealed

IsOurs = Callable[[str], bool]  # whether memem may have written a line earlier
Part = str | Callable[[str], str]  # memem's part, or a function from the page's text to it; empty leaves the page alone
_NAME_BYTES = 160  # file systems stop at 255; sync services add their own suffixes
_DEVICES = re.compile(r"(?:con|prn|aux|nul|com\d|lpt\d)", re.ASCII)
_TAG = re.compile(r"<(?=[/!?%A-Za-z])")
_HASHTAG = re.compile(r"(?<![\w&\\])#(?=[^\s#])")
_IN_LINKS = str.maketrans({"[": "(", "]": ")", "|": "¦", "\\": "/", "`": "'"})


def file_stem(project: str) -> str:
    """The file name of a project's pages, unique on every file system and not a device name."""
    stem = project
    while len(stem.encode()) > _NAME_BYTES:
        stem = stem[:-1]
    stem = stem.rstrip("-.")
    if _DEVICES.fullmatch(project.partition(".")[0]):
        stem = f"project-{stem}"
    # A name that folds to another could be another project's on a case-insensitive disk.
    if stem == project == unicodedata.normalize("NFKC", project.casefold()):
        return stem
    return f"{stem}-{zlib.crc32(project.encode()):08x}"


def link(target: str, label: str) -> str:
    """A wikilink to a note by its name or path; the label cannot break it, nor contain code."""
    words = _escape_tags(" ".join(label.translate(_IN_LINKS).split()))
    return f"[[{target}|{words}]]" if words else f"[[{target}]]"


def escape(line: str) -> str:
    """Text in a page that starts no mark of ours, comment, element, link, tag or code."""
    line = _escape_tags(line.replace("`", "'")).replace("](", "]\\(")
    return _HASHTAG.sub(r"\\#", re.sub(r"\[(?=\[)", r"[\\", line))


def unescape(line: str) -> str:
    return re.sub(r"\\([\[(#%])", r"\1", line)


def _escape_tags(line: str) -> str:
    return _TAG.sub("&lt;", line).replace("%%", "%\\%")


def merge_part(text: str, part: str) -> str:
    """The page with `part` as memem's own, at the end when it has none yet."""
    own = f"{BEGIN}\n{part.strip()}\n{END}"
    place = find_own_part(text)
    if place is None:
        return f"{text.rstrip()}\n\n{own}\n" if text.strip() else f"{own}\n"
    return text[: place[0]] + own + text[place[1] :]


def find_typed_lines(text: str, part: str, is_ours: IsOurs) -> list[str]:
    """The lines that the user wrote between the marks, and that `part` would replace."""
    *lines, seal = get_own_lines(text) or [""]
    if not SEALED.fullmatch(seal):
        lines, seal = [*lines, seal], ""
    if is_sealed(lines, seal):
        return []
    new_lines = set(part.splitlines())
    return [line for line in lines if line.strip() and line not in new_lines and not is_ours(line)]


def read_page(path: Path) -> str | None:
    """The page with its own line endings; empty when missing, None when it is not a text file."""
    try:
        if not path.is_file():
            return None if path.exists() else ""
        return path.read_bytes().decode()
    except UnicodeDecodeError:
        return None
    except OSError as error:
        raise VaultUnwritable(f"Cannot read {path}: {files.reason(error)}. Nothing was changed.") from None


def is_symlink(path: Path) -> bool:
    """Whether a page or its folder is a symbolic link, which may lead out of the vault."""
    return path.is_symlink() or path.parent.is_symlink()


def write_part(path: Path, part: Part, *, fsync: bool, is_ours: IsOurs | None = None) -> bool:
    """Update memem's part of a page, under the write lock; return whether it changed. Raises NoteChanged."""
    if is_symlink(path):
        return False
    with suppress(NoteChanged):
        return _write(path, part, is_ours, fsync=fsync)
    return _write(path, part, is_ours, fsync=fsync)


def _write(path: Path, part: Part, is_ours: IsOurs | None, *, fsync: bool) -> bool:
    before = read_page(path)
    own = "" if before is None else part if isinstance(part, str) else part(before)
    if before is None or not own or (after := _update(before, own, is_ours)) == before:
        return False
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        files.write_atomic(path, after.encode(), fsync=fsync, just_before=lambda: _refuse_change(path, before))
    except OSError as error:
        raise VaultUnwritable(f"Cannot write {path}: {files.reason(error)}. Nothing was changed.") from None
    return True


def _update(before: str, part: str, is_ours: IsOurs | None) -> str:
    """With `is_ours`, seal the part with a checksum, and move lines that the user typed into it below it."""
    if is_ours is None:
        return merge_part(before, part)
    after = merge_part(before, f"{part.strip()}\n{SEAL % zlib.crc32(part.strip().encode())}")
    end = after.rfind(END) + len(END)
    typed = "\n".join(find_typed_lines(before, part, is_ours))
    return f"{after[:end]}\n\n{typed}{after[end:]}" if typed else after


def remove_page(path: Path, instead: str, *, fsync: bool, find_rest: Callable[[str], str] = lambda _: "") -> bool:
    """Remove a page, under the write lock, or write `instead` if the user wrote around memem's part or in it."""
    text = "" if is_symlink(path) else read_page(path)
    place = find_own_part(text) if text else None
    if not text or place is None:
        return False
    if find_rest(text) or (text[: place[0]] + text[place[1] :]).strip():
        return write_part(path, lambda now: find_rest(now) or instead, fsync=fsync)
    _refuse_change(path, text)
    try:
        files.remove(path, fsync=fsync)
    except OSError as error:
        raise VaultUnwritable(f"Cannot remove {path}: {files.reason(error)}. Nothing was changed.") from None
    return True


def _refuse_change(path: Path, before: str) -> None:
    if read_page(path) != before:
        raise NoteChanged(f"{path} has changed on disk since it was read; nothing was written. Try again.")


PLURALS = {kind: f"{kind}s".capitalize() for kind in KINDS}  # headings of a project's page
_ITEM = r"\[\[[^\[\]]+\]\](?:: [\d,]+ (?:active|in force)(?:, [\d,]+ (?:not|outdated))?)?"
_HEADINGS = "Projects|Conflicts|Waiting for review|Last changed|Recently changed|Latest|Pinned|Others|Other"
_OURS = re.compile(  # with the wording of earlier versions, whose lines must not be taken for the user's
    rf"# \S.*|## (?:{'|'.join((_HEADINGS, *PLURALS.values()))})"
    rf"|(?:> )?- {_ITEM}(?: · [^\s·]+)*(?: · {_ITEM})?(?: \([^()]*\))?|{_ITEM}(?: · {_ITEM})*"
    r"|(?:> |- )?[\d,]+ more: .*|> \[!note\]- (?:No longer in force|Outdated or archived).*"
    r"|Nothing is remembered yet\.|There are no memories yet\."
)


def is_overview_line(line: str) -> bool:
    """Whether memem may have written this line of Home or a project's page, now or earlier."""
    return _OURS.fullmatch(line) is not None
