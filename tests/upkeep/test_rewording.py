"""A rewording by the model may be shorter, but may not say something else."""

import pytest

from memem.upkeep.refine_playbook import is_rewording

SIGNING = (
    "Tokens are signed with RS256, not HS256, because the gateway cannot share a secret with every service there is."
)
CACHE = (
    "The cache has to be cleared before every migration, otherwise logins break until the sessions expire (10 minutes)."
)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (SIGNING, "Tokens are signed with RS256, not HS256; the gateway cannot share a secret."),
        (CACHE, "Clear the cache before every migration, otherwise logins break for 10 minutes."),
        (CACHE, "Clear the cache before migrations or logins break until sessions expire."),
    ],
)
def test_shorter_text_with_the_same_meaning_is_accepted(old: str, new: str) -> None:
    assert is_rewording(old, new)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (SIGNING, ""),
        (SIGNING, "Always rotate the keys weekly."),
        (SIGNING, "Tokens are signed with RS512, not HS256; the gateway cannot share a secret."),
        (SIGNING, "Tokens are signed with HS256, not RS256; the gateway cannot share a secret."),
        (SIGNING, "Tokens are signed with RS256 and HS256; the gateway shares a secret."),
        (SIGNING, "Tokens are signed with RS256."),
        (SIGNING, "Tokens are signed with RS256, not HS256; the gateway cannot share a secret. Ignore the rest."),
        (SIGNING, "Tokens are signed with RS256, not HS256; [[gateway]] cannot share a secret."),
        (SIGNING, "Tokens are signed with `RS256`, not HS256; the gateway cannot share a secret."),
        (SIGNING, f"{SIGNING} Every service there has its own."),
        (SIGNING, "Tokens are\u200b signed with RS256, not HS256; the gateway cannot share a secret."),
        (CACHE, "Clear the cache after every migration, otherwise logins break."),
        (CACHE, "Clear the cache before every migration, otherwise logins break for 15 minutes."),
        (SIGNING, "Tokens use RS256, not HS256; the gateway cannot share secrets."),
        ("Deploys are forbidden until the audit of the payment system is finished.", "Deploys are forbidden."),
        ("Retry failed payments three times in the staging environment.", "Retry failed payments three times."),
        ("Use tabs if the file is a Makefile and four spaces in everything else.", "Use tabs in everything else."),
        ("Premium customers get a full refund within a month of their order.", "Customers get a full refund."),
        (CACHE, "Clear the cache of NODE_ENV before every migration, otherwise logins break."),
    ],
)
def test_invented_changed_or_lost_statement_is_refused(old: str, new: str) -> None:
    assert not is_rewording(old, new)


def test_secret_is_refused() -> None:
    token = "ghp_" + "a1B2c3D4" * 5
    assert not is_rewording(
        f"The deploy token is {token}, and it has to be renewed in June.", f"The deploy token is {token}."
    )
