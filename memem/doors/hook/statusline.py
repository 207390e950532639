"""The line that Claude Code shows at the bottom of its screen, printed by `memem statusline`.

It runs after every message, so it starts like `client.py`: by its path under `-I -S`, with no slow import. It reads
small text files of `inject/statusline.py`. If they are missing or damaged, it still prints one line and exits 0.
"""

import os
from time import strftime

HEADER = "memem 1"  # the first line of `projects`, as `inject/statusline.py` writes it
MAX_FILE_BYTES = 1_000_000
MAX_TEXT_CHARS = 60  # of a name or title, which `inject/statusline.py` has cut by display width


def main() -> None:
    try:
        try:  # Claude Code writes the session as JSON, and may get a broken pipe if this is not read
            while not os.isatty(0) and os.read(0, 65_536):
                pass
        except OSError:
            pass
        line = status_line(home(), session_folder())
    except Exception as problem:  # noqa: BLE001 - the outermost function of a door: a traceback would be on screen
        line = f"memem: no status ({type(problem).__name__}); /memem-doctor"
    try:
        os.write(1, f"{line}\n".encode("utf-8", "replace"))
    except OSError:
        return


def status_line(home: str, folder: str) -> str:
    """The number of the project's memories, the state of mining, its cost today, and the last memory learned."""
    if os.path.lexists(home) and not (os.path.isdir(home) and os.access(home, os.R_OK | os.X_OK)):
        return f"memem: cannot read {_printable(home)}; /memem-doctor"
    files = f"{home}/run/statusline"
    project = _lookup(_read(f"{files}/folders"), folder)
    subject, learned = _memories(home, project, _read(f"{files}/projects"))
    is_on = os.path.exists(f"{home}/state/.miner-opted-in")
    parts = [
        subject,
        "mining on" if is_on else "mining off (/memem-mine)",
        _cost_today(_read(f"{files}/today"), is_on),
        _history(_read(f"{home}/run/history.json")),
        f"learned: {_printable(learned)}" if learned else "",
    ]
    return " · ".join(part for part in parts if part)


def _memories(home: str, project: str, projects: str) -> tuple[str, str]:
    """The first part of the line, and the title that was learned last. An unknown number is left out."""
    name = f"memem {_printable(project)}" if project else "memem"
    if not projects.startswith(HEADER) or not project:
        is_empty = not os.path.exists(f"{home}/cache/index")
        return (f"{name}: no memories yet" if is_empty else name), ""
    count, _, learned = _lookup(projects, project).partition("\t")
    number = _whole(count)
    if not number:
        return f"{name}: no memories yet", ""
    return f"{name}: {number} {'memory' if number == 1 else 'memories'}", learned


def _cost_today(text: str, is_on: bool) -> str:
    day, _, dollars = text.strip().partition("\t")
    try:
        spent = float(dollars) if day == strftime("%Y-%m-%d") else 0.0
    except ValueError:
        spent = 0.0
    if not 0 < spent < 1e6:
        return "$0.00 today" if is_on else ""
    return f"${spent:.2f} today" if spent >= 0.005 else "under $0.01 today"


def _history(text: str) -> str:
    """The progress of mining the history, from `state/history_progress.py`, while its process is alive."""
    done, total, pid = (_whole(_field(text, name)) for name in ("sessions_done", "sessions", "pid"))
    if _field(text, "state") != '"running"' or done is None or not total or not pid:
        return ""
    try:
        os.kill(pid, 0)
    except PermissionError:
        pass
    except (OSError, OverflowError):
        return ""
    return f"history {done} of {total}"


def _field(text: str, name: str) -> str:
    """The JSON text of a number or a simple string in a flat JSON object."""
    value = text.partition(f'"{name}"')[2].lstrip().removeprefix(":").lstrip()
    return value.partition(",")[0].partition("}")[0].strip()


def _whole(text: str) -> int | None:
    return int(text) if text.isascii() and text.isdigit() and len(text) < 10 else None


def _lookup(text: str, key: str) -> str:
    """The rest of the line that begins with a key and a tab."""
    return f"\n{text}".partition(f"\n{key}\t")[2].partition("\n")[0] if key else ""


def _printable(text: str) -> str:
    """Remove characters that could control a terminal or hide text."""
    clean = "".join(character if character.isprintable() else " " for character in text)
    return " ".join(clean.split())[:MAX_TEXT_CHARS]


def _read(path: str) -> str:
    try:
        file = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0))
    except OSError:
        return ""
    try:
        return os.read(file, MAX_FILE_BYTES).decode("utf-8", "surrogateescape")
    except OSError:
        return ""
    finally:
        os.close(file)


def session_folder() -> str:
    try:
        return os.environ.get("CLAUDE_PROJECT_DIR") or os.getcwd()
    except OSError:
        return ""


def home() -> str:
    """The memory home, as in `client.py`; a test compares the two."""
    place = os.environ.get("MEMEM_DIR") or "~/.memem"
    user = os.environ.get("HOME") or os.environ.get("USERPROFILE") or os.path.expanduser("~")
    return os.path.normpath(os.path.join(user, place[2:].lstrip("/") if place.startswith("~/") else place))


if __name__ == "__main__":
    main()
    os._exit(0)
