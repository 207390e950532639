"""Decisions about a candidate: in doubt it is kept next to its neighbours."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memem.compare.relation import CHANGED, CONTAINED, CONTAINS, NEAR, OTHER, RELATIONS, SAME, Comparison
from memem.core.conversation import ADD, SUPERSEDE, UPDATE
from memem.notes.decide import KNOWN, MOST_CONTRADICTED, MOST_RELATED, Decision, Neighbour, decide


def neighbour(relation: str, *, yields: bool = True, replaces: bool = False) -> Neighbour:
    return Neighbour(Comparison(relation, replaces=replaces), yields)


def test_candidate_without_neighbours_is_added() -> None:
    assert decide([]) == Decision(ADD)


@pytest.mark.parametrize("own", [False, True])
def test_same_statement_is_known_from_any_source(own: bool) -> None:
    assert decide([neighbour(OTHER), neighbour(SAME)], own=own) == Decision(KNOWN, 1)


def test_contained_statement_is_known() -> None:
    assert decide([neighbour(CONTAINED)]) == Decision(KNOWN, 0)


def test_nothing_that_a_person_writes_is_dropped_because_it_says_less() -> None:
    assert decide([neighbour(CONTAINED)], own=True, proven=True) == Decision(ADD, related=(0,))


def test_longer_statement_updates_a_machine_note() -> None:
    assert decide([neighbour(OTHER), neighbour(CONTAINS)]) == Decision(UPDATE, 1)


def test_a_persons_note_that_says_more_takes_the_place_of_a_machines() -> None:
    assert decide([neighbour(CONTAINS)], own=True, proven=True) == Decision(SUPERSEDE, 0)


def test_longer_statement_is_added_to_a_note_that_does_not_yield() -> None:
    assert decide([neighbour(CONTAINS, yields=False)]) == Decision(ADD, related=(0,))


def test_a_changed_value_contradicts() -> None:
    assert decide([neighbour(CHANGED), neighbour(CHANGED, yields=False)], proven=True) == Decision(
        ADD, contradicts=(0, 1)
    )


def test_words_of_a_person_that_say_what_they_replace_replace_it() -> None:
    assert decide([neighbour(CHANGED, replaces=True)], proven=True) == Decision(SUPERSEDE, 0)
    assert decide([neighbour(CHANGED, replaces=True)]) == Decision(ADD, contradicts=(0,)), "words of Claude do not"
    unyielding = neighbour(CHANGED, replaces=True, yields=False)
    assert decide([unyielding], proven=True) == Decision(ADD, contradicts=(0,))


def test_similar_notes_are_linked_and_others_left_alone() -> None:
    assert decide([neighbour(OTHER), neighbour(NEAR), neighbour(OTHER)]) == Decision(ADD, related=(1,))


def test_update_may_contradict_another_note() -> None:
    assert decide([neighbour(CONTAINS), neighbour(CHANGED), neighbour(NEAR)]) == Decision(UPDATE, 0, (2,), (1,))


def test_links_are_few() -> None:
    decision = decide([neighbour(NEAR)] * 20 + [neighbour(CHANGED)] * 20)
    assert (len(decision.related), len(decision.contradicts)) == (MOST_RELATED, MOST_CONTRADICTED)


WISHES = [
    # what the model wants, what the candidate is to the target, whether a person's words prove it -> what is granted
    (UPDATE, CONTAINS, False, Decision(UPDATE, 0)),
    (UPDATE, SAME, False, Decision(UPDATE, 0)),
    (UPDATE, CONTAINED, True, Decision(KNOWN, 0)),
    (UPDATE, NEAR, True, Decision(ADD, related=(0,))),
    (UPDATE, OTHER, True, Decision(ADD, related=(0,))),
    (UPDATE, CHANGED, False, Decision(ADD, contradicts=(0,))),
    (UPDATE, CHANGED, True, Decision(SUPERSEDE, 0)),
    (SUPERSEDE, CHANGED, False, Decision(SUPERSEDE, 0)),
    (SUPERSEDE, NEAR, False, Decision(SUPERSEDE, 0)),
    (SUPERSEDE, OTHER, False, Decision(SUPERSEDE, 0)),
    (SUPERSEDE, CONTAINS, False, Decision(SUPERSEDE, 0)),
    (SUPERSEDE, CONTAINED, True, Decision(ADD, contradicts=(0,))),
    (SUPERSEDE, SAME, True, Decision(KNOWN, 0)),
]


@pytest.mark.parametrize(("wish", "relation", "proven", "expected"), WISHES)
def test_a_wish_is_granted_behind_rails(wish: str, relation: str, proven: bool, expected: Decision) -> None:
    assert decide([neighbour(relation)], proven=proven, wish=wish, target=0) == expected


@pytest.mark.parametrize(
    ("wish", "relation", "expected"),
    [
        (UPDATE, CONTAINS, Decision(ADD, related=(0,))),
        (UPDATE, CHANGED, Decision(ADD, contradicts=(0,))),
        (UPDATE, SAME, Decision(KNOWN, 0)),
        (SUPERSEDE, CHANGED, Decision(ADD, contradicts=(0,))),
        (SUPERSEDE, CONTAINS, Decision(ADD, contradicts=(0,))),
        (SUPERSEDE, OTHER, Decision(ADD, contradicts=(0,))),
    ],
)
def test_target_that_does_not_yield_gets_a_linked_note(wish: str, relation: str, expected: Decision) -> None:
    assert decide([neighbour(relation, yields=False)], proven=True, wish=wish, target=0) == expected


neighbours = st.lists(
    st.builds(neighbour, st.sampled_from(RELATIONS), yields=st.booleans(), replaces=st.booleans()), max_size=8
)


@given(neighbours, st.booleans(), st.booleans(), st.sampled_from([ADD, UPDATE, SUPERSEDE]))
def test_the_rails_hold_whatever_is_beside(beside: list[Neighbour], own: bool, proven: bool, wish: str) -> None:
    target = 0 if beside and wish != ADD else None
    decision = decide(beside, own=own, proven=proven, wish=wish, target=target)
    if decision.what == ADD:
        assert decision.place is None
    else:
        assert decision.place is not None
        at = beside[decision.place]
        if decision.what == UPDATE:
            assert at.yields
            assert at.relation in (CONTAINS, SAME), "an update keeps what the note said"
        if decision.what == SUPERSEDE:
            assert at.yields
            assert at.relation not in (CONTAINED, SAME), "what says more never gives way to what says less"
        if decision.what == KNOWN:
            assert at.relation in (SAME, CONTAINED), "a change is never a duplicate"
    linked = {*decision.related, *decision.contradicts}
    assert decision.place not in linked
    assert not set(decision.related) & set(decision.contradicts)
    assert all(beside[place].relation != CHANGED for place in decision.related)
