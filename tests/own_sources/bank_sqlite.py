"""Accounts in SQLite."""
import sqlite3

db = sqlite3.connect(":memory:", check_same_thread=False)
db.row_factory = sqlite3.Row
db.execute("create table account (iban text primary key, owner text, balance real)")
db.executemany("insert into account values (?, ?, ?)", [("DE11", "Ivo Kern", 420.0), ("DE22", "Mia Roth", 1310.5)])


def list_accounts() -> list[dict]:
    """List the accounts."""
    return [dict(row) for row in db.execute("select iban, owner, balance from account order by iban")]


def get_balance(iban: str) -> dict:
    """Get the balance of an account."""
    row = db.execute("select iban, balance from account where iban = ?", (iban,)).fetchone()
    if row is None:
        raise KeyError("no such account")
    return dict(row)


def transfer(from_iban: str, to_iban: str, amount: float) -> dict:
    """Transfer money between two accounts."""
    if from_iban == to_iban:
        raise ValueError("the accounts are the same")
    if get_balance(from_iban)["balance"] < amount:
        raise ValueError("not enough money")
    get_balance(to_iban)
    db.execute("update account set balance = balance - ? where iban = ?", (amount, from_iban))
    db.execute("update account set balance = balance + ? where iban = ?", (amount, to_iban))
    return {"from_iban": from_iban, "to_iban": to_iban, "amount": amount}
