"""Ask: what in the new turns is worth keeping. By a model through the user's own CLI, or by rules."""
