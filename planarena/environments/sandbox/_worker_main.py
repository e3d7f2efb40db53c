"""The inside of the sandbox: serve the METHODS of one Python file over JSON lines.

It runs under any Python of a managed environment and imports the standard library alone. What the
service prints goes to standard error: standard output belongs to the answers.
"""

import sys

del sys.path[0]  # the folder of this file is no place for a service to import from

import importlib.util  # noqa: E402
import json  # noqa: E402
import os  # noqa: E402


def main() -> None:
    """Import the service that the first argument names, then answer line by line until the input ends."""
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    requests = os.fdopen(os.dup(0), "rb")
    empty = os.open(os.devnull, os.O_RDONLY)
    os.dup2(empty, 0)

    spec = importlib.util.spec_from_file_location("service", sys.argv[1])
    assert spec is not None
    assert spec.loader is not None
    service = importlib.util.module_from_spec(spec)
    sys.modules["service"] = service
    spec.loader.exec_module(service)

    def answer(value: object) -> None:
        answers.write(json.dumps(value, separators=(",", ":")).encode() + b"\n")
        answers.flush()

    answer("ready")
    for line in requests:
        number, method, value = json.loads(line)
        try:
            answer({"id": number, "result": service.METHODS[method](value)})
        except (Exception, RecursionError) as error:
            answer({"id": number, "error": [type(error).__name__, str(error)[:2000]]})


if __name__ == "__main__":
    main()
