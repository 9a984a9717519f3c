"""The checks of the acceptance, each with its name; what one returns is its figure."""

CHECKS = []
"""Every check that was imported: its name, and the function that takes a `Work`."""


def check(name):
    def add(function):
        CHECKS.append((name, function))
        return function

    return add
