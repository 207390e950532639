"""The time a query asks about; in doubt it asks about none."""

from datetime import date

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memem.search.dates.query import ANY_TIME, MAX_QUERY_CHARS, When, is_within, parse_time

TODAY = date(2026, 5, 20)  # a Wednesday
PERIODS = """
    what did we decide yesterday       | 2026-05-19 | 2026-05-19
    the day before yesterday           | 2026-05-18 | 2026-05-18
    what did we do today?              | 2026-05-20 | 2026-05-20
    why did the job fail last night    | 2026-05-19 | 2026-05-19
    what was decided this morning      | 2026-05-20 | 2026-05-20
    what changed last week?            | 2026-05-11 | 2026-05-17
    Last week's decision               | 2026-05-11 | 2026-05-17
    what have we done this week        | 2026-05-18 | 2026-05-24
    bugs found last month              | 2026-04-01 | 2026-04-30
    what changed this month            | 2026-05-01 | 2026-05-31
    last quarter                       | 2026-01-01 | 2026-03-31
    who joined this quarter            | 2026-04-01 | 2026-06-30
    last year                          | 2025-01-01 | 2025-12-31
    what happened this year            | 2026-01-01 | 2026-12-31
    last Monday                        | 2026-05-18 | 2026-05-18
    last Wednesday                     | 2026-05-13 | 2026-05-13
    this past sunday                   | 2026-05-17 | 2026-05-17
    a day ago                          | 2026-05-19 | 2026-05-19
    5 days ago                         | 2026-05-14 | 2026-05-16
    two weeks ago                      | 2026-05-03 | 2026-05-09
    a few months ago                   | 2025-12-04 | 2026-04-04
    a couple of weeks ago              | 2026-04-26 | 2026-05-09
    a year ago                         | 2024-11-18 | 2025-11-19
    errors in the last two weeks       | 2026-05-06 | 2026-05-20
    over the past 3 days               | 2026-05-17 | 2026-05-20
    what did we do the past week       | 2026-05-13 | 2026-05-20
    during the last month              | 2026-04-20 | 2026-05-20
    what broke in March                | 2026-03-01 | 2026-03-31
    in march we dropped it             | 2026-03-01 | 2026-03-31
    in late January                    | 2026-01-01 | 2026-01-31
    in may                             | 2026-05-01 | 2026-05-31
    in June                            | 2025-06-01 | 2025-06-30
    last March                         | 2026-03-01 | 2026-03-31
    this March                         | 2026-03-01 | 2026-03-31
    last May                           | 2025-05-01 | 2025-05-31
    in March last year                 | 2025-03-01 | 2025-03-31
    in March 2025                      | 2025-03-01 | 2025-03-31
    March 2025                         | 2025-03-01 | 2025-03-31
    the outage of Dec 2025             | 2025-12-01 | 2025-12-31
    in 2024                            | 2024-01-01 | 2024-12-31
    what was decided in 2024, and why  | 2024-01-01 | 2024-12-31
    in 2024 was it Redis               | 2024-01-01 | 2024-12-31
    in 2025-03                         | 2025-03-01 | 2025-03-31
    on 2025-03-14                      | 2025-03-14 | 2025-03-14
    on 2025/03/14                      | 2025-03-14 | 2025-03-14
    14 March 2025                      | 2025-03-14 | 2025-03-14
    the 14th of March                  | 2026-03-14 | 2026-03-14
    the March 14 outage                | 2026-03-14 | 2026-03-14
    July 4                             | 2025-07-04 | 2025-07-04
    on 3 May 2025                      | 2025-05-03 | 2025-05-03
    May 3                              | 2026-05-03 | 2026-05-03
    on may 3                           | 2026-05-03 | 2026-05-03
    on 29 February                     | 2024-02-29 | 2024-02-29
    March 14th, 2025                   | 2025-03-14 | 2025-03-14
    since March                        | 2026-03-01 |
    since Monday                       | 2026-05-18 |
    since last month                   | 2026-04-01 |
    after 2024                         | 2025-01-01 |
    after yesterday                    | 2026-05-20 |
    before 2025-03-14                  |            | 2025-03-13
    before last month                  |            | 2026-03-31
    until last Friday                  |            | 2026-05-15
    up to March 2025                   |            | 2025-03-31
    between March and April            | 2026-03-01 | 2026-04-30
    from January to March 2026         | 2026-01-01 | 2026-03-31
    since March but before last month  | 2026-03-01 | 2026-03-31
    what changed recently?             | 2026-04-20 | 2026-05-20
    lately                             | 2026-04-20 | 2026-05-20"""
PERIODS_IN_CHINESE = """
    昨天决定了什么 | 2026-05-19 | 2026-05-19
    前天的会议 | 2026-05-18 | 2026-05-18
    今天改了什么 | 2026-05-20 | 2026-05-20
    上周的决定 | 2026-05-11 | 2026-05-17
    上個星期 | 2026-05-11 | 2026-05-17
    上周三 | 2026-05-13 | 2026-05-13
    上周日 | 2026-05-17 | 2026-05-17
    这个月 | 2026-05-01 | 2026-05-31
    上个月为什么失败 | 2026-04-01 | 2026-04-30
    上季度 | 2026-01-01 | 2026-03-31
    去年 | 2025-01-01 | 2025-12-31
    前年 | 2024-01-01 | 2024-12-31
    去年3月 | 2025-03-01 | 2025-03-31
    2024年 | 2024-01-01 | 2024-12-31
    2025年3月 | 2025-03-01 | 2025-03-31
    2025年3月14日 | 2025-03-14 | 2025-03-14
    3月14号 | 2026-03-14 | 2026-03-14
    十二月份 | 2025-12-01 | 2025-12-31
    三天前 | 2026-05-16 | 2026-05-18
    两个月前 | 2026-03-05 | 2026-04-04
    几天前 | 2026-05-14 | 2026-05-19
    最近两周 | 2026-05-06 | 2026-05-20
    過去十二個月 | 2025-05-20 | 2026-05-20
    最近改了什么 | 2026-04-20 | 2026-05-20
    3月以来 | 2026-03-01 |
    自从上个月 | 2026-04-01 |
    2024年之后 | 2025-01-01 |
    2024年之前 | | 2023-12-31
    到上周为止 | | 2026-05-17"""
NO_TIME = """
    you may want to rename it | march through the list | the second one | May we drop it? | step 3 may fail |
    this may take a while | and may break | ship it today | finish the form this week |
    write and march on |
    tests on 3 may fail | this may 14 times break | version 2024.1 | upgrade to 2024.1 | since 2024.1 it works |
    port 2024 | listen on 2024 | in 2000 ms | after 2000 requests | it failed after 2024 rows | the 2021 edition |
    in 2021 edition | before I commit | after the merge | until it passes | on Monday | by last | next week |
    in 2027 | since 2027 | until 2030 | after today | rename last_month | set the default to last month |
    add a "Last week" button |
    the key `since yesterday` | migrations/2025-03-14-init.sql | 2025-03-14 | 2025-03-14 12:00:01 ERROR boom |
    the last week of the sprint | the first Monday of the month | last Monday of the month | the first time |
    most recently used | recently viewed items | get today's date | 5 minutes ago | print it in dec | in oct |
    mar 5 | keep the last 30 days | how many days ago did we move | on 2025-02-30 | on 31 February 2025 | in 2025-13 |
    the lastweek.py script | from yesterday until 2024 | last week, or in 2019 | ok thanks | | use Redis |
    最近的门店 | 最近一次提交 | 三个月 | 下个月 | 附近三天 | 13月 | 每周 | 日志"""
PAST = """
    what port was it originally | we formerly used npm | we used to have Redis here | the flag used to work |
    what did we use previously | what did I initially think | at first we used zod, right? | in the past it was Redis |
    how did auth work before the migration | what was the limit before the 2.0 release | before we moved to Postgres |
    what's the old port | how was the old deploy done | what was the previous limit | what did we use before? |
    why was it done that way back then | 以前用什么 | 以前的方案 | 原来的端口 | 我们之前用的数据库 | 最初为什么选它 |
    升级前用的是什么 | 一开始我们怎么做"""
NOT_PAST = """
    which key is used to sign | the script used to deploy | we got used to it | it is used to be safe |
    at first glance | run the tests before the release | what to check before the migration | delete the old tests |
    the first time | keep the old name and mark it deprecated |
    state is initially null | restore the previously selected tab | what was the previous commit | before I commit |
    have we seen this before | first, read it | then go on |
    原来如此 | 提交之前跑测试 | 发布前要检查什么 | 之前要先备份"""


def rows(table: str) -> list[str]:
    return [row.strip() for row in table.replace("\n", " ").split("|")]


def lines(table: str) -> list[list[str]]:
    return [[cell.strip() for cell in line.split("|")] for line in table.strip().splitlines()]


@pytest.mark.parametrize(("text", "start", "end"), lines(PERIODS) + lines(PERIODS_IN_CHINESE))
def test_a_period_is_understood(text: str, start: str, end: str) -> None:
    when = parse_time(text, TODAY)
    assert [str(day or "") for day in (when.start, when.end)] == [start, end]
    assert when
    assert not when.past


@pytest.mark.parametrize("text", rows(NO_TIME))
def test_doubtful_words_are_not_a_time(text: str) -> None:
    assert parse_time(text, TODAY) == ANY_TIME
    assert not parse_time(text, TODAY)


@pytest.mark.parametrize("text", rows(PAST))
def test_question_about_the_past_has_no_dates(text: str) -> None:
    assert parse_time(text, TODAY) == When(past=True)
    assert parse_time(text, TODAY)


@pytest.mark.parametrize("text", rows(NOT_PAST))
def test_work_to_come_is_not_the_past(text: str) -> None:
    assert parse_time(text, TODAY) == ANY_TIME


def test_a_date_takes_precedence_over_the_past() -> None:
    assert parse_time("what port was it originally, in 2024?", TODAY) == When(date(2024, 1, 1), date(2024, 12, 31))


def test_periods_without_a_common_day_are_ignored() -> None:
    assert parse_time("last week", TODAY)
    assert not parse_time("last week, not like in 2019", TODAY)


def test_long_text_is_not_searched_for_dates() -> None:
    assert parse_time("x" * (MAX_QUERY_CHARS - 10) + " last week", TODAY)
    assert not parse_time("x" * MAX_QUERY_CHARS + " last week", TODAY)


def test_line_breaks_are_spaces() -> None:
    assert parse_time("what did we do last\n  week", TODAY) == parse_time("last week", TODAY)


PIECES = st.sampled_from(
    """since after before until between and to from in on the last this past few a 3 12 0 31 999 week weeks month
    quarter year days ago yesterday March may Feb 29 2024 1900 2099-12-31 2025-02-30 monday recently , 前年
    上个 月 十九 两 天前 以来 0月 99日 几 originally""".split()
)


@given(
    st.one_of(st.text(), st.lists(PIECES, max_size=8).map(" ".join), st.lists(PIECES, max_size=6).map("".join)),
    st.dates(),
)
def test_no_period_ends_before_it_starts_in_any_text(text: str, today: date) -> None:
    when = parse_time(text, today)
    assert when.start is None or when.end is None or when.start <= when.end
    assert not (when.past and when.has_period)
    assert bool(when) == (when.has_period or when.past)


APRIL = When(date(2026, 4, 1), date(2026, 4, 30))
SINCE = When(start=date(2026, 4, 1))
UNTIL = When(end=date(2026, 4, 30))
BEFORE, WITHIN, LATER = "2026-03-01T09:00:00+02:00", "2026-04-10", "2026-05-02T00:00:00Z"


@pytest.mark.parametrize(
    ("when", "valid_from", "valid_to", "dated", "expected"),
    [
        (APRIL, "", "", WITHIN, True),
        (APRIL, "", "", "2026-04-30T23:59:59+02:00", True),
        (APRIL, "", "", BEFORE, False),
        (APRIL, "", "", LATER, False),
        (APRIL, BEFORE, "", LATER, True),
        (APRIL, LATER, "", WITHIN, False),
        (APRIL, BEFORE, WITHIN, LATER, True),
        (APRIL, BEFORE, "2026-03-31", LATER, False),
        (APRIL, "", WITHIN, BEFORE, True),
        (APRIL, "", LATER, "2026-05-01", False),
        (APRIL, "", WITHIN, "", True),
        (APRIL, "", BEFORE, "", False),
        (SINCE, "", "", LATER, True),
        (SINCE, "", "", BEFORE, False),
        (UNTIL, "", "", BEFORE, True),
        (UNTIL, "", "", LATER, False),
        (APRIL, "", "", "", False),
        (APRIL, "soon", "", WITHIN, False),
        (APRIL, BEFORE, "2026", WITHIN, False),
        (APRIL, "", "", "April 10", False),
        (ANY_TIME, BEFORE, LATER, WITHIN, False),
        (When(past=True), BEFORE, LATER, WITHIN, False),
    ],
)
def test_memory_valid_or_written_in_a_period_is_within_it(
    when: When, valid_from: str, valid_to: str, dated: str, expected: bool
) -> None:
    assert is_within(when, valid_from, valid_to, dated) is expected


@given(st.text(max_size=12), st.text(max_size=12), st.text(max_size=12))
def test_any_text_is_accepted_as_a_memorys_dates(valid_from: str, valid_to: str, dated: str) -> None:
    is_within(APRIL, valid_from, valid_to, dated)
