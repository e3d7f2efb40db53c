"""An online shop: catalogue, cart, coupons, addresses, orders, returns, reviews and a wish list."""

from __future__ import annotations

from random import Random
from typing import Annotated, Literal

from planarena.environments.contract import Environment, Seed, ToolError, tool
from planarena.environments.domains.shared import Shared, day_after
from planarena.environments.domains.types import City, Count, Credit, Date, Money, Payable, Rating, Workday
from planarena.environments.shapes import Fields, Result, ordered
from planarena.environments.state import Record
from planarena.tools.semantics import Semantic

from .world import PROPOSALS, AddressName, Reason, make_shop, new_item, new_review, order_number

__all__ = ["Shopping"]

RETURN_DAYS = 30

ProductId = Annotated[str, Semantic("product_id", hidden=True)]
AddressId = Annotated[str, Semantic("delivery_address_id", hidden=True)]
OrderId = Annotated[str, Semantic("shop_order_id", hidden=True)]
OrderItemId = Annotated[str, Semantic("shop_order_item_id", hidden=True)]
OrderNumber = Annotated[str, Semantic("shop_order_number")]
ProductName = Annotated[str, Semantic("product_name", surface="name")]
Category = Annotated[str, Semantic("product_category", surface="name")]
CouponCode = Annotated[str, Semantic("coupon_code", surface="name")]
ReviewText = Annotated[str, Semantic("review_text", surface="name")]
DeliveryNote = Annotated[str, Semantic("delivery_note", surface="name")]
Street = Annotated[str, Semantic("street", surface="name")]
Quantity = Annotated[int, Semantic("quantity", surface="number", minimum=1)]
Stars = Annotated[int, Semantic("stars", surface="number", minimum=1, maximum=5)]
AddressLabel = Annotated[AddressName, Semantic("address_label", surface="word")]
Status = Annotated[Literal["processing", "shipped", "delivered"], Semantic("order_status", surface="word")]
ReturnReason = Annotated[Reason, Semantic("return_reason", surface="word")]

record = Fields(
    product_id=ProductId, name=ProductName, price=Money, rating=Rating, stock=Count, count=Count,
    category=Category, delivery_days=Count, review_count=Count, latest_review=ReviewText,
    coupon_code=CouponCode, accessory_id=ProductId, accessory_name=ProductName, quantity=Quantity,
    line_total=Money, line_count=Count, subtotal=Money, discount=Money, total=Payable, code=CouponCode,
    address_id=AddressId, label=AddressLabel, street=Street, city=City, order_id=OrderId,
    order_number=OrderNumber, delivery_date=Date, placed=Date, status=Status,
    order_item_id=OrderItemId, returned=bool, refund=Credit, send_back_by=Workday, stars=Stars,
)  # fmt: skip
PRODUCT = record(
    "product_id name category price stock delivery_days rating review_count latest_review coupon_code"
    " accessory_id accessory_name"
)
PRODUCT_LINE = record("product_id name price rating stock")
CART_LINE = record("product_id name quantity line_total")
WISH = record("product_id name price")
CART = record("line_count lines subtotal discount total wish_list", lines=[CART_LINE], wish_list=[WISH])
ORDER = record("order_id order_number placed status total", total=Money)
ITEM = record("order_item_id product_id name quantity price returned")


class Shopping(Environment):
    """One customer's view of an online shop."""

    domain = "shopping"
    summary = (
        "An online shop with catalogue, cart, coupons, addresses, orders, returns, reviews and a wish list."
    )
    proposals = PROPOSALS

    @classmethod
    def seed(cls, rng: Random, shared: Shared | None = None) -> Seed:
        """Make a shop and a customer."""
        return make_shop(cls.seeds(), rng, shared)

    @tool("read", gives=record("count products best_rated", products=[PRODUCT_LINE], best_rated=PRODUCT_LINE))
    def search_products(self, category: Category, max_price: Money | None = None) -> Result:
        """List the products of a category, the cheapest first, and name the best rated one.

        Args:
            category: Category of the catalogue, in the plural.
            max_price: Highest price in euros.
        """
        products = self.rows("products", category=category)
        if not products:
            raise ToolError("unknown_category", f"The shop has no category {category}.")
        found = [product for product in products if max_price is None or product["price"] <= max_price]
        if not found:
            raise ToolError("nothing_found", f"No product among the {category} is that cheap.")
        best = max(found, key=lambda product: (product["rating"], product["product_id"]))
        return {"count": len(found), "products": ordered(found, "price", "product_id"), "best_rated": best}

    @tool("read", gives=PRODUCT)
    def open_product(self, product_id: ProductId) -> Result:
        """Show price, stock, delivery time, rating, a coupon and the recommended accessory of a product.

        Args:
            product_id: The product.
        """
        product = self.require("products", product_id, "product")
        reviews = self.rows("reviews", product_id=product_id)
        latest = max(reviews, key=lambda review: (review["date"], review["review_id"]))
        accessory = self.require("products", product["accessory_id"], "product")
        return {**product, "latest_review": latest["text"], "accessory_name": accessory["name"]}

    @tool("update", gives=CART_LINE)
    def add_product_to_cart(self, product_id: ProductId, quantity: Quantity | None = None) -> Result:
        """Put a product that is in stock into the cart.

        Args:
            product_id: The product; it must not be in the cart already.
            quantity: How many pieces; one if left out.
        """
        product, pieces = self.require("products", product_id, "product"), quantity or 1
        if self.state.get("cart", product_id):
            raise ToolError("already_in_cart", f"The cart already holds the {product['name']}.")
        _refuse_more_than_stock(product, pieces)
        self.state.put("cart", product_id, {"product_id": product_id, "quantity": pieces})
        return _cart_line(product, pieces)

    @tool("read", gives=CART)
    def view_shopping_cart(self) -> Result:
        """Show what is in the cart, with discount and total, and the wish list, its cheapest product first."""
        cart = self._cart()
        wishes = [self.require("products", wish["product_id"], "product") for wish in self.rows("wishes")]
        return {**cart, "line_count": len(cart["lines"]), "wish_list": ordered(wishes, "price", "product_id")}

    @tool("update", gives=record("code discount total", total=Money))
    def apply_shopping_coupon(self, code: CouponCode) -> Result:
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
        cart = self._cart()
        if cart["subtotal"] < coupon["minimum"]:
            raise ToolError("minimum_not_reached", f"The coupon needs a cart of {coupon['minimum']} euros.")
        if cart["discount"] == 0:
            raise ToolError("not_applicable", f"The coupon fits {coupon['category']} only.")
        return {**cart, "code": code}

    @tool("read", gives=record("address_id label street city"))
    def find_delivery_address(self, label: AddressLabel) -> Result:
        """Look up a saved delivery address.

        Args:
            label: Which of the saved addresses.
        """
        for address in self.rows("addresses", label=label):
            return address
        raise ToolError("not_found", f"No address is saved as {label}.")

    @tool("create", gives=record("order_id order_number total delivery_date city", delivery_date=Workday))
    def place_shop_order(self, address_id: AddressId, note: DeliveryNote | None = None) -> Result:
        """Order everything in the cart, with its coupon, to a saved address; the cart then is empty.

        Args:
            address_id: Where to deliver.
            note: A note for the delivery.
        """
        address = self.require("addresses", address_id, "address")
        cart = self._cart()
        if not cart["lines"]:
            raise ToolError("cart_empty", "There is nothing in the cart.")
        content = [[line["product_id"], line["quantity"]] for line in cart["lines"]]
        order_id = self.new_id("ord", address_id, note, content)
        days, items = 0, []
        for product_id, quantity in content:
            product = self.require("products", product_id, "product")
            _refuse_more_than_stock(product, quantity)
            self.state.patch("products", product_id, stock=product["stock"] - quantity)
            self.state.delete("cart", product_id)
            days = max(days, product["delivery_days"])
            items.append(new_item(order_id, product, quantity))
        if self.state.get("applied", "coupon"):
            self.state.delete("applied", "coupon")
        order = {
            "order_id": order_id, "order_number": order_number(order_id), "placed": self.today,
            "status": "processing", "delivery_date": day_after(self.now, days), "city": address["city"],
            "total": cart["total"], "items": items,
        }  # fmt: skip
        return self.state.put("orders", order_id, order)

    @tool("read", gives=record("count orders", orders=[ORDER]))
    def list_shop_orders(self) -> Result:
        """List the customer's orders, most recent first."""
        orders = ordered(self.rows("orders"), "placed", "order_id", last_first=True)
        return {"count": len(orders), "orders": orders[:10]}

    @tool("read", gives=record("order_id order_number status delivery_date city total items", items=[ITEM]))
    def get_shop_order(self, order_id: OrderId) -> Result:
        """Show status, delivery date and items of an order, the most expensive item first.

        Args:
            order_id: The order.
        """
        order = self.require("orders", order_id, "order")
        items = sorted(order["items"], key=lambda item: (-item["price"], item["order_item_id"]))
        return {**order, "items": items}

    @tool("update", gives=record("name order_number refund send_back_by"))
    def return_purchased_item(self, order_item_id: OrderItemId, reason: ReturnReason) -> Result:
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
        if order["delivery_date"] < day_after(self.now, -RETURN_DAYS):
            raise ToolError("too_late", "The item was delivered more than 30 days ago.")
        gone = {**item, "returned": True, "reason": reason}
        items = [gone if other is item else other for other in order["items"]]
        self.state.patch("orders", order["order_id"], items=items)
        refund = round(item["price"] * item["quantity"], 2)
        return {**order, "name": item["name"], "refund": refund, "send_back_by": day_after(self.now, 14)}

    @tool("create", gives=record("name stars rating review_count"))
    def write_product_review(self, order_item_id: OrderItemId, stars: Stars, text: ReviewText) -> Result:
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
        review = new_review(product_id, author, stars, text, self.today)
        if self.state.get("reviews", review["review_id"]):
            raise ToolError("already_reviewed", f"{author} has already reviewed the {item['name']}.")
        self.state.put("reviews", review["review_id"], review)
        product = self.require("products", product_id, "product")
        count = product["review_count"]
        rating = round((product["rating"] * count + stars) / (count + 1), 2)
        reviewed = self.state.patch("products", product_id, rating=rating, review_count=count + 1)
        return {**reviewed, "name": item["name"], "stars": stars}

    @tool("update", gives=record("product_id name price"))
    def add_to_wish_list(self, product_id: ProductId) -> Result:
        """Put a product on the wish list.

        Args:
            product_id: The product.
        """
        product = self.require("products", product_id, "product")
        if self.state.get("wishes", product_id):
            raise ToolError("already_on_list", f"The {product['name']} already is on the wish list.")
        self.state.put("wishes", product_id, {"product_id": product_id})
        return product

    def _cart(self) -> Record:
        """Return the lines by name, their subtotal, the discount of the coupon in use, and the total."""
        lines = [
            _cart_line(self.require("products", entry["product_id"], "product"), entry["quantity"])
            for entry in self.rows("cart")
        ]
        discount = 0.0
        applied = self.state.get("applied", "coupon")
        if applied is not None:
            coupon = self.require("coupons", applied["code"], "coupon")
            fitting = [line for line in lines if coupon["category"] in ("", line["category"])]
            discount = round(sum(line["line_total"] * coupon["percent"] / 100 for line in fitting), 2)
        lines = ordered(lines, "name", "product_id")
        subtotal = round(sum(line["line_total"] for line in lines), 2)
        total = round(subtotal - discount, 2)
        return {"lines": lines, "subtotal": subtotal, "discount": discount, "total": total}

    def _item(self, order_item_id: str) -> tuple[Record, Record]:
        for order in self.state.scan("orders"):
            for item in order["items"]:
                if item["order_item_id"] == order_item_id:
                    return order, item
        raise ToolError("not_found", f"There is no ordered item with id {order_item_id}.")


def _cart_line(product: Record, quantity: int) -> Record:
    return {**product, "quantity": quantity, "line_total": round(product["price"] * quantity, 2)}


def _refuse_more_than_stock(product: Record, pieces: int) -> None:
    if product["stock"] < pieces:
        raise ToolError("out_of_stock", f"Only {product['stock']} of the {product['name']} are in stock.")
