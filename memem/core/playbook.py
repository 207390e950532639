"""The sections of a playbook, by their numbers, in their order."""

IDENTITY, CONVENTIONS, DECISIONS, TRAPS, ENVIRONMENT = SECTIONS = (1, 2, 3, 4, 5)
NAMES = {
    IDENTITY: "Identity",
    CONVENTIONS: "Conventions",
    DECISIONS: "Decisions in force",
    TRAPS: "Known traps",
    ENVIRONMENT: "Environment",
}
