"""List what docstrings of public names lack: `python -m docs._reference`."""

from __future__ import annotations

from .lacking import lacking, members_without_text
from .names import public


def main() -> int:
    found = {name.short: lacking(name) for name in public()}
    lines = [f"{name}: {', '.join(what)}" for name, what in found.items() if what]
    lines += [f"{member}: a text" for member in dict.fromkeys(members_without_text())]
    print("\n".join(lines) or "nothing is lacking")
    return bool(lines)


if __name__ == "__main__":
    raise SystemExit(main())
