"""Judge text on its way in and out: credentials, instructions to the model, invisible characters, quoting."""
