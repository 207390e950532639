"""One resolver says which project a folder belongs to: `.memem.toml`, else the repository, else the folder's name."""

import os
import subprocess
import unicodedata
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from memem.core.errors import SettingsError
from memem.core.project import MAX_NAME, Project, normalise, read_claim, read_refusals
from memem.workspace import Workspace

NOBODYS = Path("/nobody")
QUIET = {"GIT_CONFIG_NOSYSTEM": "1", "GIT_CONFIG_GLOBAL": os.devnull, "GIT_TERMINAL_PROMPT": "0"}


def git(folder: Path, *arguments: str) -> str:
    """Run git for real, with a person's name and nobody's configuration."""
    environ = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    settings = ("user.name=A", "user.email=a@example.com", "protocol.file.allow=always", "init.defaultBranch=main")
    options = [part for setting in settings for part in ("-c", setting)]
    done = subprocess.run(
        ["git", *options, *arguments], cwd=folder, env=environ | QUIET, check=True, capture_output=True, text=True
    )
    return done.stdout.strip()


def make_repository(folder: Path, remote: str = "") -> Path:
    folder.mkdir(parents=True)
    git(folder, "init", "--quiet")
    git(folder, "commit", "--quiet", "--allow-empty", "-m", "first")
    if remote:
        git(folder, "remote", "add", "origin", remote)
    return folder


def make_override(folder: Path, text: str) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / ".memem.toml").write_text(text, encoding="utf-8")
    return folder


def resolve(folder: Path, user_home: Path = NOBODYS) -> Project:
    """The project of a folder that gets what it claims."""
    claim = read_claim(folder, user_home)
    return Project(claim.name, claim.place, claim.branch)


def may_be_mined(folder: Path) -> bool:
    return not read_refusals(folder)


def name_of(folder: Path) -> str:
    return resolve(folder).name


# --- folders ------------------------------------------------------------------------------------------------------


def test_a_folder_without_a_repository_is_its_own_project(tmp_path: Path) -> None:
    folder = tmp_path / "Shop API"
    folder.mkdir()
    assert resolve(folder) == Project("shop-api", folder)


def test_a_folder_that_does_not_exist_has_a_project_too(tmp_path: Path) -> None:
    assert name_of(tmp_path / "gone") == "gone"


def test_the_persons_home_belongs_to_no_project(tmp_path: Path) -> None:
    assert resolve(tmp_path, user_home=tmp_path).name == "general"


def test_a_folder_in_the_persons_home_is_a_project(tmp_path: Path) -> None:
    assert resolve(tmp_path / "shop", user_home=tmp_path).name == "shop"


def test_the_root_of_the_file_system_belongs_to_no_project(tmp_path: Path) -> None:
    assert name_of(Path(tmp_path.anchor)) == "general"


def test_a_link_to_a_folder_is_that_folder(tmp_path: Path) -> None:
    (tmp_path / "shop").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "shop")
    assert resolve(tmp_path / "link") == Project("shop", tmp_path / "shop")


# --- repositories -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "url",
    [
        "https://example.com/acme/shop-api.git",
        "https://example.com/acme/shop-api",
        "https://example.com/acme/Shop-API.git/",
        "https://person:word@example.com:8443/acme/shop-api.git",
        "ssh://git@example.com:2222/acme/shop-api.git",
        "git@example.com:acme/shop-api.git",
        "example.com:shop-api.git",
        "git://example.com/~person/shop-api",
        "file:///srv/git/shop-api.git",
        "/srv/git/shop-api.git",
        "/srv/srv/shop-api/.git",
        "/srv/srv/shop-api/.git/",
        "../shop-api",
        "C:\\repos\\shop-api.git",
        "C:/repos/shop-api",
    ],
)
def test_a_repository_is_named_by_the_address_of_its_remote(tmp_path: Path, url: str) -> None:
    assert name_of(make_repository(tmp_path / "my-clone", url)) == "shop-api"


def test_origin_names_the_repository_whatever_other_remotes_there_are(tmp_path: Path) -> None:
    repository = make_repository(tmp_path / "clone")
    git(repository, "remote", "add", "fork", "https://example.com/me/my-fork.git")
    git(repository, "remote", "add", "origin", "https://example.com/acme/shop.git")
    assert name_of(repository) == "shop"


def test_without_origin_the_first_remote_names_the_repository(tmp_path: Path) -> None:
    repository = make_repository(tmp_path / "clone")
    git(repository, "remote", "add", "upstream", "https://example.com/acme/shop.git")
    git(repository, "remote", "add", "fork", "https://example.com/me/my-fork.git")
    assert name_of(repository) == "shop"


def test_the_address_to_push_to_does_not_name_the_repository(tmp_path: Path) -> None:
    repository = make_repository(tmp_path / "shop")
    git(repository, "config", "remote.origin.pushurl", "https://example.com/acme/other.git")
    assert name_of(repository) == "shop"


def test_a_repository_without_a_remote_is_named_by_its_folder(tmp_path: Path) -> None:
    repository = make_repository(tmp_path / "Ledger")
    assert resolve(repository) == Project("ledger", repository, "main")


def test_a_folder_in_a_repository_belongs_to_it(tmp_path: Path) -> None:
    repository = make_repository(tmp_path / "shop")
    deep = repository / "src" / "auth"
    deep.mkdir(parents=True)
    assert resolve(deep) == Project("shop", repository, "main")


def test_the_inner_one_of_two_repositories_counts(tmp_path: Path) -> None:
    make_repository(tmp_path / "outer")
    assert name_of(make_repository(tmp_path / "outer" / "inner")) == "inner"


def test_all_worktrees_of_a_repository_share_its_project(tmp_path: Path) -> None:
    main = make_repository(tmp_path / "shop")
    git(main, "worktree", "add", "--quiet", "-b", "feature", str(tmp_path / "elsewhere"))
    assert resolve(tmp_path / "elsewhere") == Project("shop", tmp_path / "elsewhere", "feature")
    assert resolve(main) == Project("shop", main, "main")


def test_all_worktrees_share_the_remote(tmp_path: Path) -> None:
    main = make_repository(tmp_path / "clone", "git@example.com:acme/shop.git")
    git(main, "worktree", "add", "--quiet", "-b", "feature", str(tmp_path / "elsewhere"))
    assert name_of(tmp_path / "elsewhere") == name_of(main) == "shop"


def test_a_worktree_of_a_bare_repository_is_named_by_it(tmp_path: Path) -> None:
    make_repository(tmp_path / "seed")
    git(tmp_path, "clone", "--quiet", "--bare", "seed", "shop.git")
    git(tmp_path / "shop.git", "remote", "remove", "origin")
    git(tmp_path / "shop.git", "worktree", "add", "--quiet", str(tmp_path / "main-tree"), "main")
    assert name_of(tmp_path / "main-tree") == "shop"


def test_hidden_bare_repository_gives_its_worktrees_its_folders_name(tmp_path: Path) -> None:
    """`shop/.bare`, `shop/.git` naming it, and a folder for each branch."""
    make_repository(tmp_path / "seed")
    git(tmp_path, "clone", "--quiet", "--bare", "seed", "shop/.bare")
    git(tmp_path / "shop" / ".bare", "remote", "remove", "origin")
    (tmp_path / "shop" / ".git").write_text("gitdir: ./.bare\n")
    git(tmp_path / "shop", "worktree", "add", "--quiet", "main-tree", "main")
    assert name_of(tmp_path / "shop" / "main-tree") == name_of(tmp_path / "shop") == "shop"


def test_a_submodule_is_a_project_of_its_own(tmp_path: Path) -> None:
    make_repository(tmp_path / "parser-lib")
    shop = make_repository(tmp_path / "shop")
    git(shop, "submodule", "--quiet", "add", str(tmp_path / "parser-lib"), "vendor/parser")
    assert (shop / "vendor" / "parser" / ".git").is_file()
    assert resolve(shop / "vendor" / "parser") == Project("parser-lib", shop / "vendor" / "parser", "main")


def test_a_submodule_without_a_remote_is_named_by_its_folder(tmp_path: Path) -> None:
    make_repository(tmp_path / "parser-lib")
    shop = make_repository(tmp_path / "shop")
    git(shop, "submodule", "--quiet", "add", str(tmp_path / "parser-lib"), "vendor/parser")
    git(shop / "vendor" / "parser", "remote", "remove", "origin")
    assert name_of(shop / "vendor" / "parser") == "parser"


def test_a_worktree_whose_repository_is_gone_is_an_ordinary_folder(tmp_path: Path) -> None:
    (tmp_path / "orphan").mkdir()
    (tmp_path / "orphan" / ".git").write_text("gitdir: /nowhere/.git/worktrees/orphan\n")
    assert resolve(tmp_path / "orphan") == Project("orphan", tmp_path / "orphan")


@pytest.mark.parametrize("content", [b"", b"\xff\xfe\x00", b"gitdir:", b"gitdir: .\n"])
def test_a_git_file_that_makes_no_sense_is_passed_over(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "odd").mkdir()
    (tmp_path / "odd" / ".git").write_bytes(content)
    assert name_of(tmp_path / "odd") == "odd"


def test_the_files_of_git_are_read_without_starting_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    repository = make_repository(tmp_path / "shop")

    def refuse(*_: object, **__: object) -> None:
        pytest.fail("a process was started")

    monkeypatch.setattr(subprocess, "Popen", refuse)
    assert name_of(repository) == "shop"


# --- branches -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("branch", ["main", "feature/auth/tokens", "ünïcode", "v1.2-rc"])
def test_the_branch_that_is_checked_out_is_named(tmp_path: Path, branch: str) -> None:
    repository = make_repository(tmp_path / "shop")
    git(repository, "checkout", "--quiet", "-B", branch)
    assert resolve(repository).branch == branch


def test_a_branch_without_a_commit_is_named(tmp_path: Path) -> None:
    git(tmp_path, "init", "--quiet", "-b", "trunk", "fresh")
    assert resolve(tmp_path / "fresh").branch == "trunk"


def test_a_detached_head_is_named_by_its_commit(tmp_path: Path) -> None:
    repository = make_repository(tmp_path / "shop")
    git(repository, "checkout", "--quiet", "--detach")
    assert resolve(repository).branch == git(repository, "rev-parse", "HEAD")[:10]


def test_a_repository_that_keeps_its_head_elsewhere_names_no_branch(tmp_path: Path) -> None:
    """The reftable format leaves `.invalid` where the branch was."""
    repository = make_repository(tmp_path / "shop")
    (repository / ".git" / "HEAD").write_text("ref: refs/heads/.invalid\n")
    assert resolve(repository) == Project("shop", repository, "")


# --- .memem.toml --------------------------------------------------------------------------------------------------


def test_an_override_names_the_project(tmp_path: Path) -> None:
    folder = make_override(tmp_path / "x", 'project = "Shop API"\n')
    assert resolve(folder) == Project("shop-api", folder)


def test_override_applies_to_folders_below(tmp_path: Path) -> None:
    root = make_override(tmp_path / "x", 'project = "shop"\n')
    (root / "a" / "b").mkdir(parents=True)
    assert resolve(root / "a" / "b") == Project("shop", root)


def test_the_nearest_override_wins(tmp_path: Path) -> None:
    make_override(tmp_path / "x", 'project = "outer"\n')
    inner = make_override(tmp_path / "x" / "inner", 'project = "inner"\n')
    assert name_of(inner) == "inner"


def test_an_override_wins_over_the_remote_and_keeps_the_branch(tmp_path: Path) -> None:
    repository = make_repository(tmp_path / "clone", "https://example.com/acme/shop.git")
    make_override(repository, 'project = "storefront"\n')
    assert resolve(repository) == Project("storefront", repository, "main")


def test_a_part_of_a_repository_can_be_a_project(tmp_path: Path) -> None:
    repository = make_repository(tmp_path / "mono")
    billing = make_override(repository / "services" / "billing", 'project = "billing"\n')
    assert resolve(billing) == Project("billing", billing, "main")
    assert name_of(repository) == "mono"


def test_an_override_above_a_repository_does_not_reach_into_it(tmp_path: Path) -> None:
    make_override(tmp_path / "work", 'project = "everything"\n')
    assert name_of(make_repository(tmp_path / "work" / "shop")) == "shop"


def test_uncommitted_override_in_main_worktree_applies_to_linked_ones(tmp_path: Path) -> None:
    main = make_override(make_repository(tmp_path / "clone"), 'project = "shop"\n')
    git(main, "worktree", "add", "--quiet", "-b", "feature", str(tmp_path / "elsewhere"))
    assert not (tmp_path / "elsewhere" / ".memem.toml").exists()
    assert resolve(tmp_path / "elsewhere") == Project("shop", main, "feature")


def test_a_worktrees_own_override_wins_over_that_of_the_main_one(tmp_path: Path) -> None:
    main = make_override(make_repository(tmp_path / "clone"), 'project = "shop"\n')
    git(main, "worktree", "add", "--quiet", "-b", "feature", str(tmp_path / "elsewhere"))
    make_override(tmp_path / "elsewhere", 'project = "experiment"\n')
    assert name_of(tmp_path / "elsewhere") == "experiment"


@pytest.mark.parametrize("text", ["", "# nothing here\n", 'project = ""\n', 'project = "  "\n', "other = 1\n"])
def test_a_file_that_names_no_project_is_passed_over(tmp_path: Path, text: str) -> None:
    make_override(tmp_path / "x", 'project = "outer"\n')
    assert name_of(make_override(tmp_path / "x" / "inner", text)) == "outer"


@pytest.mark.parametrize("text", ["project = shop\n", 'project = "shop\n', "[project\n"])
def test_a_broken_override_is_an_error_that_names_the_file(tmp_path: Path, text: str) -> None:
    folder = make_override(tmp_path / "x", text)
    with pytest.raises(SettingsError) as refusal:
        resolve(folder)
    assert str(refusal.value).startswith(f"{folder / '.memem.toml'} is not valid TOML")
    assert len(str(refusal.value).splitlines()) == 1


@pytest.mark.parametrize("value", ["7", "true", '["shop"]', '{ name = "shop" }'])
def test_a_project_that_is_not_text_is_an_error_that_names_the_file(tmp_path: Path, value: str) -> None:
    folder = make_override(tmp_path / "x", f"project = {value}\n")
    with pytest.raises(SettingsError) as refusal:
        resolve(folder)
    assert str(refusal.value).startswith(f"{folder / '.memem.toml'}: project must be text")


def test_an_override_that_is_not_utf8_is_an_error_that_names_the_file(tmp_path: Path) -> None:
    folder = make_override(tmp_path / "x", "")
    (folder / ".memem.toml").write_bytes(b'project = "caf\xe9"\n')
    with pytest.raises(SettingsError) as refusal:
        resolve(folder)
    assert str(refusal.value).startswith(f"{folder / '.memem.toml'} cannot be read")


# --- mining -------------------------------------------------------------------------------------------------------


def test_a_project_may_be_mined_unless_it_refuses(tmp_path: Path) -> None:
    assert may_be_mined(tmp_path)
    assert may_be_mined(make_repository(tmp_path / "shop"))
    assert may_be_mined(make_override(tmp_path / "x", 'project = "x"\n'))


def test_one_line_refuses_mining_and_changes_nothing_else(tmp_path: Path) -> None:
    repository = make_override(make_repository(tmp_path / "shop"), "mining = false\n")
    assert not may_be_mined(repository)
    assert resolve(repository) == Project("shop", repository, "main")
    folder = make_override(tmp_path / "diary", "mining = false\n")
    assert not may_be_mined(folder)
    assert resolve(folder) == Project("diary", folder)


def test_mining_and_project_can_be_set_together(tmp_path: Path) -> None:
    folder = make_override(tmp_path / "x", 'project = "shop"\nmining = false\n')
    assert not may_be_mined(folder)
    assert resolve(folder) == Project("shop", folder)


def test_refusal_applies_to_folders_below(tmp_path: Path) -> None:
    repository = make_override(make_repository(tmp_path / "shop"), "mining = false\n")
    (repository / "src" / "auth").mkdir(parents=True)
    assert not may_be_mined(repository / "src" / "auth")
    assert not may_be_mined(make_override(repository / "docs", "mining = true\n"))


def test_refusal_in_main_worktree_applies_to_linked_ones(tmp_path: Path) -> None:
    main = make_override(make_repository(tmp_path / "shop"), "mining = false\n")
    git(main, "worktree", "add", "--quiet", "-b", "feature", str(tmp_path / "elsewhere"))
    assert not may_be_mined(tmp_path / "elsewhere")


def test_refusal_applies_to_repositories_and_named_projects_below(tmp_path: Path) -> None:
    private = make_override(tmp_path / "private", "mining = false\n")
    assert not may_be_mined(make_repository(private / "shop"))
    assert not may_be_mined(make_override(private / "diary", 'project = "diary"\n'))


@pytest.mark.parametrize("name", ["nul\0", "long" * 100])
def test_a_name_that_no_folder_can_have_refuses_nothing(ws: Workspace, tmp_path: Path, name: str) -> None:
    assert not ws.folders.explain_refusal(tmp_path / name)


def test_a_part_of_a_project_can_refuse_alone(tmp_path: Path) -> None:
    repository = make_repository(tmp_path / "shop")
    assert not may_be_mined(make_override(repository / "private", "mining = false\n"))
    assert may_be_mined(repository)


@pytest.mark.parametrize("value", ["0", '"no"', "[false]", '"false"'])
def test_a_refusal_that_is_not_true_or_false_is_an_error_that_names_the_file(tmp_path: Path, value: str) -> None:
    folder = make_override(tmp_path / "x", f"mining = {value}\n")
    with pytest.raises(SettingsError) as refusal:
        resolve(folder)
    assert str(refusal.value).startswith(f"{folder / '.memem.toml'}: mining must be true or false")


# --- names --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("shop-api", "shop-api"),
        ("Shop API", "shop-api"),
        ("  SHOP \t api ", "shop-api"),
        ("shop/api", "shop-api"),
        ("shop\napi", "shop-api"),
        ("shop_api", "shop_api"),
        ("node.js", "node.js"),
        ("c++", "c++"),
        (".dotfiles", "dotfiles"),
        ("--weird--", "weird"),
        ("Größe", "größe"),
        ("数据库", "数据库"),
        ("", "general"),
        ("  ", "general"),
        ("...", "general"),
        ("GENERAL", "general"),
    ],
)
def test_a_name_has_one_spelling(name: str, expected: str) -> None:
    assert normalise(name) == expected


@pytest.mark.parametrize("name", ["Café", "Ångström", "한국어", "ガイド", "shop-é"])
def test_composed_and_decomposed_letters_are_one_name(name: str) -> None:
    composed, decomposed = unicodedata.normalize("NFC", name), unicodedata.normalize("NFD", name)
    assert composed != decomposed
    assert normalise(composed) == normalise(decomposed)


@pytest.mark.parametrize(("one", "other"), [("बिल", "बुल"), ("กิน", "กุน"), ("e\u0331x", "e\u0332x")])
def test_names_that_differ_only_in_a_vowel_sign_or_mark_are_two_projects(one: str, other: str) -> None:
    assert normalise(one) != normalise(other)


@given(st.text())
@example("a" * (MAX_NAME - 1) + "-b")
@example("a" * (MAX_NAME - 2) + ".-" + "b")
@example("İ" * MAX_NAME)
@example("J\u030c")
def test_normalising_twice_changes_nothing(name: str) -> None:
    assert normalise(normalise(name)) == normalise(name)


@given(st.text())
def test_a_name_is_one_short_line_that_fits_a_path_and_a_tag(name: str) -> None:
    normal = normalise(name)
    assert 0 < len(normal) <= MAX_NAME
    assert not set(normal) & set(" \t\r\n/\\:\"'`<>#[]|")
    assert normal not in (".", "..")


@given(st.from_regex(r"[A-Za-z0-9]{1,8}( [A-Za-z0-9]{1,8}){0,3}", fullmatch=True))
def test_case_and_separators_do_not_make_another_project(name: str) -> None:
    spellings = (name.upper(), name.title(), f"  {name}\n", name.replace(" ", "-"), name.replace(" ", " / "))
    assert {normalise(spelling) for spelling in spellings} == {normalise(name)}
