"""Find credentials in text and redact them."""
