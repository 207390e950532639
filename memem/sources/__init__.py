"""Other people's memories: files of other programs, read into what could be imported. Nothing here writes."""
