"""Stock in several warehouses: levels, suppliers, purchase orders, transfers, customers' orders and shipments."""

from __future__ import annotations

from typing import cast

from planarena.environments.contract import ToolError, tool
from planarena.environments.domains.types import Person
from planarena.environments.state import Record

from .types import (
    Approved,
    Carrier,
    CustomerOrder,
    CustomerOrderId,
    Deliveries,
    DeliveryId,
    DeliveryLine,
    ItemId,
    ItemName,
    LowItem,
    LowStock,
    NewOrder,
    OfferId,
    OfferLine,
    Offers,
    PurchaseOrderId,
    Received,
    Reserved,
    Shipment,
    ShipmentId,
    Shipped,
    Stock,
    StockId,
    StockLine,
    Transfer,
    Units,
    Warehouse,
)
from .world import InventoryScenario, document_number, working_day

__all__ = ["Inventory"]

APPROVAL_LIMIT = 4000.0
# Service -> (working days, cost of a shipment, cost of each unit).
CARRIERS = {"standard": (4, 6.5, 0.4), "express": (1, 18.0, 0.9), "freight": (6, 45.0, 0.1)}


class Inventory(InventoryScenario):
    """The desk of somebody who runs the warehouses of a small trading company."""

    domain = "inventory"
    summary = "Stock in several warehouses, with suppliers, purchase orders, transfers and shipments."

    @tool("read")
    def check_stock(self, item: ItemName) -> Stock:
        """Show how much of an item each warehouse has, the fullest first.

        Args:
            item: Name of the item.
        """
        for row in self.state.scan("items"):
            if row["item"] == item:
                break
        else:
            raise ToolError("item_not_found", f"There is no item named {item}.")
        levels = self._levels(row["item_id"])
        return {
            "item_id": row["item_id"],
            "item": item,
            "total": sum(level["on_hand"] for level in levels),
            "reorder_point": row["reorder_point"],
            "levels": levels,
            "least": levels[-1],
        }

    @tool("read")
    def list_low_stock(self, warehouse: Warehouse) -> LowStock:
        """List the items of which a warehouse has less than the reorder point, those that lack most first.

        Args:
            warehouse: Name of the warehouse.
        """
        self._require_warehouse(warehouse)
        lines: list[LowItem] = []
        for stock in self.state.scan("stock"):
            item = self.require("items", stock["item_id"], "item")
            if stock["warehouse"] == warehouse and stock["on_hand"] < item["reorder_point"]:
                missing = 2 * item["reorder_point"] - stock["on_hand"]
                lines.append(
                    {
                        "item_id": item["item_id"],
                        "item": item["item"],
                        "on_hand": stock["on_hand"],
                        "missing": missing,
                    }
                )
        lines.sort(key=lambda line: (-line["missing"], line["item_id"]))
        return {"warehouse": warehouse, "count": len(lines), "items": lines[:10]}

    @tool("read")
    def find_item_suppliers(self, item_id: ItemId) -> Offers:
        """List the offers of suppliers for an item, the cheapest first.

        Args:
            item_id: The item.
        """
        item = self.require("items", item_id, "item")
        found = [offer for offer in self.state.scan("offers") if offer["item_id"] == item_id]
        found.sort(key=lambda offer: (offer["unit_price"], offer["offer_id"]))
        lines = [self._offer_line(offer) for offer in found]
        fastest = min(lines, key=lambda line: (line["delivery_days"], line["offer_id"]))
        return {"item": item["item"], "count": len(lines), "offers": lines, "fastest": fastest}

    @tool("create")
    def create_purchase_order(self, offer_id: OfferId, quantity: Units, deliver_to: Warehouse) -> NewOrder:
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
        order_id = self.new_id("po", offer_id, quantity, deliver_to, self.now[:10])
        if self.state.get("purchases", order_id):
            raise ToolError("already_exists", "The same order has been prepared today.")
        order = {
            "order_id": order_id,
            "number": document_number("PO", order_id),
            "supplier": supplier,
            "item_id": offer["item_id"],
            "item": self.require("items", offer["item_id"], "item")["item"],
            "quantity": quantity,
            "deliver_to": deliver_to,
            "total": round(quantity * offer["unit_price"], 2),
            "expected": working_day(self.now, offer["delivery_days"]),
            "status": "draft",
        }
        self.state.put("purchases", order_id, order)
        return cast(NewOrder, {key: order[key] for key in NewOrder.__annotations__})

    @tool("update")
    def approve_purchase_order(self, order_id: PurchaseOrderId) -> Approved:
        """Approve a prepared purchase order and send it to the supplier; up to 4000 euros.

        Args:
            order_id: The purchase order.
        """
        order = self.require("purchases", order_id, "purchase order")
        if order["status"] != "draft":
            raise ToolError("already_approved", f"{order['number']} has gone to the supplier already.")
        if order["total"] > APPROVAL_LIMIT:
            raise ToolError("over_limit", f"{order['number']} comes to more than 4000 euros.")
        order = self.state.patch("purchases", order_id, status="ordered")
        return cast(Approved, {key: order[key] for key in Approved.__annotations__})

    @tool("read")
    def list_arrived_deliveries(self, warehouse: Warehouse | None = None) -> Deliveries:
        """List the deliveries that have arrived and wait to be received, the largest first.

        Args:
            warehouse: Only deliveries at this warehouse.
        """
        if warehouse is not None:
            self._require_warehouse(warehouse)
        found = [
            row
            for row in self.state.scan("deliveries")
            if not row["received"] and warehouse in (None, row["warehouse"])
        ]
        found.sort(key=lambda row: (-row["quantity"], row["delivery_id"]))
        keys = DeliveryLine.__annotations__
        lines = [cast(DeliveryLine, {key: row[key] for key in keys}) for row in found]
        return {"count": len(lines), "deliveries": lines}

    @tool("update")
    def receive_delivery(self, delivery_id: DeliveryId) -> Received:
        """Take a delivery that has arrived into the stock of its warehouse.

        Args:
            delivery_id: The delivery.
        """
        delivery = self.require("deliveries", delivery_id, "delivery")
        if delivery["received"]:
            raise ToolError("already_received", f"{delivery['number']} is on the shelves already.")
        stock = self._stock(delivery["item_id"], delivery["warehouse"])
        on_hand = stock["on_hand"] + delivery["quantity"]
        self.state.patch("stock", stock["stock_id"], on_hand=on_hand)
        self.state.patch("deliveries", delivery_id, received=True)
        return {
            "number": delivery["number"],
            "item": delivery["item"],
            "quantity": delivery["quantity"],
            "warehouse": delivery["warehouse"],
            "stock_id": stock["stock_id"],
            "on_hand": on_hand,
        }

    @tool("create")
    def transfer_stock(self, stock_id: StockId, to_warehouse: Warehouse, quantity: Units) -> Transfer:
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
        item = self.require("items", stock["item_id"], "item")["item"]
        arrives = working_day(self.now, 2)
        shipment_id = self.new_id("shp", stock_id, to_warehouse, quantity)
        self._add_shipment(shipment_id, item, quantity, to_warehouse, "freight", arrives)
        return {
            "shipment_id": shipment_id,
            "item": item,
            "quantity": quantity,
            "from_warehouse": stock["warehouse"],
            "to_warehouse": to_warehouse,
            "left": left,
            "arrives": arrives,
        }

    @tool("read")
    def find_customer_order(self, customer: Person) -> CustomerOrder:
        """Look up the order of a customer, with the stocks of what was ordered, the fullest first.

        Args:
            customer: Full name of the customer.
        """
        for order in self.state.scan("orders"):
            if order["customer"] == customer:
                item_id = order["item_id"]
                item = self.require("items", item_id, "item")["item"]
                whole = {**order, "item": item, "available": self._levels(item_id)}
                return cast(CustomerOrder, {key: whole[key] for key in CustomerOrder.__annotations__})
        raise ToolError("order_not_found", f"{customer} has not ordered anything.")

    @tool("update")
    def reserve_stock(self, order_id: CustomerOrderId, stock_id: StockId) -> Reserved:
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
        return {
            "customer": order["customer"],
            "item": self.require("items", stock["item_id"], "item")["item"],
            "quantity": order["quantity"],
            "warehouse": stock["warehouse"],
            "left": left,
        }

    @tool("update")
    def ship_customer_order(self, order_id: CustomerOrderId, carrier: Carrier) -> Shipped:
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
        arrives = working_day(self.now, days)
        item = self.require("items", order["item_id"], "item")["item"]
        shipment_id = self.new_id("shp", order_id)
        self.state.patch("orders", order_id, status="shipped")
        tracking = self._add_shipment(
            shipment_id, item, order["quantity"], order["customer"], carrier, arrives
        )
        return {
            "shipment_id": shipment_id,
            "customer": order["customer"],
            "item": item,
            "tracking": tracking,
            "cost": round(flat + each * order["quantity"], 2),
            "arrives": arrives,
        }

    @tool("read")
    def track_shipment(self, shipment_id: ShipmentId) -> Shipment:
        """Show what a shipment holds, where it goes and when it arrives.

        Args:
            shipment_id: The shipment.
        """
        return cast(Shipment, self.require("shipments", shipment_id, "shipment"))

    def _require_warehouse(self, warehouse: str) -> None:
        if self.state.get("warehouses", warehouse) is None:
            raise ToolError("warehouse_not_found", f"There is no warehouse named {warehouse}.")

    def _levels(self, item_id: str) -> list[StockLine]:
        stocks = [stock for stock in self.state.scan("stock") if stock["item_id"] == item_id]
        stocks.sort(key=lambda stock: (-stock["on_hand"], stock["stock_id"]))
        keys = StockLine.__annotations__
        return [cast(StockLine, {key: stock[key] for key in keys}) for stock in stocks]

    def _stock(self, item_id: str, warehouse: str) -> Record:
        return self.require("stock", self.new_id("stk", item_id, warehouse), "stock")

    def _take(self, stock: Record, quantity: int) -> int:
        left = cast(int, stock["on_hand"]) - quantity
        if left < 0:
            raise ToolError(
                "insufficient_stock", f"{stock['warehouse']} has {stock['on_hand']} units, not {quantity}."
            )
        self.state.patch("stock", stock["stock_id"], on_hand=left)
        return left

    def _add_shipment(
        self, shipment_id: str, item: str, quantity: int, destination: str, carrier: str, arrives: str
    ) -> str:
        if self.state.get("shipments", shipment_id):
            raise ToolError("already_sent", "The same shipment has left today.")
        tracking = document_number("TR", shipment_id)
        shipment = {
            "tracking": tracking,
            "item": item,
            "quantity": quantity,
            "destination": destination,
            "carrier": carrier,
            "arrives": arrives,
        }
        self.state.put("shipments", shipment_id, shipment)
        return tracking

    def _offer_line(self, offer: Record) -> OfferLine:
        supplier = self.require("suppliers", offer["supplier"], "supplier")
        keys = OfferLine.__annotations__
        return cast(OfferLine, {key: {**offer, **supplier}[key] for key in keys})
