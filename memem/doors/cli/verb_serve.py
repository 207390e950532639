"""memem serve"""

from memem.core.errors import MememError


def run() -> None:
    """Serve MCP over standard input and output (not in this version)."""
    raise MememError(
        "This version has no MCP server yet. Use the commands `memem save`, `memem search` and `memem slice`."
    )
