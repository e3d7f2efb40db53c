"""Broken environment folders, each made from the template by a small edit: one finding, which says what to write."""

from __future__ import annotations

import socket
import time
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import msgspec
import pytest

from planarena.cli import main
from planarena.environments import sandbox
from planarena.environments.check import Finding, check_folder
from planarena.environments.domains import DOMAINS, load_domain
from planarena.environments.sources import SourceOptions
from planarena.environments.sources.folder.source import folder_limits

needs_sandbox = pytest.mark.skipif(
    sandbox.missing() is not None, reason=f"no sandbox here: {sandbox.missing()}"
)
TRUSTED = SourceOptions(trusted=True)


class Broken(NamedTuple):
    """An edit of the template, and what the check says of it."""

    file: str
    old: str
    new: str
    rule: str
    where: str
    fix: str


CODE, WORLD, WORDS = "environment.py", "world.py", "words.yaml"
RESTOCK = 'return self.state.patch("items", item_id, stock=item["stock"] + quantity)'
LOOK_UP = '        for item in self.rows("items", name=name):\n            return item\n'
LIST = 'return {"kind": kind, "count": len(found), "items": found}'
BROKEN = {
    "state outside of self.state": Broken(
        CODE,
        RESTOCK,
        'self.seeds().setdefault("made", []).append(item_id)\n'
        '        return self.state.patch("items", item_id, stock=item["stock"] + len(self.seeds()["made"]))',
        "deterministic",
        "restock_item",
        "self.state",
    ),
    "a record changed in place": Broken(
        CODE,
        'return self.state.patch("orders", order_id, ready_on=ready_on)',
        'order["ready_on"] = ready_on\n        return self.state.put("orders", order_id, order)',
        "undo",
        "postpone_order",
        "never change one in place",
    ),
    "a list in a record changed in place": Broken(
        CODE,
        RESTOCK,
        'item.setdefault("boxes", []).append(quantity)\n        ' + RESTOCK,
        "undo",
        "restock_item",
        "never change one in place",
    ),
    "the clock": Broken(
        CODE,
        "        order: Record = {",
        "        from datetime import datetime\n        customer += str(datetime.now())\n        order: Record = {",
        "code",
        CODE,
        "self.now",
    ),
    "the clock, imported": Broken(
        WORLD,
        "    today = str(date(2026, rng.randint(1, 12), rng.randint(1, 28)))",
        "    today = str(date.today())",
        "code",
        WORLD,
        "self.today",
    ),
    "random": Broken(
        CODE,
        "        order: Record = {",
        "        import random\n        quantity = random.randint(1, 5)\n        order: Record = {",
        "code",
        CODE,
        "rng",
    ),
    "ids by chance": Broken(
        CODE,
        'order_id = self.new_id("ord", item_id, customer)',
        "import uuid\n        order_id = f'ord_{uuid.uuid4().hex[:10]}'",
        "code",
        CODE,
        "new_id",
    ),
    "ids of a counter": Broken(
        CODE,
        'self.new_id("ord", item_id, customer)',
        "f\"ord_{len(self.rows('orders')):010x}\"",
        "ids",
        "place_order",
        "new_id",
    ),
    "hash": Broken(
        CODE,
        'self.new_id("ord", item_id, customer)',
        'f"ord_{hash(item_id + customer) % 2**40:010x}"',
        "code",
        CODE,
        "new_id",
    ),
    "no words": Broken(WORDS, "  restock_item:\n", "  restock_items:\n", "opens", WORDS, "`ask`"),
    "too few words": Broken(
        WORDS,
        '      - "strike {order_id} and put the things back"\n',
        "",
        "words",
        "cancel_order",
        "at least 4",
    ),
    "a value that is not stated": Broken(
        WORDS,
        '"push {order_id} back to {ready_on}"',
        '"push {order_id} back"',
        "words",
        "postpone_order",
        "docs/wording.md",
    ),
    "an id in a phrase": Broken(
        WORDS,
        '"call off {order_id}"',
        '"call off ord_5d2e91ab04, I mean {order_id}"',
        "words",
        "cancel_order",
        "docs/wording.md",
    ),
    "a tool's name in a phrase": Broken(
        WORDS,
        '"look up the {name}"',
        '"call look_up_item for the {name}"',
        "words",
        "look_up_item",
        "docs/wording.md",
    ),
    "an output that is not there": Broken(
        WORDS, "outputs: [/price, /stock]", "outputs: [/price, /left]", "words", "look_up_item", "the result"
    ),
    "a reference to nothing": Broken(
        WORDS, "      /order_id:\n", "      /number:\n", "opens", WORDS, "Semantic"
    ),
    "a field that leaks": Broken(
        CODE,
        '@tool("update", gives=record("name stock"))',
        "@tool(\"update\", gives=type('Leaky', (type(record('name')),), {'pick': lambda self, result: dict(result)})"
        "({'name': ItemName, 'stock': Count}))",
        "results",
        "restock_item",
        "declare it",
    ),
    "a result of another type": Broken(
        CODE, LIST, LIST.replace("len(found)", "str(len(found))"), "results", "list_items", "declares"
    ),
    "a result without a field": Broken(
        CODE, LIST, 'return {"kind": kind, "items": found}', "errors", "list_items", "ToolError"
    ),
    "a read that writes": Broken(
        CODE,
        LOOK_UP,
        LOOK_UP.replace(
            "return item", 'return self.state.patch("items", item["item_id"], stock=item["stock"] + 1)'
        ),
        "effects",
        "look_up_item",
        '@tool("update")',
    ),
    "a write that changes nothing": Broken(
        CODE, RESTOCK, "return item", "effects", "restock_item", "ToolError"
    ),
    "a change that nothing shows": Broken(
        CODE,
        RESTOCK,
        'return self.state.patch("items", item_id, boxes=item.get("boxes", 0) + quantity)',
        "shown",
        "restock_item",
        "read tool",
    ),
    "an error by accident": Broken(
        CODE,
        'item = self.require("items", item_id, "item")\n        return self.state.patch',
        "item = {}[item_id]\n        return self.state.patch",
        "errors",
        "restock_item",
        "ToolError",
    ),
    "no proposals": Broken(
        WORLD, '    "cancel_order": lambda _env, _rng: [{}],\n', "", "proposals", "cancel_order", "proposals"
    ),
    "a proposal that does not fit": Broken(
        WORLD,
        '[{"quantity": rng.choice([6, 10, 12, 20, 24])}]',
        '[{"quantity": "ten"}]',
        "proposals",
        "restock_item",
        "fits",
    ),
    "no meaning": Broken(
        CODE,
        "def find_orders(self, customer: Customer)",
        "def find_orders(self, customer: str)",
        "tools",
        "find_orders(customer)",
        "Semantic",
    ),
    "one world only": Broken(
        WORLD, "    today =", "    rng = Random(1)\n    today =", "seeds", "seed", "rng"
    ),
    "no now": Broken(WORLD, '"now": f"{today}T09:00"', '"now": today', "seeds", "facts", "seed's facts"),
    "a syntax error": Broken(CODE, "class Shop", "klass Shop", "code", CODE, "correct"),
    "an import that fails": Broken(CODE, "from .world", "from .worlds", "opens", CODE, "from .world"),
}


def make_shop(folder: Path) -> Path:
    """Write the template; return its folder."""
    assert main(["env", "new", "shop", "--dir", str(folder)]) == 0
    return folder / "shop"


def edit(shop: Path, file: str, old: str, new: str) -> None:
    """Change a file of the template in one place."""
    text = (shop / file).read_text(encoding="utf-8")
    assert text.count(old) >= 1, f"the template has no {old!r}"
    (shop / file).write_text(text.replace(old, new, 1), encoding="utf-8")


@pytest.mark.parametrize("name", BROKEN)
def test_a_broken_folder_gets_one_finding(name: str, tmp_path: Path) -> None:
    one, shop = BROKEN[name], make_shop(tmp_path)
    edit(shop, one.file, one.old, one.new)
    found = check_folder(shop, TRUSTED)
    assert [finding.rule for finding in found] == [one.rule], found
    assert one.where in found[0].where
    assert one.fix in found[0].fix


@needs_sandbox
def test_the_template_is_in_order_and_broken_words_are_exit_2(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    shop = make_shop(tmp_path)
    assert check_folder(shop) == []
    assert check_folder(shop, TRUSTED) == []
    shop = make_shop(tmp_path / "broken")
    edit(shop, WORDS, '"call off {order_id}"', '"call off ord_5d2e91ab04, I mean {order_id}"')
    assert main(["env", "check", str(shop)]) == 2
    shown = capsys.readouterr().out
    assert "cancel_order: ask" in shown
    assert "names an id" in shown
    assert "  fix: docs/wording.md" in shown
    assert main(["env", "check", str(shop), "--json"]) == 2
    told = msgspec.json.decode(capsys.readouterr().out.split("next: ", 1)[-1].encode(), type=dict)
    assert told["ok"] is False
    assert msgspec.convert(told["findings"], list[Finding])[0].rule == "words"


@pytest.mark.parametrize("domain", DOMAINS)
def test_builtin_domains_are_in_order(domain: str) -> None:
    assert check_folder(load_domain(domain).folder(), TRUSTED) == []


LIMITS = replace(folder_limits(), start_seconds=8.0, call_seconds=1.0)
IN_A_TOOL = '        item = self.require("items", item_id, "item")\n        return self.state.patch("items", item_id, stock'
# Nothing here is seen in the code without running it. What is done, the rule, what it says.
HOSTILE = {
    "ends the process": ('import_module("os")._exit(0)', "results", "ended the process"),
    "loops": ("while True: pass", "results", "timeout"),
    "leaves": ("raise SystemExit(3)", "errors", "SystemExit"),
    "takes all memory": ("return {'name': 'x' * (3 << 30), 'stock': 1}", "errors", "MemoryError"),
    "answers at length": ("return {'name': 'x' * (2 << 20), 'stock': 1}", "results", "2097"),
    "answers with no JSON": ("return {'name': object(), 'stock': 1}", "results", "no JSON"),
    "reads a file of the machine": (
        'return {"name": Path("@WITNESS@").read_text(), "stock": 1}',
        "errors",
        "FileNotFoundError",
    ),
    "writes beside itself": ('Path(__file__).with_name("words.yaml").write_text("")', "errors", "OSError"),
    "opens a socket": (
        'import_module("socket").create_connection(("127.0.0.1", @PORT@), timeout=1)',
        "errors",
        "ConnectionRefusedError",
    ),
    "forks": (
        '[import_module("os").fork() or import_module("time").sleep(99) for _ in range(99)]',
        "errors",
        "BlockingIOError",
    ),
}


@needs_sandbox
@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_tools_are_contained_and_found(name: str, tmp_path: Path) -> None:
    does, rule, says = HOSTILE[name]
    shop, witness = make_shop(tmp_path), tmp_path / "witness"
    witness.write_text("a secret of the machine")
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.setblocking(False)
        does = does.replace("@WITNESS@", str(witness)).replace("@PORT@", str(server.getsockname()[1]))
        edit(
            shop,
            CODE,
            "from random import Random\n",
            "from importlib import import_module\nfrom pathlib import Path\nfrom random import Random\n",
        )
        edit(shop, CODE, IN_A_TOOL, IN_A_TOOL.replace("        return", f"        {does}\n        return"))
        before = {file.name: file.read_bytes() for file in shop.iterdir() if file.is_file()}
        begun = time.monotonic()
        found = check_folder(shop, limits=LIMITS)
        assert time.monotonic() - begun < 40
        with pytest.raises(BlockingIOError):
            server.accept()
    assert [(one.rule, one.where) for one in found] == [(rule, "restock_item")], found
    assert says in found[0].what
    assert "a secret" not in repr(found)
    assert {file.name: file.read_bytes() for file in shop.iterdir() if file.is_file()} == before


@needs_sandbox
@pytest.mark.parametrize(
    ("file", "old", "new", "rule", "says"),
    [
        (CODE, "class Shop", "while True: pass\n\nclass Shop", "opens", "did not answer within"),
        (CODE, "class Shop", "import_module('os')._exit(0)\n\nclass Shop", "opens", "ended before it answered"),
        (WORLD, "    today =", "    while True: pass\n    today =", "seeds", "did not answer within"),
        (WORLD, '"cancel_order": lambda _env, _rng: [{}]', '"cancel_order": lambda _env, _rng: [{} for _ in iter(int, 1)]', "proposals", "did not answer within"),
    ],
)  # fmt: skip
def test_a_folder_that_hangs_or_ends_is_found_in_time(
    file: str, old: str, new: str, rule: str, says: str, tmp_path: Path
) -> None:
    shop = make_shop(tmp_path)
    edit(
        shop,
        CODE,
        "from random import Random\n",
        "from importlib import import_module\nfrom random import Random\n",
    )
    edit(shop, file, old, new)
    begun = time.monotonic()
    found = check_folder(shop, limits=LIMITS)
    assert time.monotonic() - begun < 40
    assert [one.rule for one in found] == [rule], found
    assert says in found[0].what
    assert found[0].fix
