"""Pages for a person in Obsidian: Home, one per project, playbooks, conflicts, the graph as a picture."""
