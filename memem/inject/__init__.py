"""Show memories and notices to Claude and the user: slices, briefings, tool use, receipts."""
