"""What cannot be rebuilt from the vault: events and undo, cursors, journal, ledger, receipts; a module per table."""
