"""Show and change settings. A change touches one line of `config.toml` and is proven before it is written."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from memem.core import files, settings
from memem.core.errors import SettingsError
from memem.core.files import from_toml
from memem.core.home import using_home
from memem.core.options import OPTIONS, Option, without_login

if TYPE_CHECKING:
    from memem.workspace import Workspace

_VALUE = r"""(?:"(?:[^"\\\n]|\\.)*"|'[^'\n]*'|[^\s#"'][^\s#]*)"""


@dataclass(frozen=True, slots=True)
class Setting:
    key: str
    value: str
    source: str
    variable: str
    meaning: str


def option(key: str) -> Option:
    for each in OPTIONS:
        if each.key == key:
            return each
        if each.former and each.former.key == key:
            raise SettingsError(f"{key} was renamed to {each.key}: use `memem config {each.key}`.")
    raise SettingsError(f"There is no setting {key!r}. Use one of {', '.join(each.key for each in OPTIONS)}.")


def show(ws: Workspace, key: str) -> Setting:
    shown = option(key)
    value = getattr(ws.settings, key)
    text = str(int(value)) if isinstance(value, bool) else str(value)
    return Setting(key, text, ws.settings.sources[key], shown.variable, shown.meaning)


def change(ws: Workspace, key: str, value: str) -> Path:
    """Write one key to `config.toml`; comments and other lines stay."""
    changed = option(key)
    try:
        parsed = changed.parse(value)
    except ValueError as problem:
        raise SettingsError(f"{key} cannot be {without_login(value)!r}: {problem}.") from None
    if isinstance(parsed, bool | int | float):
        literal = str(parsed).lower()
    else:  # a TOML string escapes what a JSON string escapes, and DEL
        literal = json.dumps(str(parsed), ensure_ascii=False).replace("\x7f", "\\u007f")
    path = ws.home.config_file
    before = settings.read_config(path)
    text = path.read_bytes().decode() if path.exists() else ""
    line = f"{key} = {literal}"
    pattern = re.compile(rf"^{re.escape(key)}[ \t]*=[ \t]*{_VALUE}", re.MULTILINE)
    if pattern.search(text):
        text = pattern.sub(lambda _: line, text, count=1)
    else:
        newline = "\r\n" if "\r\n" in text else "\n"
        text = text + ("" if not text or text.endswith("\n") else newline) + line + newline
    try:
        after = settings.as_texts(from_toml(text))
    except ValueError:
        after = {}
    if key not in after or {**after, key: ""} != {**before, key: ""}:
        raise SettingsError(f"{path} cannot be changed safely by memem; edit it by hand.")
    with using_home(ws.home):
        files.make_folder(ws.home.root)
        files.write_atomic(path.resolve(), text.encode(), fsync=ws.settings.fsync, mode=files.PRIVATE_FILE)
    return path
