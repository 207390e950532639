"""An hour of work of several sessions at once, in minutes: people take seconds to think instead of minutes.

Every session has what Claude Code gives it: a server that it calls tools of, the hooks of `hooks.json` through their
launcher, and a file that grows line by line, with half-written lines, tool results, sidechains, compactions, a resume,
a fork and a file that is replaced. What hooks begin mines by a claude that sometimes is slow, garbled, failing,
overloaded or killed. Meanwhile a person edits, renames and deletes notes and uses the command line, and the leading
server and miners are killed. Everything is a real process but the model; the clock is the machine's. Vectors of the
vault are random, those of what is learned are not.
"""

import argparse
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from dataclasses import asdict
from pathlib import Path
from typing import Any

from bench import soak_verdicts
from bench.latency import say
from bench.measure import machine, save_json, table
from bench.soak_scene import Scene
from bench.soak_sessions import Person, Session, Talk
from bench.soak_verdicts import Report
from bench.soak_watch import CALL, LATER, SERVER, Watch, processes
from memem.core.surroundings import ROOT
from memem.search.encoders import model
from memem.upkeep.checks.machine import holder_of
from memem.workspace import open_workspace

NOTES, SESSIONS, TURNS, PAUSE = 20_000, 10, 40, 3.0
SETTLE_SECONDS, END_SECONDS = 150.0, 30.0
KILLS = (("server", 0.3), ("miner", 0.45), ("server", 0.6), ("miner", 0.75))
"""The processes to kill, each at a share of all turns."""


def run(arguments: list[str]) -> int:
    """Soak, print the tables, and write the JSON when asked; 1 when a property does not hold."""
    options = _options(arguments)
    chosen = None if options.words else model.model_state(open_workspace(actor="bench")).folder
    with tempfile.TemporaryDirectory(prefix="memem-soak-", dir=options.folder) as place:
        scene = Scene(Path(place), options.notes, str(chosen) if chosen else None)
        say(f"{options.notes:,} notes: writing and reading{', and filling in vectors' if chosen else ''}")
        scene.prepare()
        report = soak(scene, options)
    _print(report, options, with_meaning=bool(chosen))
    if options.json:
        save_json(options.json, _as_json(report, options, with_meaning=bool(chosen)))
    return 0 if all(each.holds or not each.judged for each in report.verdicts) else 1


def soak(scene: Scene, options: argparse.Namespace) -> Report:
    """All of it, to the last process."""
    report, talk = Report(), Talk(scene, options.turns, options.pause)
    sessions = [Session(talk, number) for number in range(options.sessions)]
    person, watch = Person(scene), Watch(scene)
    begun = time.monotonic()
    say(f"{options.sessions} sessions of {options.turns} turns")
    for thread in (watch, person, *sessions):
        thread.start()
    killed = _kill_some(talk, sessions, options)
    for session in sessions:
        session.join()
    worked = len(watch.looks)
    person.over.set()
    person.join()
    say("what is left is mined")
    _settle(scene, {*person.facts.told, *(name for session in sessions for name in session.facts.told)})
    left = _ended(scene)
    watch.over.set()
    watch.join()
    watch.look()  # the last one may have been before the end of what ran in the background
    report.seconds = time.monotonic() - begun
    soak_verdicts.hooks(report, talk, watch)
    soak_verdicts.resources(report, watch, worked, left, killed)
    soak_verdicts.memories(report, scene, sessions, person)
    soak_verdicts.calls(report, scene, killed)
    problems = [*talk.problems, *person.problems]
    report.judge("nobody complains", not problems, "; ".join(problems[:3]) or "no session, tool or command failed")
    return report


def _kill_some(talk: Talk, sessions: list[Session], options: argparse.Namespace) -> dict[str, int]:
    """While the sessions are at work."""
    killed = {"server": 0, "miner": 0}
    for whom, share in KILLS if options.kill else ():
        while talk.done < share * options.turns * len(sessions) and any(each.is_alive() for each in sessions):
            time.sleep(0.1)
        until = time.monotonic() + 10
        while time.monotonic() < until and any(each.is_alive() for each in sessions):
            pid = _leader(talk.scene) if whom == "server" else _miner(talk.scene)
            if pid:
                os.kill(pid, signal.SIGKILL)
                killed[whom] += 1
                break
            time.sleep(0.02)
    return killed


def _leader(scene: Scene) -> int:
    """The server that answers for all."""
    holder = holder_of(Path(scene.environ["MEMEM_DIR"], "run", "engine.lock"))
    servers = {each.pid for each in processes(scene) if each.kind == SERVER}
    return int(holder) if holder and int(holder) in servers else 0


def _miner(scene: Scene) -> int:
    """One whose call is under way, so that there is something to lose."""
    running = processes(scene)
    for each in running:
        if each.kind == CALL:
            parent = int(Path(f"/proc/{each.pid}/stat").read_text(encoding="ascii").rpartition(")")[2].split()[1])
            if any(other.pid == parent and other.kind == LATER for other in running):
                return parent
    return 0


def _settle(scene: Scene, told: set[str]) -> None:
    """Sessions begin now and then, as they do on any day, until everything that waits was mined."""
    until = time.monotonic() + SETTLE_SECONDS
    command = [str(ROOT / "hooks" / "memem"), "hook", "SessionStart"]
    given = json.dumps({"session_id": "settling", "cwd": str(scene.user), "source": "startup"}).encode()
    while time.monotonic() < until:
        subprocess.run(command, env=scene.environ, cwd=scene.user, input=given, stdout=subprocess.DEVNULL, check=True)
        time.sleep(1.0)
        ws = scene.open()
        idle = not ws.state.queue.marks() and not ws.state.journal.sessions()
        ws.close()
        if idle and told <= set(scene.count_saved_facts()):
            return


def _ended(scene: Scene) -> list[str]:
    """List processes of the run that are still alive after its end."""
    until = time.monotonic() + END_SECONDS
    while (left := processes(scene)) and time.monotonic() < until:
        time.sleep(0.2)
    for each in left:
        os.kill(each.pid, signal.SIGKILL)
    return [f"{each.kind}: {each.command[-80:]}" for each in left]


def _options(arguments: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m bench soak", description=__doc__)
    parser.add_argument("--notes", type=int, default=NOTES, help=f"in the vault (default: {NOTES:,})")
    parser.add_argument("--sessions", type=int, default=SESSIONS, help=f"at once (default: {SESSIONS})")
    parser.add_argument("--turns", type=int, default=TURNS, help=f"of each session (default: {TURNS})")
    told = (
        f"seconds before a turn, on average (default: {PAUSE}; 0: as fast as can be, which no machine is in time for)"
    )
    parser.add_argument("--pause", type=float, default=PAUSE, help=told)
    parser.add_argument("--words", action="store_true", help="without an encoder")
    parser.add_argument("--no-kill", dest="kill", action="store_false", help="let everybody live")
    parser.add_argument("--json", type=Path, metavar="FILE", help="also write the numbers to this file")
    parser.add_argument("--folder", type=Path, metavar="DIR", help="where everything is made, and removed again")
    options = parser.parse_args(arguments)
    if min(options.notes, options.sessions, options.turns) < 1:
        parser.error("at least one note, one session, one turn")
    if sys.platform != "linux":
        parser.error("processes are counted in /proc: Linux only")
    return options


def _print(report: Report, options: argparse.Namespace, *, with_meaning: bool) -> None:
    how = "with vectors" if with_meaning else "by words alone: there is no model"
    print(f"{options.sessions} sessions of {options.turns} turns over {options.notes:,} notes, {how}.")
    print(f"{report.seconds:.0f} s, with {options.pause:g} s on average before a turn.\n")
    columns = ("event", "runs", "p50_ms", "x_bare", "p95_ms", "max_ms", "deadline_ms", "answered")
    print(
        table(
            [column.replace("_", " ") for column in columns], [[row[name] for name in columns] for row in report.hooks]
        )
    )
    print("", *(f"{what}: {told}" for what, told in report.figures), "", sep="\n")
    for each in report.verdicts:
        print(f"{'holds ' if each.holds else 'BROKEN' if each.judged else 'unsure'}  {each.what}: {each.told}")


def _as_json(report: Report, options: argparse.Namespace, *, with_meaning: bool) -> dict[str, Any]:
    return {
        "bench": "soak",
        "machine": machine(),
        "notes": options.notes,
        "sessions": options.sessions,
        "turns": options.turns,
        "pause": options.pause,
        "with_meaning": with_meaning,
        "seconds": round(report.seconds, 1),
        "hooks": report.hooks,
        "figures": dict(report.figures),
        "properties": [asdict(each) for each in report.verdicts],
    }
