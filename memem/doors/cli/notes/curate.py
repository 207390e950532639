"""memem curate"""

import argparse
import textwrap

from memem.core.errors import MememError
from memem.doors.cli import output
from memem.doors.cli.session import fresh_workspace
from memem.upkeep import apply_curation
from memem.upkeep.apply_curation import Curated
from memem.upkeep.curate import Suggestion

_HEADINGS = {
    "merge": "Say the same: one can stay for both",
    "split": "Say many things: each can be a note of its own",
    "archive": "Nobody needs them: they can go to the archive",
}
_YOURS = "Yours to do: memem does not change what you wrote"


def arguments(parser: argparse.ArgumentParser) -> None:
    told = "do it, all that is not yours to do or what has these ids; `memem undo` takes it back"
    parser.add_argument("--apply", metavar="ID", nargs="*", help=told)
    parser.add_argument("-p", "--project", help="only this project")
    output.json_option(parser)


def run(options: argparse.Namespace) -> int:
    with fresh_workspace() as ws:
        result = apply_curation.curate(ws, project=options.project, apply=options.apply)
    failed = bool(options.apply) and not result.applied
    if options.json:
        output.as_json(result)
    elif options.apply is None:
        _suggest(result)
    else:
        _tell(result)
        if failed:
            raise MememError("Nothing was changed. `memem curate` says what there is to do.")
    return 1 if failed else 0


def _suggest(result: Curated) -> None:
    if not result.suggestions:
        output.aside(f"Nothing to tidy among {result.memories:,} memories in force.")
        return
    ours = [each for each in result.suggestions if not each.yours]
    for what, heading in _HEADINGS.items():
        _group(heading, [each for each in ours if each.what == what])
    _group(_YOURS, [each for each in result.suggestions if each.yours])
    output.aside(
        "Nothing was changed. `memem curate --apply` does it all but what is yours, `--apply ID ...` some of it."
    )
    if result.more:
        output.aside("There may be more: look again when this is done, or at one project with --project.")


def _group(heading: str, suggestions: list[Suggestion]) -> None:
    if not suggestions:
        return
    output.heading(f"{heading} ({len(suggestions)})")
    for each in suggestions:
        output.say(f"{each.id}  {each.project}  {each.reason}.")
        output.say(f"          {each.outcome}{f' (memem leaves it: {each.yours})' if each.yours else ''}.")
        if each.what == "split":
            for part in each.into:
                output.say(textwrap.indent(part, "          | ", lambda _: True))


def _tell(result: Curated) -> None:
    by_id = {each.id: each for each in result.suggestions}
    for identity in result.applied:
        output.say(f"done  {identity}  {by_id[identity].outcome}.")
    for each in result.left:
        output.say(f"left  {each.id}  {each.reason}")
    if result.batch:
        output.aside(f"`memem undo {result.batch}` takes it back.")
    elif not result.left:
        output.aside("There is nothing to tidy.")
