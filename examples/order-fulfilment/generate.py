#!/usr/bin/env python3
"""Writes input.jsonl and restock.jsonl, the recorded orders and deliveries.

The same arguments always give the same bytes: generate.py [ORDERS] [FOLDER]
Some SKUs and customers come far more often than others, orders name a SKU in more
than one line, some cards decline, some SKUs run out and some customers too.
"""

import json
import pathlib
import random
import sys

SKUS = 200
CUSTOMERS = 500
BEGIN_S = 1_767_261_600  # 2026-01-01T10:00:00Z
DECLINING_CARD = "4000-0000-0000-0002"


def time_text(milliseconds):
    """RFC 3339 of a time on the first day of 2026, or a later one."""
    seconds, ms = divmod(milliseconds, 1000)
    days, rest = divmod(seconds - 1_767_225_600, 86_400)
    hours, rest = divmod(rest, 3600)
    return f"2026-01-{days + 1:02}T{hours:02}:{rest // 60:02}:{rest % 60:02}.{ms:03}Z"


def skewed(rng, count):
    """An index below count; the low ones come often."""
    return int(count * rng.random() ** 2.2)


def order(rng, n, at):
    customer = skewed(rng, CUSTOMERS)
    lines = []
    for _ in range(rng.choice([1, 1, 2, 2, 2, 3, 3, 4])):
        if lines and rng.random() < 0.1:
            sku = lines[-1]["sku"]
        else:
            sku = f"sku-{skewed(rng, SKUS):04}"
        # A SKU has one price.
        price = 250 + int(sku[4:]) * 37 % 4000
        lines.append({"sku": sku, "quantity": rng.choice([1, 1, 1, 2, 2, 3, 5]), "price": price})
    declines = rng.random() < 0.03
    return {
        "order_id": f"ord-{n:05}",
        "customer_id": f"cus-{customer:04}",
        "card": DECLINING_CARD if declines else f"4111-1111-1111-{1000 + customer:04}",
        "currency": "EUR",
        "created_at": time_text(at),
        "lines": lines,
    }


def orders(rng, count):
    at = BEGIN_S * 1000
    for n in range(count):
        at += rng.randint(1, 400)
        # Now and then one is recorded a little late.
        yield order(rng, n, at - (rng.randint(0, 2000) if rng.random() < 0.05 else 0))


def restocks(rng, recorded):
    """About what the orders ask for, in a few deliveries; a little less of some."""
    asked = {f"sku-{sku:04}": 0 for sku in range(SKUS)}
    for each in recorded:
        for line in each["lines"]:
            asked[line["sku"]] += line["quantity"]
    deliveries = []
    for sku, units in asked.items():
        share = 0.8 if rng.random() < 0.2 else 1.1
        units = int(units * share) + 1
        parts = min(rng.randint(2, 4), units)
        for part in range(parts):
            deliveries.append({"sku": sku, "quantity": units // parts + (part < units % parts)})
    rng.shuffle(deliveries)
    return deliveries


def write(path, values):
    with open(path, "w", encoding="utf-8", newline="\n") as file:
        for value in values:
            file.write(json.dumps(value, separators=(",", ":")) + "\n")


def main():
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 10_000
    folder = pathlib.Path(sys.argv[2]) if len(sys.argv) > 2 else pathlib.Path(__file__).parent
    recorded = list(orders(random.Random(9347), count))
    write(folder / "input.jsonl", recorded)
    write(folder / "restock.jsonl", restocks(random.Random(7439), recorded))


if __name__ == "__main__":
    main()
