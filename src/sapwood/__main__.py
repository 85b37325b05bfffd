"""`python -m sapwood`: the same as the command `sapwood`."""

from sapwood.cli.main import main

if __name__ == "__main__":
    main()
