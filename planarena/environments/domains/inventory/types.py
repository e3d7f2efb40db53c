"""The values and results of the inventory's tools."""

from __future__ import annotations

from typing import Annotated, Literal, TypedDict

from planarena.environments.domains.types import Count, Date, Money, Payable, Person, Workday
from planarena.tools.semantics import Semantic

__all__ = [
    "Approved",
    "Carrier",
    "CustomerOrder",
    "CustomerOrderId",
    "Deliveries",
    "DeliveryId",
    "DeliveryLine",
    "ItemId",
    "ItemName",
    "LowItem",
    "LowStock",
    "NewOrder",
    "OfferId",
    "OfferLine",
    "Offers",
    "PurchaseOrderId",
    "Received",
    "Reserved",
    "Shipment",
    "ShipmentId",
    "Shipped",
    "Stock",
    "StockId",
    "StockLine",
    "Transfer",
    "Units",
    "Warehouse",
]

ItemId = Annotated[str, Semantic("stock_item_id", hidden=True)]
# An item at a warehouse: what is moved or reserved always lies where it is said to lie.
StockId = Annotated[str, Semantic("stock_id", hidden=True)]
OfferId = Annotated[str, Semantic("supply_offer_id", hidden=True)]
PurchaseOrderId = Annotated[str, Semantic("purchase_order_id", hidden=True)]
DeliveryId = Annotated[str, Semantic("delivery_id", hidden=True)]
CustomerOrderId = Annotated[str, Semantic("customer_order_id", hidden=True)]
ShipmentId = Annotated[str, Semantic("shipment_id", hidden=True)]
ItemName = Annotated[str, Semantic("stock_item", surface="name")]
Warehouse = Annotated[str, Semantic("warehouse", surface="name")]
Supplier = Annotated[str, Semantic("supplier", surface="name")]
Number = Annotated[str, Semantic("document_number", surface="name")]
Units = Annotated[int, Semantic("units", surface="number", minimum=1, maximum=5000)]
InStock = Annotated[int, Semantic("units_in_stock", surface="number", minimum=0)]
Days = Annotated[int, Semantic("delivery_days", surface="number", minimum=0)]
ShippingStatus = Annotated[
    Literal["open", "reserved", "shipped"], Semantic("customer_order_status", surface="word")
]
Carrier = Annotated[Literal["standard", "express", "freight"], Semantic("carrier_service", surface="word")]


class StockLine(TypedDict):
    """What a warehouse has of an item."""

    stock_id: StockId
    warehouse: Warehouse
    on_hand: InStock


class Stock(TypedDict):
    """Where an item lies."""

    item_id: ItemId
    item: ItemName
    total: InStock
    reorder_point: InStock
    levels: list[StockLine]
    least: StockLine


class LowItem(TypedDict):
    """An item that runs short."""

    item_id: ItemId
    item: ItemName
    on_hand: InStock
    missing: Units


class LowStock(TypedDict):
    """What runs short at a warehouse."""

    warehouse: Warehouse
    count: Count
    items: list[LowItem]


class OfferLine(TypedDict):
    """What a supplier asks for an item."""

    offer_id: OfferId
    supplier: Supplier
    contact: Person
    unit_price: Money
    minimum: Units
    delivery_days: Days


class Offers(TypedDict):
    """The offers for an item."""

    item: ItemName
    count: Count
    offers: list[OfferLine]
    fastest: OfferLine


class NewOrder(TypedDict):
    """A purchase order that waits for approval."""

    order_id: PurchaseOrderId
    number: Number
    supplier: Supplier
    item: ItemName
    quantity: Units
    deliver_to: Warehouse
    total: Payable


class Approved(TypedDict):
    """A purchase order that has gone to the supplier."""

    order_id: PurchaseOrderId
    number: Number
    supplier: Supplier
    item: ItemName
    total: Payable
    expected: Workday


class DeliveryLine(TypedDict):
    """A delivery at the gate of a warehouse."""

    delivery_id: DeliveryId
    number: Number
    supplier: Supplier
    item: ItemName
    quantity: Units
    warehouse: Warehouse


class Deliveries(TypedDict):
    """Deliveries that wait to be received."""

    count: Count
    deliveries: list[DeliveryLine]


class Received(TypedDict):
    """A delivery that was put on the shelves."""

    number: Number
    item: ItemName
    quantity: Units
    warehouse: Warehouse
    stock_id: StockId
    on_hand: InStock


class Transfer(TypedDict):
    """Goods on the way from one warehouse to another."""

    shipment_id: ShipmentId
    item: ItemName
    quantity: Units
    from_warehouse: Warehouse
    to_warehouse: Warehouse
    left: InStock
    arrives: Date


class CustomerOrder(TypedDict):
    """What a customer has ordered."""

    order_id: CustomerOrderId
    number: Number
    customer: Person
    item_id: ItemId
    item: ItemName
    quantity: Units
    due: Date
    status: ShippingStatus
    available: list[StockLine]


class Reserved(TypedDict):
    """Goods set aside for a customer."""

    customer: Person
    item: ItemName
    quantity: Units
    warehouse: Warehouse
    left: InStock


class Shipped(TypedDict):
    """A customer's order on its way."""

    shipment_id: ShipmentId
    customer: Person
    item: ItemName
    tracking: Number
    cost: Payable
    arrives: Date


class Shipment(TypedDict):
    """A shipment as it stands."""

    tracking: Number
    item: ItemName
    quantity: Units
    destination: Annotated[str, Semantic("destination", surface="name")]
    carrier: Carrier
    arrives: Date
