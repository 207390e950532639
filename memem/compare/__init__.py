"""Compare two statements from their texts alone: same, more specific, contradictory, or about something else.

Contradictions are differences in numbers, names, negation and direction between nearly equal statements, names that one
note calls over, and two values for one subject. Losing a correction is the worst mistake and an extra note the mildest.
"""
