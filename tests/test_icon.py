"""The icon that the plugin directory shows."""

from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def test_the_icon_is_what_the_plugin_directory_accepts() -> None:
    icon = (ROOT / ".claude-plugin" / "icon.png").read_bytes()
    assert icon.startswith(b"\x89PNG\r\n")
    width, height = (int.from_bytes(icon[start : start + 4], "big") for start in (16, 20))
    assert (width, height) == (512, 512)
    assert len(icon) < 30_000
