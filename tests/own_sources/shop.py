import itertools

_orders = {}
_numbers = itertools.count(1001)
PRODUCTS = [
    {"sku": "LAMP-01", "name": "Desk lamp", "price": 39.0, "stock": 12},
    {"sku": "CHAIR-07", "name": "Oak chair", "price": 120.0, "stock": 4},
    {"sku": "MUG-33", "name": "Blue mug", "price": 9.5, "stock": 60},
]


def list_products():
    """All products of the shop."""
    return {"products": PRODUCTS}


def get_product(sku: str):
    """Returns the product with this SKU."""
    for product in PRODUCTS:
        if product["sku"] == sku:
            return product
    raise LookupError("unknown sku")


def create_order(sku: str, quantity: int):
    """Place an order for a product."""
    product = get_product(sku)
    order = {"order_id": f"O{next(_numbers)}", "sku": sku, "quantity": quantity, "total": product["price"] * quantity, "status": "new"}
    _orders[order["order_id"]] = order
    return order


def get_order(order_id: str):
    """Look up an order."""
    return _orders[order_id]


def cancel_order(order_id: str):
    """Cancel an order that was placed."""
    _orders[order_id]["status"] = "cancelled"
    return _orders[order_id]
