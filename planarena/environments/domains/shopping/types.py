"""The values and results of the shop's tools."""

from __future__ import annotations

from typing import Annotated, Literal, TypedDict

from planarena.environments.domains.types import City, Count, Credit, Date, Money, Payable, Rating, Workday
from planarena.tools.semantics import Semantic

__all__ = [
    "AddressId",
    "AddressLabel",
    "AppliedCoupon",
    "Cart",
    "CartLine",
    "Category",
    "CouponCode",
    "DeliveryAddress",
    "DeliveryNote",
    "Found",
    "Order",
    "OrderId",
    "OrderItem",
    "OrderItemId",
    "OrderLine",
    "OrderList",
    "PlacedOrder",
    "ProductDetails",
    "ProductId",
    "ProductLine",
    "Quantity",
    "Return",
    "ReturnReason",
    "Review",
    "ReviewText",
    "Stars",
    "Wish",
]

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
AddressLabel = Annotated[Literal["home", "office", "parents"], Semantic("address_label", surface="word")]
OrderStatus = Annotated[
    Literal["processing", "shipped", "delivered"], Semantic("order_status", surface="word")
]
ReturnReason = Annotated[
    Literal["damaged", "wrong_size", "not_as_described", "not_needed"],
    Semantic("return_reason", surface="word"),
]


class ProductLine(TypedDict):
    """A line of a list of products."""

    product_id: ProductId
    name: ProductName
    price: Money
    rating: Rating
    stock: Count


class Found(TypedDict):
    """Products of a category."""

    count: Count
    products: list[ProductLine]
    best_rated: ProductLine


class ProductDetails(TypedDict):
    """What the shop says of a product."""

    product_id: ProductId
    name: ProductName
    category: Category
    price: Money
    stock: Count
    delivery_days: Count
    rating: Rating
    review_count: Count
    latest_review: ReviewText
    coupon_code: CouponCode
    accessory_id: ProductId
    accessory_name: ProductName


class CartLine(TypedDict):
    """A product in the cart."""

    product_id: ProductId
    name: ProductName
    quantity: Quantity
    line_total: Money


class WishLine(TypedDict):
    """A product on the wish list."""

    product_id: ProductId
    name: ProductName
    price: Money


class Cart(TypedDict):
    """The cart and the wish list."""

    line_count: Count
    lines: list[CartLine]
    subtotal: Money
    discount: Money
    total: Payable
    wish_list: list[WishLine]


class AppliedCoupon(TypedDict):
    """A coupon in use."""

    code: CouponCode
    discount: Money
    total: Money


class DeliveryAddress(TypedDict):
    """A saved address."""

    address_id: AddressId
    label: AddressLabel
    street: Street
    city: City


class PlacedOrder(TypedDict):
    """An order that was just placed."""

    order_id: OrderId
    order_number: OrderNumber
    total: Payable
    delivery_date: Workday
    city: City


class OrderLine(TypedDict):
    """A line of the list of orders."""

    order_id: OrderId
    order_number: OrderNumber
    placed: Date
    status: OrderStatus
    total: Money


class OrderList(TypedDict):
    """All orders of the customer."""

    count: Count
    orders: list[OrderLine]


class OrderItem(TypedDict):
    """A product of an order."""

    order_item_id: OrderItemId
    product_id: ProductId
    name: ProductName
    quantity: Quantity
    price: Money
    returned: bool


class Order(TypedDict):
    """An order in full."""

    order_id: OrderId
    order_number: OrderNumber
    status: OrderStatus
    delivery_date: Date
    city: City
    total: Payable
    items: list[OrderItem]


class Return(TypedDict):
    """An accepted return."""

    name: ProductName
    order_number: OrderNumber
    refund: Credit
    send_back_by: Workday


class Review(TypedDict):
    """A published review."""

    name: ProductName
    stars: Stars
    rating: Rating
    review_count: Count


class Wish(TypedDict):
    """A product that went on the wish list."""

    product_id: ProductId
    name: ProductName
    price: Money
