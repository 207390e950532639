"""Commands about the installation: status, doctor, project, config, uninstall."""

import argparse
from dataclasses import replace
from typing import TYPE_CHECKING

from memem import __version__
from memem.core.errors import SettingsError
from memem.core.options import OPTIONS
from memem.doors.cli import output
from memem.doors.cli.command import Command, current_folder, is_confirmed, workspace
from memem.doors.cli.output import count, minute
from memem.safety.naming import display_name, display_path
from memem.upkeep import config as upkeep_config
from memem.upkeep import link as upkeep_link
from memem.upkeep.link import Link
from memem.workspace import Workspace

if TYPE_CHECKING:
    from memem.mine.status import MiningState
    from memem.upkeep.status import Status
    from memem.upkeep.uninstall import UninstallReport

_LABELS = {"dead letters": "failed parts"}  # of checks; --json has the names on the left


def status(ws: Workspace, options: argparse.Namespace) -> int:
    from memem.upkeep import status as upkeep_status  # slow, like those below: `config` does not need them

    status = upkeep_status.status(ws)
    if options.json:
        return output.as_json(status)
    by_project = ", ".join(f"{name} {number}" for name, number in status.projects.items())
    projects = by_project or "the index cannot be used"
    instructions = f"{count(status.held, 'note')} {'reads' if status.held == 1 else 'read'} like an instruction"
    decisions = (
        (status.conflicts, "conflicts", f"{status.conflicts}; see `memem conflicts`"),
        (status.proposals, "to review", f"{status.proposals}; see `memem review`"),
        (status.held, "held back", f"{instructions}; see `memem review`"),
        (status.untrusted, "untrusted", f"{count(status.untrusted, 'folder')}; see `memem project`"),
        (status.refusing, "not mined", f"{count(status.refusing, 'folder')}; see `memem project`"),
        (status.vanished, "vanished", f"{count(status.vanished, 'note')}; see `memem doctor`"),
    )
    counts = [
        ["pinned", str(status.pinned)],
        ["stale", f"{status.stale}; see `memem index check`" if status.stale else "none"],
        ["unreadable", f"{status.unreadable}; see `memem index check`" if status.unreadable else "none"],
    ]
    when, _, change = status.last_event.partition(" ")
    rows = [
        ["memem", __version__],
        ["home", str(status.home)],
        ["vault", str(status.vault)],
        [
            "memories",
            f"{status.memories} ({projects})" if status.memories else "none yet",
        ],
        *(counts if not status.problem else []),
        *([name, advice] for number, name, advice in decisions if number),
        ["recall", _recall(status)],
        *_mining_rows(status.mining),
        ["index", f"{status.index_bytes / 1e6:.1f} MB"],
        ["last change", f"{minute(when)} {change}" if when else "none yet"],
    ]
    if status.capabilities:
        installer = status.capabilities.get("installer", "?")
        rows.append(["installed", f"Python {status.capabilities.get('python', '?')}, {installer}"])
    output.table(["", ""], [[name, output.advice(value)] for name, value in rows])
    if status.problem:
        output.aside(status.problem)
    return 0


def _recall(status: "Status") -> str:
    model = status.model
    if model.encoder == "none":
        return "keywords only (MEMEM_ENCODER is none)"
    if model.problem:
        return f"keywords only: {model.problem}"
    if model.encoded < model.passages:
        done = f"{model.encoded:,} of {count(model.passages, 'passage')}"
        return f"{status.recall}; {done} encoded with {model.model} (`memem index encode`)"
    return f"{status.recall} ({model.encoder}: {model.described}; {count(model.passages, 'passage')})"


def _mining_rows(mining: "MiningState") -> list[list[str]]:
    if mining.problem:
        return [["mining", mining.problem]]
    switched = mining.switched_on or "off (`memem mine on`)"
    rows = [["mining", f"{switched}; {mining.stopped}" if mining.stopped else switched]]
    if mining.since and mining.pending:
        failed = f" ({mining.waiting} to be retried after a failure)" if mining.waiting else ""
        rows.append(["to be mined", f"{count(mining.pending, 'session')}{failed}"])
    if mining.since and mining.held_back:
        rows.append(["small sessions", f"{mining.held_back} waiting to be mined as a batch"])
    if mining.history:
        rows.append(["history", mining.history.summary])
    if mining.dead_letters:
        rows.append(["failed parts", f"{mining.dead_letters}; `memem mine --retry` tries again"])
    if mining.calls_today:
        spent = f"{count(mining.calls_today, 'call')}, {count(mining.tokens_today, 'token')}"
        rows.append(["spent today", f"{spent}, ${mining.dollars_today:.2f}"])
    return rows + [["session", last.summary] for last in mining.last]


def doctor(options: argparse.Namespace) -> int:
    from memem.upkeep import doctor as upkeep_doctor
    from memem.upkeep.checks import result

    try:
        with workspace() as ws:
            diagnoses = upkeep_doctor.integrity(ws) if options.integrity_check else upkeep_doctor.diagnose(ws)
    except SettingsError as problem:
        diagnoses = upkeep_doctor.unopened(problem)
    verdict = upkeep_doctor.verdict(diagnoses)
    code = 1 if verdict == upkeep_doctor.VERDICTS[result.BROKEN] else 0
    if options.json:
        output.as_json(diagnoses)
        return code
    problems = sum(item.state != result.FINE for item in diagnoses)
    need = "needs" if problems == 1 else "need"
    output.say(f"{verdict}: {problems} of {len(diagnoses)} checks {need} attention" if problems else verdict)
    shown = [
        replace(
            item,
            what=_LABELS.get(item.what, item.what),
            detail=output.advice(item.detail),
            fix=output.advice(item.fix),
        )
        for item in diagnoses
    ]
    if output.on_terminal():  # a fix is below its diagnosis; in a pipe, behind it
        rows = [[item.what, item.state, f"{item.detail}\n→ {item.fix}" if item.fix else item.detail] for item in shown]
        output.table(["check", "state", "detail and fix"], rows)
    else:
        output.table([], [[item.what, item.state, item.detail, *([item.fix] if item.fix else [])] for item in shown])
    return code


def project(ws: Workspace, options: argparse.Namespace) -> int:
    from memem.upkeep import projects as upkeep_projects

    found = upkeep_projects.list_folders(ws)
    if options.json:
        return output.as_json(found)
    rows = [
        [display_name(each.project), "bound to", display_path(bound)]
        for each in found.projects
        for bound in (*each.roots, *each.remotes)
    ]
    for claim in found.waiting:
        what = "distrusted" if claim.distrusted else f"claims {display_name(claim.claims)}"
        rows.append([display_name(claim.project), what, display_path(claim.folder)])
    rows += [["", "not mined", display_path(each.folder)] for each in found.refusals]
    output.table(["project", "", "folder or remote"], rows, empty="memem has not seen any folder yet.")
    if found.problem:
        output.aside(output.advice(f"{ws.home.folders_file} is {found.problem}; see `memem doctor`."))
    if any(not claim.distrusted for claim in found.waiting):
        advice = "`memem project trust FOLDER` lets a folder share the project whose name it claims."
        output.aside(output.advice(advice))
    return 0


def change_trust(ws: Workspace, options: argparse.Namespace, *, trusted: bool) -> int:
    from memem.upkeep import projects as upkeep_projects

    folder = options.folder.absolute() if options.folder else current_folder()
    result = (upkeep_projects.trust if trusted else upkeep_projects.distrust)(ws, folder)
    belongs = "now belongs to" if result.changed else "already belongs to"
    output.emit(result, options, lambda _: output.say(f"{result.folder} {belongs} {result.project}."))
    return 0


def config(options: argparse.Namespace) -> int:
    if options.value is not None:
        with workspace() as ws:
            path = upkeep_config.change(ws, options.key, options.value)
        output.aside(f"Written to {path}; it takes effect with the next command.")
        if options.key in ("encoder", "embed_model") and options.value != "none":
            advice = "`memem index rebuild` computes the new model's vectors; until then search uses keywords only."
            output.aside(advice)
        if not options.json:
            return 0
    with workspace() as ws:
        keys = [options.key] if options.key else [option.key for option in OPTIONS]
        settings = [upkeep_config.show(ws, key) for key in keys]
    if options.json:
        return output.as_json(settings)
    if options.key:
        output.say(settings[0].value)
        return 0
    rows = [[setting.key, setting.value, setting.source, setting.variable] for setting in settings]
    output.table(["key", "value", "source", "variable"], rows, optional=("variable", "source"))
    return 0


def link(ws: Workspace, options: argparse.Namespace) -> int:
    work = upkeep_link.look if options.check else upkeep_link.remove if options.remove else upkeep_link.create
    state = work(ws)
    output.emit(state, options, lambda _: output.say(_describe(state, options)))
    return 1 if options.check and not state.works else 0


def _describe(state: Link, options: argparse.Namespace) -> str:
    if options.remove:
        return f"Removed {state.path}." + (f" `memem` now runs {state.target}." if state.works else "")
    linked = f"{state.path} is linked to {state.target}."
    if not options.check:
        return f"{linked} `memem` works in every terminal." if state.works else f"{linked} {state.advice}".rstrip()
    if state.works:
        return f"`memem` runs this installation, {state.target}."
    if state.advice:
        return f"{linked} {state.advice}"
    other = f"`memem` runs {state.found}, not this installation" if state.found else "`memem` is not on your PATH"
    return output.advice(f"{other}; `memem config link` creates a link to it at {state.path}.")


def uninstall(ws: Workspace, options: argparse.Namespace) -> int:
    from memem.upkeep import uninstall as upkeep_uninstall

    found = upkeep_uninstall.plan(ws, vault=options.vault)
    if options.dry_run or (options.json and not options.yes):
        return output.emit(found, options, _show_plan)
    if not options.json:
        _show_plan(found, advise=not options.yes)
    if not options.yes:
        wanted = bool(found.parts) and is_confirmed("Remove everything listed? This cannot be undone.")
        if wanted and options.vault:
            wanted = is_confirmed("Remove your memories too? There is no other copy of them.")
        if not wanted:
            output.aside("Nothing was removed.")
            return 1
    done = upkeep_uninstall.uninstall(ws, vault=options.vault)
    if options.json:
        return output.as_json(done)
    partly = "Removed, except for the parts that Claude Code installed."
    output.say(partly if done.to_do else "memem was removed from this machine.")
    for part in done.kept:
        if part not in found.kept:
            output.say(f"Not removed: {part.path} ({part.what})")
    for command in done.to_do:
        output.say(f"Run: {command}")
    return 0


def _show_plan(found: "UninstallReport", *, advise: bool = True) -> None:
    """List what is removed in plain rows, also on a terminal, so that no path is cut."""
    if not found.parts:
        output.say("There is nothing to remove.")
    for heading, parts in (("To be removed:", found.parts), ("Kept:", found.kept)):
        if parts:
            output.say(heading)
        for part in parts:
            size = f"({max(1, round(part.bytes / 1_000)):,} KB) " if part.bytes else ""
            output.say(f"  {part.path}  {size}{part.what}")
    if advise:
        output.aside("To keep a copy of your memories, run `memem export FOLDER` first; `memem import` restores them.")


COMMANDS = {
    "status": Command(status),
    "doctor": Command(doctor, opens=False),
    "project": Command(project),
    "project trust": Command(lambda ws, options: change_trust(ws, options, trusted=True)),
    "project distrust": Command(lambda ws, options: change_trust(ws, options, trusted=False)),
    "config": Command(config, opens=False),
    "config link": Command(link),
    "config statusline": Command(lambda ws, _: output.as_json(upkeep_link.setting(ws))),
    "uninstall": Command(uninstall),
}
