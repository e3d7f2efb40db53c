"""Stock in several warehouses: levels, suppliers, purchase orders, transfers, customers' orders and shipments."""

from __future__ import annotations

from random import Random
from typing import Annotated, Literal

from planarena.environments.contract import Environment, Seed, ToolError, tool
from planarena.environments.domains.shared import Shared, working_day
from planarena.environments.domains.types import Count, Date, Money, Payable, Person, Workday
from planarena.environments.shapes import Fields, Result
from planarena.environments.state import Record
from planarena.tools.semantics import Semantic

from .world import PROPOSALS, document_number, make_company

__all__ = ["Inventory"]

APPROVAL_LIMIT = 4000.0
# Service -> (working days, cost of a shipment, cost of each unit).
CARRIERS = {"standard": (4, 6.5, 0.4), "express": (1, 18.0, 0.9), "freight": (6, 45.0, 0.1)}

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
Status = Annotated[Literal["open", "reserved", "shipped"], Semantic("customer_order_status", surface="word")]
Carrier = Annotated[Literal["standard", "express", "freight"], Semantic("carrier_service", surface="word")]
Destination = Annotated[str, Semantic("destination", surface="name")]

record = Fields(
    item_id=ItemId, stock_id=StockId, offer_id=OfferId, order_id=PurchaseOrderId, delivery_id=DeliveryId,
    shipment_id=ShipmentId, item=ItemName, warehouse=Warehouse, deliver_to=Warehouse,
    from_warehouse=Warehouse, to_warehouse=Warehouse, supplier=Supplier, contact=Person, customer=Person,
    number=Number, tracking=Number, quantity=Units, minimum=Units, missing=Units, on_hand=InStock,
    left=InStock, reorder_point=InStock, unit_price=Money, total=Payable, cost=Payable, delivery_days=Days,
    due=Date, arrives=Date, expected=Workday, status=Status, carrier=Carrier,
    destination=Destination, count=Count,
)  # fmt: skip
LEVEL = record("stock_id warehouse on_hand")
OFFER = record("offer_id supplier contact unit_price minimum delivery_days")
ITEM = record(
    "item_id item total reorder_point levels least incoming",
    total=InStock,
    levels=[LEVEL],
    least=LEVEL,
    incoming=[record("number quantity expected")],
)
DELIVERY = record("delivery_id number supplier item quantity warehouse")
ORDER = record(
    "order_id number customer item_id item quantity due status available",
    order_id=CustomerOrderId,
    available=[LEVEL],
)


class Inventory(Environment):
    """The desk of somebody who runs the warehouses of a small trading company."""

    domain = "inventory"
    summary = "Stock in several warehouses, with suppliers, purchase orders, transfers and shipments."
    proposals = PROPOSALS

    @classmethod
    def seed(cls, rng: Random, shared: Shared | None = None) -> Seed:
        """Make a trading company."""
        return make_company(cls.seeds(), rng, shared)

    @tool("read", gives=ITEM)
    def check_stock(self, item: ItemName) -> Result:
        """Show how much of an item each warehouse has, the fullest first, and what suppliers have to deliver.

        Args:
            item: Name of the item.
        """
        for row in self.rows("items", item=item):
            levels = self._levels(row["item_id"])
            total = sum(level["on_hand"] for level in levels)
            incoming = self.rows("purchases", item_id=row["item_id"], status="ordered")
            incoming.sort(key=lambda order: (order["expected"], order["order_id"]))
            return {**row, "total": total, "levels": levels, "least": levels[-1], "incoming": incoming}
        raise ToolError("item_not_found", f"There is no item named {item}.")

    @tool("read", gives=record("warehouse count items", items=[record("item_id item on_hand missing")]))
    def list_low_stock(self, warehouse: Warehouse) -> Result:
        """List the items of which a warehouse has less than the reorder point, those that lack most first.

        Args:
            warehouse: Name of the warehouse.
        """
        self._require_warehouse(warehouse)
        stocks = self.rows("stock", warehouse=warehouse)
        found = [{**self.require("items", row["item_id"], "item"), **row} for row in stocks]
        found = [row for row in found if row["on_hand"] < row["reorder_point"]]
        lines = [{**row, "missing": 2 * row["reorder_point"] - row["on_hand"]} for row in found]
        lines.sort(key=lambda line: (-line["missing"], line["item_id"]))
        return {"warehouse": warehouse, "count": len(lines), "items": lines[:10]}

    @tool("read", gives=record("item count offers fastest", offers=[OFFER], fastest=OFFER))
    def find_item_suppliers(self, item_id: ItemId) -> Result:
        """List the offers of suppliers for an item, the cheapest first.

        Args:
            item_id: The item.
        """
        item = self.require("items", item_id, "item")
        found = self.rows("offers", item_id=item_id)
        found.sort(key=lambda offer: (offer["unit_price"], offer["offer_id"]))
        lines = [{**one, **self.require("suppliers", one["supplier"], "supplier")} for one in found]
        fastest = min(lines, key=lambda line: (line["delivery_days"], line["offer_id"]))
        return {**item, "count": len(lines), "offers": lines, "fastest": fastest}

    @tool("create", gives=record("order_id number supplier item quantity deliver_to total"))
    def create_purchase_order(self, offer_id: OfferId, quantity: Units, deliver_to: Warehouse) -> Result:
        """Prepare a purchase order; it goes to the supplier when it is approved.

        Args:
            offer_id: The supplier's offer; it says what is ordered and the least quantity.
            quantity: How many units are ordered.
            deliver_to: Name of the warehouse that is to get them.
        """
        offer = self.require("offers", offer_id, "offer")
        self._require_warehouse(deliver_to)
        supplier = self.require("suppliers", offer["supplier"], "supplier")["supplier"]
        if quantity < offer["minimum"]:
            raise ToolError("below_minimum", f"{supplier} delivers at least {offer['minimum']} units.")
        order_id = self.new_id("po", offer_id, quantity, deliver_to, self.today)
        if self.state.get("purchases", order_id):
            raise ToolError("already_exists", "The same order has been prepared today.")
        order = {
            "order_id": order_id, "number": document_number("PO", order_id), "supplier": supplier,
            "item_id": offer["item_id"], "item": self.require("items", offer["item_id"], "item")["item"],
            "quantity": quantity, "deliver_to": deliver_to, "status": "draft",
            "total": round(quantity * offer["unit_price"], 2),
            "expected": working_day(self.now, offer["delivery_days"]),
        }  # fmt: skip
        return self.state.put("purchases", order_id, order)

    @tool("update", gives=record("order_id number supplier item total expected"))
    def approve_purchase_order(self, order_id: PurchaseOrderId) -> Result:
        """Approve a prepared purchase order and send it to the supplier; up to 4000 euros.

        Args:
            order_id: The purchase order.
        """
        order = self.require("purchases", order_id, "purchase order")
        if order["status"] != "draft":
            raise ToolError("already_approved", f"{order['number']} has gone to the supplier already.")
        if order["total"] > APPROVAL_LIMIT:
            raise ToolError("over_limit", f"{order['number']} comes to more than 4000 euros.")
        return self.state.patch("purchases", order_id, status="ordered")

    @tool("read", gives=record("count deliveries", deliveries=[DELIVERY]))
    def list_arrived_deliveries(self, warehouse: Warehouse | None = None) -> Result:
        """List the deliveries that have arrived and wait to be received, the largest first.

        Args:
            warehouse: Only deliveries at this warehouse.
        """
        if warehouse is not None:
            self._require_warehouse(warehouse)
        found = self.rows("deliveries", received=False)
        found = [row for row in found if warehouse in (None, row["warehouse"])]
        found.sort(key=lambda row: (-row["quantity"], row["delivery_id"]))
        return {"count": len(found), "deliveries": found}

    @tool("update", gives=record("number item quantity warehouse stock_id on_hand"))
    def receive_delivery(self, delivery_id: DeliveryId) -> Result:
        """Take a delivery that has arrived into the stock of its warehouse.

        Args:
            delivery_id: The delivery.
        """
        delivery = self.require("deliveries", delivery_id, "delivery")
        if delivery["received"]:
            raise ToolError("already_received", f"{delivery['number']} is on the shelves already.")
        stock_id = self.new_id("stk", delivery["item_id"], delivery["warehouse"])
        on_hand = self.require("stock", stock_id, "stock")["on_hand"] + delivery["quantity"]
        self.state.patch("deliveries", delivery_id, received=True)
        return {**delivery, **self.state.patch("stock", stock_id, on_hand=on_hand)}

    @tool("create", gives=record("shipment_id item quantity from_warehouse to_warehouse left arrives"))
    def transfer_stock(self, stock_id: StockId, to_warehouse: Warehouse, quantity: Units) -> Result:
        """Send units of a stock to another warehouse; they leave at once and arrive two working days later.

        Args:
            stock_id: The stock that they are taken from.
            to_warehouse: Name of the warehouse that they go to.
            quantity: How many units.
        """
        stock = self.require("stock", stock_id, "stock")
        self._require_warehouse(to_warehouse)
        if stock["warehouse"] == to_warehouse:
            raise ToolError("same_warehouse", f"The stock already lies at {to_warehouse}.")
        left = self._take(stock, quantity)
        shipment_id = self.new_id("shp", stock_id, to_warehouse, quantity)
        shipment = self._send(shipment_id, {**stock, "quantity": quantity}, to_warehouse, "freight", 2)
        places = {"from_warehouse": stock["warehouse"], "to_warehouse": to_warehouse}
        return {**shipment, **places, "left": left}

    @tool("read", gives=ORDER)
    def find_customer_order(self, customer: Person) -> Result:
        """Look up the order of a customer, with the stocks of what was ordered, the fullest first.

        Args:
            customer: Full name of the customer.
        """
        for order in self.rows("orders", customer=customer):
            item = self.require("items", order["item_id"], "item")
            return {**item, **order, "available": self._levels(order["item_id"])}
        raise ToolError("order_not_found", f"{customer} has not ordered anything.")

    @tool("update", gives=record("customer item quantity warehouse left"))
    def reserve_stock(self, order_id: CustomerOrderId, stock_id: StockId) -> Result:
        """Set aside what a customer has ordered from a stock of that item.

        Args:
            order_id: The customer's order.
            stock_id: The stock that it is taken from.
        """
        order = self.require("orders", order_id, "customer's order")
        stock = self.require("stock", stock_id, "stock")
        if order["status"] != "open":
            raise ToolError("already_reserved", f"The order of {order['customer']} is {order['status']}.")
        if stock["item_id"] != order["item_id"]:
            raise ToolError("other_item", f"{order['customer']} has ordered something else.")
        left = self._take(stock, order["quantity"])
        self.state.patch("orders", order_id, status="reserved")
        item = self.require("items", stock["item_id"], "item")
        return {**stock, **item, **order, "left": left}

    @tool("update", gives=record("shipment_id customer item tracking cost arrives"))
    def ship_customer_order(self, order_id: CustomerOrderId, carrier: Carrier) -> Result:
        """Send a customer's order off; its goods must have been reserved.

        Args:
            order_id: The customer's order.
            carrier: How it travels; express takes one working day, standard four, freight six.
        """
        order = self.require("orders", order_id, "customer's order")
        if order["status"] == "shipped":
            raise ToolError("already_shipped", f"The order of {order['customer']} is on its way.")
        if order["status"] != "reserved":
            raise ToolError("not_reserved", f"Nothing is reserved for {order['customer']} yet.")
        days, flat, each = CARRIERS[carrier]
        self.state.patch("orders", order_id, status="shipped")
        shipment = self._send(self.new_id("shp", order_id), order, order["customer"], carrier, days)
        return {**order, **shipment, "cost": round(flat + each * order["quantity"], 2)}

    @tool("read", gives=record("tracking item quantity destination carrier arrives"))
    def track_shipment(self, shipment_id: ShipmentId) -> Result:
        """Show what a shipment holds, where it goes and when it arrives.

        Args:
            shipment_id: The shipment.
        """
        return self.require("shipments", shipment_id, "shipment")

    def _require_warehouse(self, warehouse: str) -> None:
        if self.state.get("warehouses", warehouse) is None:
            raise ToolError("warehouse_not_found", f"There is no warehouse named {warehouse}.")

    def _levels(self, item_id: str) -> list[Record]:
        """Return the stocks of an item, the fullest first."""
        stocks = self.rows("stock", item_id=item_id)
        return sorted(stocks, key=lambda stock: (-stock["on_hand"], stock["stock_id"]))

    def _take(self, stock: Record, quantity: int) -> int:
        left: int = stock["on_hand"] - quantity
        if left < 0:
            units = "1 unit" if stock["on_hand"] == 1 else f"{stock['on_hand']} units"
            raise ToolError("insufficient_stock", f"{stock['warehouse']} has {units}, not {quantity}.")
        self.state.patch("stock", stock["stock_id"], on_hand=left)
        return left

    def _send(self, shipment_id: str, goods: Record, destination: str, carrier: str, days: int) -> Result:
        """Let an item in some quantity leave for a warehouse or a customer."""
        if self.state.get("shipments", shipment_id):
            raise ToolError("already_sent", "The same shipment has left today.")
        shipment = {
            "tracking": document_number("TR", shipment_id), "quantity": goods["quantity"],
            "item": self.require("items", goods["item_id"], "item")["item"], "destination": destination,
            "carrier": carrier, "arrives": working_day(self.now, days),
        }  # fmt: skip
        return {**self.state.put("shipments", shipment_id, shipment), "shipment_id": shipment_id}
