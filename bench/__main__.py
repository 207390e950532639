"""Picks the benchmark: `python -m bench latency --help`."""

import sys
from importlib import import_module

BENCHES = (
    "curation",
    "faults",
    "fuzz",
    "graph",
    "hooks",
    "injection",
    "latency",
    "meaning",
    "mining",
    "moving",
    "pages",
    "picture",
    "plugin",
    "quotes",
    "ranking",
    "recall",
    "recording",
    "report",
    "rules",
    "secrets",
    "silence",
    "soak",
    "truth",
    "walks",
)


def main(arguments: list[str]) -> int:
    """Run one benchmark; returns its exit code, or 2 when there is none of this name."""
    if not arguments or arguments[0] not in BENCHES:
        print(f"Usage: python -m bench {{{','.join(BENCHES)}}} [options]", file=sys.stderr)
        return 2
    module = import_module(f"bench.{arguments[0]}")
    return int(module.run(arguments[1:]))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
