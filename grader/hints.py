"""The hints of a spec: its sections "### Hint 1", "### Hint 2", "### Hint 3"."""

import re


def hints(spec: str) -> tuple[str, ...]:
    """The texts of the hints in a spec, in order."""
    parts = re.split(r"^### Hint \d+\s*$", spec, flags=re.MULTILINE)[1:]
    return tuple(re.split(r"^## ", part, maxsplit=1, flags=re.MULTILINE)[0].strip() for part in parts)
