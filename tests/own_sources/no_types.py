# functions without any types
stock = {"flour": 5, "sugar": 2, "rice": 9}


def check_stock(item):
    "How much of an item is left"
    if item not in stock:
        raise KeyError("items are: " + ", ".join(stock))
    return {"item": item, "left": stock[item]}


def list_items():
    return sorted(stock)


def restock(item, amount=1):
    stock[item] = stock.get(item, 0) + amount
    return {"item": item, "left": stock[item]}
