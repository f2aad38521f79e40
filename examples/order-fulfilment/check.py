#!/usr/bin/env python3
"""Proves that order-fulfilment lost nothing and doubled nothing.

Order of arrival decides which orders are confirmed, so there is no file of expected
outputs. Whatever the outcome, this must hold once the pipeline is at rest:

 1. Of every SKU: stock + reserved + shipped = received, and received is what the
    topic `restock` brought; nothing stays reserved, and what shipped is what was
    confirmed and not released.
 2. Of every customer: authorized - refunded = the value of the lines that were
    confirmed and not released.
 3. Every order ends once: as rejected, or as confirmed and after that perhaps as
    cancelled; and each confirmed line is in one shipment.

It reads topics and state over HTTP and needs only Python's standard library.

    check.py [--url http://127.0.0.1:9347] [--wait 60] [--no-calls]

Exit code 0: all of it holds; 1: it does not, and the output says where; 2: the server
could not be asked.
"""

import argparse
import collections
import json
import sys
import time
import urllib.error
import urllib.parse
import urllib.request

PROBLEMS_SHOWN = 20


class Weir:
    """A client of the API."""

    def __init__(self, url, pipeline):
        self.url = url.rstrip("/")
        self.pipeline = pipeline

    def get(self, path, **query):
        query = urllib.parse.urlencode({k: v for k, v in query.items() if v is not None})
        with urllib.request.urlopen(f"{self.url}/v1{path}?{query}", timeout=60) as answer:
            return json.load(answer)

    def pages(self, path, member):
        after = None
        while True:
            page = self.get(path, limit=1000, after=after)
            yield from page[member]
            after = page.get("next")
            if after is None or not page[member]:
                return

    def topic(self, name):
        """The values of a topic, by partition and offset."""
        return [record["value"] for record in self.pages(f"/topics/{name}/records", "records")]

    def state(self, operator):
        """The cells of every key of an operator."""
        path = f"/pipelines/{self.pipeline}/operators/{operator}/state"
        return {key["key"]: key["cells"] for key in self.pages(path, "keys")}

    def audit(self):
        return self.get(f"/pipelines/{self.pipeline}/audit")


def value(lines):
    return sum(line["quantity"] * line["price"] for line in lines)


class Snapshot:
    """Everything that is compared, and what is wrong with it."""

    def __init__(self, weir):
        before = weir.audit()
        self.orders = weir.topic("orders")
        self.restock = weir.topic("restock")
        self.confirmed = weir.topic("confirmed")
        self.rejected = weir.topic("rejected")
        self.cancelled = weir.topic("cancelled")
        self.shipments = weir.topic("shipments")
        self.inventory = weir.state("inventory")
        self.payment = weir.state("payment")
        self.order = weir.state("order")
        self.audit = weir.audit()
        counts = lambda audit: [audit[part] for part in ("operators", "edges", "sources")]
        self.moved = counts(before) != counts(self.audit)
        # A line that was confirmed and not released: sold.
        released = {c["order_id"]: set(c["released"]) for c in self.cancelled}
        self.sold = collections.defaultdict(list)
        for order in self.confirmed:
            gone = released.get(order["order_id"], set())
            lines = [line for i, line in enumerate(order["lines"]) if i not in gone]
            self.sold[order["customer_id"]] += lines

    def problems(self, check_inputs):
        if self.moved:
            yield "the pipeline is not at rest: figures changed while they were read"
        yield from self.accounts()
        yield from self.stock()
        yield from self.money()
        yield from self.ends(check_inputs)
        yield from self.shipped()

    def accounts(self):
        if not self.audit["balanced"]:
            yield f"the audit is not balanced: {json.dumps(self.audit)}"
        for operator in self.audit["operators"]:
            for column in ("waiting", "dead_lettered"):
                if operator[column]:
                    yield f"operator {operator['id']}: {operator[column]} {column.replace('_', ' ')}"

    def stock(self):
        received = collections.Counter()
        for delivery in self.restock:
            received[delivery["sku"]] += delivery["quantity"]
        sold = collections.Counter()
        for line in (line for lines in self.sold.values() for line in lines):
            sold[line["sku"]] += line["quantity"]
        for sku in sorted(self.inventory.keys() | received.keys() | sold.keys()):
            cells = self.inventory.get(sku, {})
            names = ("received", "stock", "reserved", "shipped")
            has = {name: cells.get(name, 0) for name in names}
            if min(has.values()) < 0:
                yield f"{sku}: a figure is below zero: {has}"
            if has["stock"] + has["reserved"] + has["shipped"] != has["received"]:
                yield f"{sku}: stock + reserved + shipped is not received: {has}"
            if has["received"] != received[sku]:
                yield f"{sku}: received {has['received']}, the topic brought {received[sku]}"
            if has["reserved"]:
                yield f"{sku}: {has['reserved']} units are still reserved"
            if has["reserved"] + has["shipped"] != sold[sku]:
                yield f"{sku}: {sold[sku]} units were confirmed and not released, but {has}"

    def money(self):
        for customer in sorted(self.payment.keys() | self.sold.keys()):
            cells = self.payment.get(customer, {})
            authorized, refunded = cells.get("authorized", 0), cells.get("refunded", 0)
            sold = value(self.sold[customer])
            if authorized - refunded != sold:
                yield (
                    f"{customer}: authorized {authorized} - refunded {refunded} is not {sold}, "
                    "the value of the lines confirmed and not released"
                )

    def ends(self, check_inputs):
        ends = collections.defaultdict(list)
        for status in ("confirmed", "rejected", "cancelled"):
            for outcome in getattr(self, status):
                ends[outcome["order_id"]].append(status)
        taken = {order["order_id"] for order in self.orders}
        legal = (["confirmed"], ["rejected"], ["confirmed", "cancelled"])
        for order in sorted(taken | ends.keys()):
            if ends[order] not in legal:
                yield f"{order} ended as {' and '.join(ends[order]) or 'nothing'}"
                continue
            if check_inputs and order not in taken:
                yield f"{order} has an outcome but is not in the topic of orders"
            kept = self.order.get(order, {}).get("outcome", {}).get("status")
            if kept != ends[order][-1]:
                yield f"{order} ended as {ends[order][-1]}, but its state says {kept}"

    def shipped(self):
        as_text = lambda line: json.dumps(line, sort_keys=True)
        shipped, warehouses = collections.defaultdict(list), collections.Counter()
        for shipment in self.shipments:
            shipped[shipment["order_id"]] += map(as_text, shipment["lines"])
            warehouses[shipment["order_id"], shipment["warehouse"]] += 1
        for (order, warehouse), count in warehouses.items():
            if count > 1:
                yield f"{order} has {count} shipments from {warehouse}"
        confirmed = {order["order_id"]: list(map(as_text, order["lines"])) for order in self.confirmed}
        for order in sorted(shipped.keys() | confirmed.keys()):
            if sorted(shipped[order]) != sorted(confirmed.get(order, [])):
                yield f"{order}: its shipments are not its confirmed lines"

    def summary(self):
        late = sum(cells.get("late", 0) for cells in self.inventory.values())
        return (
            f"{len(self.orders)} orders: {len(self.confirmed)} confirmed, of these "
            f"{len(self.cancelled)} cancelled, {len(self.rejected)} rejected; "
            f"{len(self.shipments)} shipments; {len(self.inventory)} SKUs, "
            f"{len(self.payment)} customers, {late} late shipments that changed nothing"
        )


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--url", default="http://127.0.0.1:9347")
    parser.add_argument("--pipeline", default="order-fulfilment")
    parser.add_argument("--wait", type=float, default=0, metavar="SECONDS", help="how long it may take to come to rest")
    parser.add_argument("--no-calls", action="store_true", help="every order came by the topic, none by a call of `place`")
    args = parser.parse_args()
    weir = Weir(args.url, args.pipeline)
    deadline = time.monotonic() + args.wait
    while True:
        try:
            snapshot = Snapshot(weir)
        except (OSError, KeyError, ValueError) as error:
            snapshot, problems = None, [f"the server could not be asked: {error!r}"]
        else:
            problems = list(snapshot.problems(args.no_calls))
        if not problems or time.monotonic() > deadline:
            break
        time.sleep(0.5)
    if snapshot:
        print(snapshot.summary())
    for problem in problems[:PROBLEMS_SHOWN]:
        print(f"- {problem}")
    if len(problems) > PROBLEMS_SHOWN:
        print(f"- and {len(problems) - PROBLEMS_SHOWN} more")
    print("check: all invariants hold" if not problems else f"check: {len(problems)} problems")
    sys.exit(0 if not problems else 1 if snapshot else 2)


if __name__ == "__main__":
    main()
