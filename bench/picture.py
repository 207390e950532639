"""`python -m bench picture FILE.svg`: the labelled memories as a graph, as `memem graph draw` draws it.

With the weights they are linked by meaning too; `--words` does without.
"""

import argparse
import os
import tempfile
from pathlib import Path

from bench import labelled, vaults
from memem.pages import draw as pages_draw
from memem.pages.draw import GraphPicture
from memem.search import refresh
from memem.search.encoders import model
from memem.workspace import open_workspace


def run(arguments: list[str]) -> int:
    """Draw it, and say what was drawn."""
    parser = argparse.ArgumentParser(prog="python -m bench picture")
    parser.add_argument("file", metavar="FILE", type=Path, help="ends in .svg")
    parser.add_argument("--words", action="store_true", help="link only by what the notes state and share")
    options = parser.parse_args(arguments)
    drawn = draw(options.file, words=options.words)
    print(f"{drawn.drawn} of {drawn.memories} memories, {drawn.edges} links, {options.file.stat().st_size:,} bytes")
    return 0


def draw(file: Path, *, words: bool) -> GraphPicture:
    """The labelled memories in a vault of their own, drawn."""
    with tempfile.TemporaryDirectory(prefix="memem-bench-") as name:
        folder = Path(name)
        environ = {**os.environ, "MEMEM_FSYNC": "0", "MEMEM_BACKGROUND": "0"}
        environ |= {"MEMEM_ENCODER": "none"} if words else {}
        ws = open_workspace(actor="bench", home=folder / "home", vault=folder / "vault", environ=environ)
        try:
            ws.store.make_vault()
            for memory in labelled.load().memories:
                vaults.write_note(ws, memory)
            refresh.refresh(ws)
            if not words:
                model.encode_all(ws)
            return pages_draw.draw(ws, file)
        finally:
            ws.close()
