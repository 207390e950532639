"""What a sign is that a text speaks to a model, and the kinds there are."""

from dataclasses import dataclass

ADDRESS, OVERRIDE, TURN, PERSONA, ACT, HIDE, LEAK, MEMORY, PERMISSION, TRIGGER, SHELL = (
    *("address", "override", "turn", "persona", "act", "hide", "leak", "memory", "permission", "trigger", "shell"),
)
TOLD = {
    ADDRESS: "it speaks to the model about its rules",
    OVERRIDE: "it tells the model to set its instructions aside",
    TURN: "it imitates a turn of the conversation",
    PERSONA: "it gives the model another role",
    ACT: "it commands the model to act when it reads this",
    HIDE: "it wants something kept from the user",
    LEAK: "it wants something sent elsewhere",
    MEMORY: "it gives orders about the memory",
    PERMISSION: "it claims a permission",
    TRIGGER: "it commands the model to act later",
    SHELL: "it commands the model to run something",
}


@dataclass(frozen=True, slots=True)
class Sign:
    """Words that speak to a model. One of the `hints`, which are parted by `·`, and one of `also` where there are some,
    is in every text that the pattern can match."""

    kind: str
    weight: int
    hints: str
    pattern: str
    also: str = ""


START = (
    r"(?:^|[.!?:;,()\[\]{}<>*\"'`「『（-]\s{0,3}|\n\s*|"
    r"\b(?:please|must|point|should|shall|will|now|then|and|just|so|also|kindly|simply|immediately|first|instead|always|"
    r"you (?:need|have|are|ought) to|want you to|need you to|ask you to|like you to|task is to|told to|"
    r"permission to|that you|you can|you may|are to)\s+)"
)
"""Where a command begins: with a sentence, or behind words that lead to one."""
