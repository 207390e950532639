"""Settings can be shown and changed without harming the file a person keeps."""

import pytest

from memem.core.errors import SettingsError
from memem.upkeep import config
from memem.workspace import Workspace, open_workspace


def test_a_change_touches_one_line(ws: Workspace) -> None:
    ws.home.root.mkdir()
    ws.home.config_file.write_text("# mine\nfsync = false  # fast\n\nvault = '/old'\n# end")
    config.change(ws, "vault", '/new "path"')
    assert ws.home.config_file.read_text() == '# mine\nfsync = false  # fast\n\nvault = "/new \\"path\\""\n# end'
    config.change(ws, "fsync", "1")
    assert "fsync = true  # fast\n" in ws.home.config_file.read_text()
    config.change(ws, "lock_seconds", "3")
    assert ws.home.config_file.read_text().endswith("# end\nlock_seconds = 3.0\n")
    assert ws.home.config_file.stat().st_mode & 0o777 == 0o600


def test_change_takes_effect_at_the_next_start(ws: Workspace) -> None:
    path = config.change(ws, "frontmatter_strict", "skip")
    again = open_workspace(actor="test", home=ws.home.root)
    shown = config.show(again, "frontmatter_strict")
    assert (shown.value, shown.source) == ("skip", str(path))


@pytest.mark.parametrize(
    ("key", "value", "complaint"),
    [
        ("frontmatter_strict", "maybe", "use one of"),
        ("fsync", "perhaps", "use 1 or 0"),
        ("slice_characters", "12", "from 500 to"),
        ("nonsense", "1", "no setting 'nonsense'"),
        ("show_banner", "1", "show_banner was renamed to notices"),
    ],
)
def test_a_value_that_cannot_be_is_refused(ws: Workspace, key: str, value: str, complaint: str) -> None:
    with pytest.raises(SettingsError, match=complaint):
        config.change(ws, key, value)
    assert not ws.home.config_file.exists()


def test_a_file_that_cannot_be_changed_safely_is_left_alone(ws: Workspace) -> None:
    ws.home.root.mkdir()
    text = 'vault = """\nfsync = 1\n"""\n'
    ws.home.config_file.write_text(text)
    with pytest.raises(SettingsError, match="edit it by hand"):
        config.change(ws, "fsync", "0")
    assert ws.home.config_file.read_text() == text
