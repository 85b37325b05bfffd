"""The command `sapwood`: one module per command, put together in `main`.

A module here imports at its top only what its command line needs (typer, the standard
library); what the command works with is imported inside the function, so that
`sapwood --help` stays quick however heavy the engine behind a command is.
"""
