"""`python -m bench recording FILE.svg`: record a few commands in a real terminal as an animated SVG."""

import argparse
import fcntl
import os
import pty
import shutil
import struct
import subprocess
import sys
import tempfile
import termios
from collections.abc import Iterator, Mapping
from html import escape
from pathlib import Path

from rich.color import ColorType
from rich.console import Console
from rich.style import Style
from rich.terminal_theme import MONOKAI
from rich.text import Text

COLUMNS = 88
LINE_HEIGHT, CHAR_WIDTH, FONT_SIZE, MARGIN, TITLE_BAR = 19, 8.4, 14, 16, 34
SECONDS_BEFORE_OUTPUT, SECONDS_BETWEEN_LINES, SECONDS_BEFORE_COMMAND = 0.7, 0.06, 1.8
BUTTONS = ((20, "#ff5f57"), (38, "#febc2e"), (56, "#28c840"))
_CONSOLE = Console()
COMMANDS: tuple[tuple[str, ...], ...] = (
    ("mine", "--session", "session.jsonl"),
    ("search", "which port does the database listen on in tests?"),
    ("slice", "the tests get connection refused on port 5433 again"),
)
"""They learn from the example session, search by meaning, and show what Claude gets with a prompt."""


def run(arguments: list[str]) -> int:
    """Record the commands and write the picture."""
    parser = argparse.ArgumentParser(prog="python -m bench recording")
    parser.add_argument("file", metavar="FILE", type=Path, help="ends in .svg")
    options = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory(prefix="memem-recording-") as name:
        folder = Path(name)
        project = folder / "shop-api"
        project.mkdir()
        shutil.copy(Path(__file__).parent.parent / "examples" / "session.jsonl", project)
        environ = recording_environ(folder)
        steps = [(command, record(command, cwd=project, environ=environ)) for command in COMMANDS]
    picture = draw(steps)
    options.file.write_text(picture, encoding="utf-8")
    print(f"{len(steps)} commands, {len(picture):,} bytes")
    return 0


def recording_environ(folder: Path) -> dict[str, str]:
    """Return an environment with a home of its own, the weights of this machine, and no `claude`."""
    environ = {key: value for key, value in os.environ.items() if not key.startswith(("MEMEM_", "CLAUDE"))}
    weights = os.environ.get("MEMEM_MODEL_DIR") or Path.home() / ".memem" / "models" / "all-MiniLM-L6-v2"
    return environ | {
        "HOME": str(folder),
        "TERM": "xterm-256color",
        "MEMEM_MODEL_DIR": str(weights),
        "MEMEM_EXTRACTOR": "rules",
        "MEMEM_BACKGROUND": "0",
    }


def record(command: tuple[str, ...], *, cwd: Path, environ: Mapping[str, str]) -> str:
    """Run one memem command in a pseudo-terminal and return everything it printed."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 40, COLUMNS, 0, 0))
    with subprocess.Popen(
        [sys.executable, "-m", "memem", *command],
        cwd=cwd,
        env={**environ, "PYTHONPATH": str(Path(__file__).parent.parent)},
        stdin=subprocess.DEVNULL,
        stdout=theirs,
        stderr=subprocess.STDOUT,
    ) as process:
        os.close(theirs)
        output = b"".join(_read_all(ours))
    os.close(ours)
    if process.returncode:
        raise SystemExit(f"memem {command[0]} failed: {output.decode()}")
    return output.decode().replace("\r\n", "\n")


def _read_all(descriptor: int) -> Iterator[bytes]:
    while True:
        try:
            data = os.read(descriptor, 65536)
        except OSError:  # Linux reports the end of a terminal as an error
            return
        if not data:
            return
        yield data


def draw(steps: list[tuple[tuple[str, ...], str]]) -> str:
    """Draw the terminal; every line fades in at its time, and renderers without animation show all of them."""
    rows: list[tuple[float, Text]] = []
    seconds = 0.5
    for command, output in steps:
        rows.append((seconds, Text.assemble(("$ ", "bold green"), (command_line(command), "bold"))))
        seconds += SECONDS_BEFORE_OUTPUT
        for line in Text.from_ansi(output.rstrip("\n")).split("\n"):
            rows += [(seconds, row) for row in line.divide(range(COLUMNS, len(line), COLUMNS))]
            seconds += SECONDS_BETWEEN_LINES
        rows.append((seconds, Text()))
        seconds += SECONDS_BEFORE_COMMAND
    width = round(COLUMNS * CHAR_WIDTH + 2 * MARGIN)
    height = TITLE_BAR + len(rows) * LINE_HEIGHT + MARGIN
    lines = "\n".join(
        f'<text class="l" style="animation-delay:{when:.2f}s" x="{MARGIN}" y="{TITLE_BAR + (n + 1) * LINE_HEIGHT - 5}">'
        f"{_spans(text)}</text>"
        for n, (when, text) in enumerate(rows)
        if text.plain
    )
    buttons = "".join(f'<circle cx="{x}" cy="17" r="5.5" fill="{fill}"/>' for x, fill in BUTTONS)
    size = f'viewBox="0 0 {width} {height}" width="{width}" height="{height}"'
    return f"""<svg xmlns="http://www.w3.org/2000/svg" xml:space="preserve" {size}>
<style>
text {{ font: {FONT_SIZE}px ui-monospace, Menlo, Consolas, monospace; fill: #d9d9d9; white-space: pre; }}
.l {{ animation: show 0.2s backwards; }}
@keyframes show {{ from {{ opacity: 0 }} }}
@media (prefers-reduced-motion) {{ .l {{ animation: none }} }}
</style>
<rect width="{width}" height="{height}" rx="8" fill="#16181d"/>
{buttons}
{lines}
</svg>
"""


def command_line(command: tuple[str, ...]) -> str:
    """Spell the command as a person types it."""
    return " ".join(["memem", *(f'"{word}"' if " " in word else word for word in command)])


def _spans(text: Text) -> str:
    segments = [segment for segment in text.render(_CONSOLE) if segment.text.strip("\n")]
    return "".join(f"<tspan{_fill(segment.style)}>{escape(segment.text)}</tspan>" for segment in segments)


def _fill(style: Style | None) -> str:
    if style is None:
        return ""
    color = style.color
    fill = "" if color is None or color.type is ColorType.DEFAULT else f' fill="{color.get_truecolor(MONOKAI).hex}"'
    return fill + (' font-weight="bold"' if style.bold else "") + (' opacity="0.6"' if style.dim else "")
