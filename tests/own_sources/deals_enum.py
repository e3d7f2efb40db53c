from enum import Enum
from typing import Literal, Optional
from pydantic import BaseModel


class Stage(str, Enum):
    lead = "lead"
    won = "won"
    lost = "lost"


class Deal(BaseModel):
    id: int
    company: str
    value_eur: float
    stage: Stage = Stage.lead


_deals: dict[int, Deal] = {1: Deal(id=1, company="Nordwind AG", value_eur=12000), 2: Deal(id=2, company="Tulip Foods", value_eur=4500.5, stage=Stage.won)}


async def list_deals(stage: Optional[Stage] = None) -> list[Deal]:
    """List the deals, of one stage or all."""
    return [d for d in _deals.values() if stage is None or d.stage == stage]


async def create_deal(company: str, value_eur: float) -> Deal:
    """Create a new deal."""
    d = Deal(id=len(_deals) + 1, company=company, value_eur=value_eur)
    _deals[d.id] = d
    return d


async def move_deal(deal_id: int, stage: Literal["lead", "won", "lost"]) -> Deal:
    """Move a deal to another stage."""
    d = _deals[deal_id]
    d.stage = Stage(stage)
    return d


async def delete_deal(deal_id: int) -> None:
    """Delete a deal for good."""
    del _deals[deal_id]
