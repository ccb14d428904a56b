"""The ground floor: checks of arguments, files written whole, extras imported when they are used."""
