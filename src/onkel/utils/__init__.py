"""The lowest layer: checks of arguments, files written atomically, extras imported on demand."""
