"""What happened and what can be taken back."""
