"""Options that benchmarks on the evaluation files share."""

import argparse
import os
import tempfile
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path

DATA_VARIABLE = "MEMEM_BENCH_DATA"


def shared(parser: argparse.ArgumentParser) -> argparse.ArgumentParser:
    """--data, --json and --cache."""
    given = os.environ.get(DATA_VARIABLE)
    where = Path(given) if given else None
    told = f"folder with the evaluation files (default: {DATA_VARIABLE})"
    parser.add_argument("--data", type=Path, metavar="DIR", default=where, help=told)
    parser.add_argument("--json", type=Path, metavar="FILE", help="also write the numbers to this file")
    parser.add_argument("--cache", type=Path, metavar="DIR", help="keep vaults and vectors here for the next run")
    return parser


def folder(cache: Path | None) -> AbstractContextManager[str | Path]:
    """Where vaults are made: in the cache, or where they are gone afterwards."""
    return nullcontext(cache) if cache else tempfile.TemporaryDirectory(prefix="memem-bench-")
