"""Pages that memem writes for a person to read: its own part stands between two marks, the text around it is theirs."""

from pathlib import Path

from memem.core import files
from memem.core.errors import VaultUnwritable

BEGIN = "<!-- memem writes from here -->"
END = "<!-- to here; what you write around it stays -->"


def merged(text: str, part: str) -> str:
    """A page with `part` as memem's own; where it has none yet, that comes last.

    A mark without the other is nobody's: what stands beside it may be a person's, and stays.
    """
    own = f"{BEGIN}\n{part.strip()}\n{END}"
    end = text.rfind(END)
    start = text.rfind(BEGIN, 0, max(end, 0))
    if start < 0 or END in text[start:end]:
        return f"{text.rstrip()}\n\n{own}\n" if text.strip() else f"{own}\n"
    return text[:start] + own + text[end + len(END) :]


def write(path: Path, part: str, *, fsync: bool) -> bool:
    """Bring memem's part of a page up to date; says whether that changed anything. Called under the write lock.

    A page that is not text is left as it is.
    """
    try:
        before = path.read_bytes().decode() if path.exists() else ""  # with its own line endings
        after = merged(before, part)
        if after == before:
            return False
        files.write_atomic(path, after.encode(), fsync=fsync)
    except UnicodeDecodeError:
        return False
    except OSError as error:
        raise VaultUnwritable(f"Cannot write {path}: {files.reason(error)}. Nothing was changed.") from None
    return True
