"""Which names sync services give to copies of a file that two machines have written."""

import pytest

from memem.vault.copies import possible_originals

ORIGINAL = "memories/tokens-3f2c9a1e.md"
NAMES = {
    "tokens-3f2c9a1e (conflicted copy 2026-01-02).md": "Dropbox or Nextcloud",
    "tokens-3f2c9a1e (Ann's conflicted copy 2026-01-02).md": "Dropbox or Nextcloud",
    "tokens-3f2c9a1e (Ann’s MacBook's conflicted copy 2026-01-02 (1)).md": "",
    "tokens-3f2c9a1e (Ann's conflicted copy 2026-01-02) (1).md": "Dropbox or Nextcloud",
    "tokens-3f2c9a1e (conflicted copy 2026-01-02 101112).md": "Dropbox or Nextcloud",
    "tokens-3f2c9a1e (Conflicted copy laptop 202601021011).md": "Obsidian Sync",
    "tokens-3f2c9a1e.sync-conflict-20260102-101112-ABCDEFG.md": "Syncthing",
    "tokens-3f2c9a1e (SFConflict ann@example.com 2026-01-02-10-11-12).md": "Seafile",
    "tokens-3f2c9a1e (1).md": "Google Drive",
    "tokens-3f2c9a1e 2.md": "iCloud",
    "tokens-3f2c9a1e-LAPTOP-7.md": "OneDrive",
    "tokens-3f2c9a1e.md": "",
    "tokens-of-9200-3f2c9a1e.md": "",
    "the other tokens.md": "",
}


@pytest.mark.parametrize("name", NAMES)
def test_a_copy_names_its_original_and_whose_doing_it_is(name: str) -> None:
    found = next(possible_originals(f"memories/{name}"), None)
    assert (found.service if found else "") == NAMES[name]
    assert found is None or found.original == ORIGINAL


def test_names_that_people_give_too_are_not_certain() -> None:
    doubtful = [name for name in NAMES for copy in list(possible_originals(name))[:1] if not copy.certain]
    assert doubtful == ["tokens-3f2c9a1e (1).md", "tokens-3f2c9a1e 2.md", "tokens-3f2c9a1e-LAPTOP-7.md"]
