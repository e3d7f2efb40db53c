"""An online shop: catalogue, cart, coupons, addresses, orders, returns, reviews and a wish list."""

from __future__ import annotations

from datetime import date, timedelta
from typing import cast

from planarena.environments.contract import ToolError, tool
from planarena.environments.domains.types import Money
from planarena.environments.state import Record

from .types import (
    AddressId,
    AddressLabel,
    AppliedCoupon,
    Cart,
    CartLine,
    Category,
    CouponCode,
    DeliveryAddress,
    DeliveryNote,
    Found,
    Order,
    OrderId,
    OrderItem,
    OrderItemId,
    OrderLine,
    OrderList,
    PlacedOrder,
    ProductDetails,
    ProductId,
    ProductLine,
    Quantity,
    Return,
    ReturnReason,
    Review,
    ReviewText,
    Stars,
    Wish,
)
from .world import ShoppingScenario, order_number

__all__ = ["Shopping"]

RETURN_DAYS = 30


class Shopping(ShoppingScenario):
    """One customer's view of an online shop."""

    domain = "shopping"
    summary = (
        "An online shop with catalogue, cart, coupons, addresses, orders, returns, reviews and a wish list."
    )

    @tool("read")
    def search_products(self, category: Category, max_price: Money | None = None) -> Found:
        """List the products of a category, the cheapest first, and name the best rated one.

        Args:
            category: Category of the catalogue, in the plural.
            max_price: Highest price in euros.
        """
        products = [product for product in self.state.scan("products") if product["category"] == category]
        if not products:
            raise ToolError("unknown_category", f"The shop has no category {category}.")
        found = [product for product in products if max_price is None or product["price"] <= max_price]
        if not found:
            raise ToolError("nothing_found", f"No product among the {category} is that cheap.")
        found.sort(key=lambda product: (product["price"], product["product_id"]))
        best = max(found, key=lambda product: (product["rating"], product["product_id"]))
        return {
            "count": len(found),
            "products": [_line(product) for product in found],
            "best_rated": _line(best),
        }

    @tool("read")
    def get_product_details(self, product_id: ProductId) -> ProductDetails:
        """Show price, stock, delivery time, rating, a coupon and the recommended accessory of a product.

        Args:
            product_id: The product.
        """
        product = self.require("products", product_id, "product")
        reviews = [review for review in self.state.scan("reviews") if review["product_id"] == product_id]
        latest = max(reviews, key=lambda review: (review["date"], review["review_id"]))
        accessory = self.require("products", product["accessory_id"], "product")
        return cast(
            ProductDetails,
            {**product, "latest_review": latest["text"], "accessory_name": accessory["name"]},
        )

    @tool("update")
    def add_product_to_cart(self, product_id: ProductId, quantity: Quantity | None = None) -> CartLine:
        """Put a product that is in stock into the cart.

        Args:
            product_id: The product; it must not be in the cart already.
            quantity: How many pieces; one if left out.
        """
        product = self.require("products", product_id, "product")
        pieces = quantity or 1
        if self.state.get("cart", product_id):
            raise ToolError("already_in_cart", f"The cart already holds the {product['name']}.")
        if product["stock"] < pieces:
            raise ToolError("out_of_stock", f"Only {product['stock']} of the {product['name']} are in stock.")
        self.state.put("cart", product_id, {"product_id": product_id, "quantity": pieces})
        return _cart_line(product, pieces)

    @tool("read")
    def view_shopping_cart(self) -> Cart:
        """Show what is in the cart, with discount and total, and the wish list, its cheapest product first."""
        lines, subtotal, discount = self._cart()
        wishes = [
            self.require("products", wish["product_id"], "product") for wish in self.state.scan("wishes")
        ]
        wishes.sort(key=lambda product: (product["price"], product["product_id"]))
        return {
            "line_count": len(lines),
            "lines": lines,
            "subtotal": subtotal,
            "discount": discount,
            "total": round(subtotal - discount, 2),
            "wish_list": [
                {"product_id": product["product_id"], "name": product["name"], "price": product["price"]}
                for product in wishes
            ],
        }

    @tool("update")
    def apply_shopping_coupon(self, code: CouponCode) -> AppliedCoupon:
        """Apply a coupon to the cart; a cart takes one coupon, which must fit at least one of its products.

        Args:
            code: Code of the coupon.
        """
        coupon = self.state.get("coupons", code)
        if coupon is None:
            raise ToolError("unknown_coupon", f"There is no coupon {code}.")
        if self.state.get("applied", "coupon"):
            raise ToolError("coupon_in_use", "The cart already has a coupon.")
        self.state.put("applied", "coupon", {"code": code})
        _, subtotal, discount = self._cart()
        if subtotal < coupon["minimum"]:
            raise ToolError("minimum_not_reached", f"The coupon needs a cart of {coupon['minimum']} euros.")
        if discount == 0:
            raise ToolError("not_applicable", f"The coupon fits {coupon['category']} only.")
        return {"code": code, "discount": discount, "total": round(subtotal - discount, 2)}

    @tool("read")
    def find_delivery_address(self, label: AddressLabel) -> DeliveryAddress:
        """Look up a saved delivery address.

        Args:
            label: Which of the saved addresses.
        """
        for address in self.state.scan("addresses"):
            if address["label"] == label:
                return cast(DeliveryAddress, address)
        raise ToolError("not_found", f"No address is saved as {label}.")

    @tool("create")
    def place_shop_order(self, address_id: AddressId, note: DeliveryNote | None = None) -> PlacedOrder:
        """Order everything in the cart, with its coupon, to a saved address; the cart then is empty.

        Args:
            address_id: Where to deliver.
            note: A note for the delivery.
        """
        address = self.require("addresses", address_id, "address")
        lines, subtotal, discount = self._cart()
        if not lines:
            raise ToolError("cart_empty", "There is nothing in the cart.")
        order_id = self.new_id(
            "ord", address_id, note, [[line["product_id"], line["quantity"]] for line in lines]
        )
        days, items = 0, []
        for line in lines:
            product = self.require("products", line["product_id"], "product")
            if product["stock"] < line["quantity"]:
                raise ToolError(
                    "out_of_stock", f"Only {product['stock']} of the {product['name']} are in stock."
                )
            self.state.patch("products", line["product_id"], stock=product["stock"] - line["quantity"])
            self.state.delete("cart", line["product_id"])
            days = max(days, product["delivery_days"])
            items.append(
                {
                    "order_item_id": self.new_id("itm", order_id, line["product_id"]),
                    "product_id": line["product_id"],
                    "name": line["name"],
                    "quantity": line["quantity"],
                    "price": product["price"],
                    "returned": False,
                }
            )
        if self.state.get("applied", "coupon"):
            self.state.delete("applied", "coupon")
        order = {
            "order_id": order_id,
            "order_number": order_number(order_id),
            "placed": self.now[:10],
            "status": "processing",
            "delivery_date": self._day_after(days),
            "city": address["city"],
            "total": round(subtotal - discount, 2),
            "items": items,
        }
        self.state.put("orders", order_id, order)
        return cast(PlacedOrder, {key: order[key] for key in PlacedOrder.__annotations__})

    @tool("read")
    def list_shop_orders(self) -> OrderList:
        """List the customer's orders, most recent first."""
        orders = sorted(
            self.state.scan("orders"), key=lambda order: (order["placed"], order["order_id"]), reverse=True
        )
        keys = OrderLine.__annotations__
        lines = [cast(OrderLine, {key: order[key] for key in keys}) for order in orders[:10]]
        return {"count": len(orders), "orders": lines}

    @tool("read")
    def get_shop_order(self, order_id: OrderId) -> Order:
        """Show status, delivery date and items of an order, the most expensive item first.

        Args:
            order_id: The order.
        """
        order = self.require("orders", order_id, "order")
        items = sorted(order["items"], key=lambda item: (-item["price"], item["order_item_id"]))
        lines = [{key: item[key] for key in OrderItem.__annotations__} for item in items]
        return cast(Order, {**{key: order[key] for key in Order.__annotations__}, "items": lines})

    @tool("update")
    def return_purchased_item(self, order_item_id: OrderItemId, reason: ReturnReason) -> Return:
        """Send an item of an order back; it must have been delivered at most 30 days ago.

        Args:
            order_item_id: The item of the order.
            reason: Why it goes back.
        """
        order, item = self._item(order_item_id)
        if item["returned"]:
            raise ToolError("already_returned", f"The {item['name']} already goes back.")
        if order["status"] != "delivered":
            raise ToolError("not_delivered", "Only delivered items can be returned.")
        if order["delivery_date"] < self._day_after(-RETURN_DAYS):
            raise ToolError("too_late", "The item was delivered more than 30 days ago.")
        items = [
            {**other, "returned": True, "reason": reason}
            if other["order_item_id"] == order_item_id
            else other
            for other in order["items"]
        ]
        self.state.patch("orders", order["order_id"], items=items)
        return {
            "name": item["name"],
            "order_number": order["order_number"],
            "refund": round(item["price"] * item["quantity"], 2),
            "send_back_by": self._day_after(14),
        }

    @tool("create")
    def write_product_review(self, order_item_id: OrderItemId, stars: Stars, text: ReviewText) -> Review:
        """Publish a review of a product that was ordered and has been delivered; one per product.

        Args:
            order_item_id: The item of the order.
            stars: One to five stars.
            text: What the customer has to say.
        """
        order, item = self._item(order_item_id)
        if order["status"] != "delivered":
            raise ToolError("not_delivered", "Only delivered items can be reviewed.")
        product_id, author = item["product_id"], self.facts["user_name"]
        review_id = self.new_id("rev", product_id, author)
        if self.state.get("reviews", review_id):
            raise ToolError("already_reviewed", f"{author} has already reviewed the {item['name']}.")
        review = {
            "review_id": review_id,
            "product_id": product_id,
            "author": author,
            "stars": stars,
            "text": text,
            "date": self.now[:10],
        }
        self.state.put("reviews", review_id, review)
        product = self.require("products", product_id, "product")
        count = product["review_count"]
        rating = round((product["rating"] * count + stars) / (count + 1), 2)
        self.state.patch("products", product_id, rating=rating, review_count=count + 1)
        return {"name": item["name"], "stars": stars, "rating": rating, "review_count": count + 1}

    @tool("update")
    def add_to_wish_list(self, product_id: ProductId) -> Wish:
        """Put a product on the wish list.

        Args:
            product_id: The product.
        """
        product = self.require("products", product_id, "product")
        if self.state.get("wishes", product_id):
            raise ToolError("already_on_list", f"The {product['name']} already is on the wish list.")
        self.state.put("wishes", product_id, {"product_id": product_id})
        return {"product_id": product_id, "name": product["name"], "price": product["price"]}

    def _cart(self) -> tuple[list[CartLine], float, float]:
        """Return the lines by name, the subtotal and the discount of the coupon in use."""
        entries = list(self.state.scan("cart"))
        products = [self.require("products", entry["product_id"], "product") for entry in entries]
        lines = [
            _cart_line(product, entry["quantity"]) for product, entry in zip(products, entries, strict=True)
        ]
        discount = 0.0
        applied = self.state.get("applied", "coupon")
        if applied is not None:
            coupon = self.require("coupons", applied["code"], "coupon")
            discount = sum(
                line["line_total"] * coupon["percent"] / 100
                for product, line in zip(products, lines, strict=True)
                if coupon["category"] in ("", product["category"])
            )
        lines.sort(key=lambda line: (line["name"], line["product_id"]))
        return lines, round(sum(line["line_total"] for line in lines), 2), round(discount, 2)

    def _item(self, order_item_id: str) -> tuple[Record, Record]:
        for order in self.state.scan("orders"):
            for item in order["items"]:
                if item["order_item_id"] == order_item_id:
                    return order, item
        raise ToolError("not_found", f"There is no ordered item with id {order_item_id}.")

    def _day_after(self, days: int) -> str:
        return (date.fromisoformat(self.now[:10]) + timedelta(days=days)).isoformat()


def _line(product: Record) -> ProductLine:
    return cast(ProductLine, {key: product[key] for key in ProductLine.__annotations__})


def _cart_line(product: Record, quantity: int) -> CartLine:
    total = round(product["price"] * quantity, 2)
    return {
        "product_id": product["product_id"],
        "name": product["name"],
        "quantity": quantity,
        "line_total": total,
    }
