"""Everything that cannot be rebuilt from the vault, one module per table."""
