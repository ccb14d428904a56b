"""`python -m onkel` is the command `onkel`."""

from onkel.cli import main

if __name__ == "__main__":
    main()
