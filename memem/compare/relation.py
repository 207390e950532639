"""The relations that one statement can have to another."""

from dataclasses import dataclass

SAME, CONTAINS, CONTAINED, CHANGED, NEAR, OTHER = "same", "contains", "contained", "changed", "near", "other"

RELATIONS = (SAME, CONTAINS, CONTAINED, CHANGED, NEAR, OTHER)


@dataclass(frozen=True, slots=True)
class Difference:
    """One thing that two statements say differently."""

    kind: str
    old: str
    new: str


@dataclass(frozen=True, slots=True)
class Comparison:
    """The relation of a new statement to an old one."""

    relation: str
    differences: tuple[Difference, ...] = ()
    replaces: bool = False  # the new statement says itself that it replaces the old one
