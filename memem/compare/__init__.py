"""Compare two statements from their texts alone: same, more specific, contradictory, or about something else.

A changed digit, name, denial, direction or version is a change, however alike two texts look. Losing a correction is
the worst mistake, an extra note the mildest, a false contradiction stands between: every doubt is decided by that.

    one text    wording (words, numbers), places (subject, value, scope, reason, names), claims (sentences)
    two texts   pairing (words in common, who says more), values (in what they differ), contradicting, statements
    data        lexicon (small words, verbs), families (words that belong together)

The result is a `Comparison` of `compare/relation.py`.
"""
