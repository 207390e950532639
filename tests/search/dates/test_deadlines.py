"""The day until which a statement is valid; in doubt there is none."""

from datetime import date

import pytest

from memem.search.dates.parse import MAX_STATEMENT_CHARS, find_deadline

TUESDAY = date(2026, 11, 17)

DEADLINES = [
    ("There is a code freeze until 2026-12-01.", "2026-12-01"),
    ("Code freeze till 2026/12/01", "2026-12-01"),
    ("The winter sale ends on 5 December", "2026-12-05"),
    ("The winter sale ends December 5th.", "2026-12-05"),
    ("The winter sale ends on Saturday, 5 December 2026.", "2026-12-05"),
    ("The trial license expires 2027-01-01.", "2027-01-01"),
    ("The certificate of api.example.com expires on Jan 3, 2027.", "2027-01-03"),
    ("The staging certificate expires on the 3rd of January 2027", "2027-01-03"),
    ("Deploys are frozen until Friday.", "2026-11-20"),
    ("Deploys are frozen until Tuesday.", "2026-11-24"),
    ("Deploys are frozen until Monday.", "2026-11-23"),
    ("Deploys are frozen until next Friday.", "2026-11-27"),
    ("Deploys are frozen until next Monday.", "2026-11-23"),
    ("Deploys are paused until tomorrow.", "2026-11-18"),
    ("Nobody reviews until next week.", "2026-11-29"),
    ("The freeze lasts until the end of the month.", "2026-11-30"),
    ("The freeze lasts until the end of this quarter.", "2026-12-31"),
    ("Vendor access is granted until next month.", "2026-12-31"),
    ("The contract is valid through March 2027.", "2027-03-31"),
    ("The contract runs until the end of February 2028.", "2028-02-29"),
    ("The contract runs through 2027.", "2027-12-31"),
    ("The contract runs until the end of 2027.", "2027-12-31"),
    ("The migration deadline is 2026-12-20.", "2026-12-20"),
    ("The deadline for the tax migration is 20 December.", "2026-12-20"),
    ("Deadline: 2026-12-20", "2026-12-20"),
    ("The report is due by 2026-12-20.", "2026-12-20"),
    ("Send the keys no later than 2026-12-20.", "2026-12-20"),
    ("The API is not available until 2026-12-01T18:00Z.", "2026-12-01"),
    ("Deploys are frozen until 15 January.", "2027-01-15"),
    ("Deploys are frozen until March.", "2027-03-31"),
    ("Use the old endpoint from 2026-11-01 until 2026-12-01.", "2026-12-01"),
    ("Note that the freeze lasts until 2026-12-01.", "2026-12-01"),
    ("The freeze was extended until 2026-12-01.", "2026-12-01"),
    ("A backup runs every night until 2026-12-01.", "2026-12-01"),
    ("Phase one lasts until 2026-12-01, phase two until 2027-02-01.", "2027-02-01"),
    ("Code freeze until 2026-12-01. Ask Maria for exceptions.", "2026-12-01"),
    ("The freeze lasts until 2026-11-17.", "2026-11-17"),
    ("代码冻结，截止 2026-12-01。", "2026-12-01"),
    ("截止日期是 2026年12月1日", "2026-12-01"),
    ("许可证有效期至2027年1月31日", "2027-01-31"),
    ("试用期 12月5日 到期", "2026-12-05"),
    ("2026-12-24为止不发布", "2026-12-24"),
]

NO_DEADLINE = [
    "Since 2024-01-05 we use pnpm.",
    "From 2026-12-01 on we use pnpm.",
    "On 2026-12-01 we moved to pnpm.",
    "We move to pnpm on 5 December.",
    "As of 2026-12-01 the rates are fixed.",
    "The freeze lasted until 2026-11-16.",
    "The licence expired 2024-01-05.",
    "We used Jenkins until March.",
    "We stayed there until Friday.",
    "Support is there Monday through Friday.",
    "Support is there from Monday until Friday.",
    "The shop is open through Friday.",
    "The work week ends on Friday.",
    "The fiscal year ends on December 31.",
    "The season runs from 1 May until 30 September.",
    "The report is sent every month until the 5 December.",
    "The quarter ends in December.",
    "Retry until 2048 bytes are read.",
    "The loop runs until 2027.",
    "Wait until the March release.",
    "Wait until 5pm.",
    "Wait until the week of the fair.",
    "It is blocked until version 2026.12.01 is out.",
    "It is blocked until 2026-12-01-rc1 is out.",
    "It is blocked until may be decided.",
    "Tokens expire after 15 minutes.",
    "We sign with RS256 because the old key expires 2027-01-01.",
    "Rotate the key that expires 2027-01-01.",
    "If the freeze lasts until 2026-12-01, deploy by hand.",
    "Run `git log --until 2026-12-01` to see it.",
    'The banner says "sale ends on 5 December".',
    "The dump is backup-until-2026-12-01.tar.",
    "The API speaks JWT. The trial ends on 2027-01-01.",
    "Does the freeze last until 2026-12-01?",
    "The freeze lasts until 2026-13-41.",
    "The freeze lasts until 31 February 2027.",
    "There is a code freeze until further notice.",
    "截至2026-12-01共有三个服务",
    "升级到 1-2 版",
    "我们于 2026-12-01 搬家",
    "每年到12月5日盘点",
    "直到 2月31日",
]


@pytest.mark.parametrize(("statement", "day"), DEADLINES)
def test_deadline_is_found(statement: str, day: str) -> None:
    assert find_deadline(statement, TUESDAY) == date.fromisoformat(day)


@pytest.mark.parametrize("statement", NO_DEADLINE)
def test_other_dates_are_not_deadlines(statement: str) -> None:
    assert find_deadline(statement, TUESDAY) is None


def test_long_statement_has_no_deadline() -> None:
    statement = "Code freeze until 2026-12-01. "
    assert find_deadline(statement + "x" * (MAX_STATEMENT_CHARS - len(statement)), TUESDAY)
    assert find_deadline(statement + "x" * MAX_STATEMENT_CHARS, TUESDAY) is None
