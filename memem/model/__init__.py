"""Ask a model through the user's own `claude` CLI, and manage the plugin with it."""
