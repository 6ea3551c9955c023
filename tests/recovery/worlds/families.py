"""The topics that producers write, and their schemas; all other schemas of a subject are some application's own."""

from __future__ import annotations

from typing import Final

FAMILIES: Final = {
    "users": (
        "User(userId long, name string)",
        "User(userId long, name string, tier string?)",
        "User(userId string, name string)",
    ),
    "orders": ("Order(orderId long, total long)", "Order(orderId long, total long, note string?)"),
    "logins": ("Login(loginId long, userId long)", "Login(loginId long, userId long, device string?)"),
    "clicks": ("Click(page string, at long)",),
    "accounts": ("Account(accountId long, tier string?)", "Account(accountId long, tier string?, owner string?)"),
    "places": ("~Place(code long, city string)", "~Place(code long, city string, zip string?)"),
    "enriched": ("Enriched(userId long, name string, tier string?, loginId long)",),
    "audits": ("Audit(userId long, name string, what string)",),
    "inventory-db-changelog": ("Item(sku string, stock long)",),
    "HITS": (
        "KsqlDataSourceSchema(URL string?, HITS long?)",
        "KsqlDataSourceSchema(URL string?, HITS long?, NOTE string?)",
    ),
}
"""Topics and the schemas of their values, oldest first. Some hold all fields of another one, and more."""

KEYS: Final = ("Key(id long)", "Key(id long, region string?)")
"""The schemas of their keys, oldest first."""

PRODUCED: Final = frozenset(mark + line for lines in FAMILIES.values() for line in lines for mark in ("", "!"))
"""The schemas of their values, in either text."""
