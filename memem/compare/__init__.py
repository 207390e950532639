"""Compare two statements from their texts alone: same, more specific, contradictory, or about something else."""
