"""Does not import."""
import a_package_that_nobody_has


def hello(name: str) -> str:
    """Say hello."""
    return a_package_that_nobody_has.hello(name)
