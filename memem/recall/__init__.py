"""Present: rank what was found, decide whether to speak, cut to a budget, render as quoted reference."""
