"""Whether sessions may be mined in the background: only once their user has said so, and from then on."""

from datetime import datetime

from memem.core import files
from memem.core.clock import iso
from memem.flows.opening import using_home
from memem.workspace import Workspace


def opted_in(ws: Workspace) -> datetime | None:
    """Since when sessions may be mined in the background; None when they may not."""
    try:
        since = datetime.fromisoformat(ws.home.opt_in.read_text(encoding="utf-8").strip())
    except (OSError, ValueError):
        return None
    return since if since.tzinfo else since.astimezone()


def opt_in(ws: Workspace) -> datetime:
    """Mine what is said from now on; what was said before stays as it is."""
    since = opted_in(ws)
    if since:
        return since
    now = ws.clock()
    with using_home(ws):
        files.make_folder(ws.home.root)
        files.make_private_folder(ws.home.state)
        text = f"{iso(now)}\n".encode()
        files.write_atomic(ws.home.opt_in, text, fsync=ws.settings.fsync, mode=files.PRIVATE_FILE)
    return datetime.fromisoformat(iso(now))


def opt_out(ws: Workspace) -> None:
    """Mine nothing in the background any more. What is marked waits."""
    with using_home(ws):
        ws.home.opt_in.unlink(missing_ok=True)
