"""What is put in front of Claude and the user: slices, session start, tool use, receipts, notices."""
