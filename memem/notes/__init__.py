"""Change the vault: save, reconcile, edit, forget, review, resolve, undo; keep notes true."""
