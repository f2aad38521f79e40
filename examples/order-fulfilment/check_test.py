#!/usr/bin/env python3
"""A checker that finds nothing proves nothing: each kind of damage must be found."""

import copy
import unittest

import check


def line(sku, quantity):
    return {"sku": sku, "quantity": quantity, "price": 10}


def order(order_id):
    lines = [line("a", 2), line("b", 1)]
    return {"order_id": order_id, "customer_id": "c", "amount": 30, "lines": lines}


def outcome(status):
    return {"outcome": {"status": status}}


# Order 1 is confirmed, 2 is cancelled but for its first line, 3 is rejected.
GOOD = {
    "orders": [order("1"), order("2"), order("3")],
    "restock": [{"sku": "a", "quantity": 5}, {"sku": "b", "quantity": 3}, {"sku": "a", "quantity": 1}],
    "confirmed": [order("1"), order("2")],
    "rejected": [{"order_id": "3", "customer_id": "c", "reason": "out-of-stock"}],
    "cancelled": [{"order_id": "2", "customer_id": "c", "released": [1], "refunded": 10}],
    "shipments": [
        {"order_id": "1", "warehouse": "x", "lines": [line("a", 2)]},
        {"order_id": "1", "warehouse": "y", "lines": [line("b", 1)]},
        {"order_id": "2", "warehouse": "x", "lines": [line("a", 2), line("b", 1)]},
    ],
    "inventory": {
        "a": {"received": 6, "stock": 2, "reserved": 0, "shipped": 4},
        "b": {"received": 3, "stock": 2, "reserved": 0, "shipped": 1, "late": 1},
    },
    "payment": {"c": {"credit": 950, "authorized": 60, "refunded": 10}},
    "order": {"1": outcome("confirmed"), "2": outcome("cancelled"), "3": outcome("rejected")},
    "audit": {
        "balanced": True,
        "operators": [{"id": "order", "waiting": 0, "dead_lettered": 0}],
        "edges": [],
        "sources": [],
    },
}


class Fake:
    def __init__(self, world):
        self.topic = self.state = world.__getitem__
        self.audit = lambda: world["audit"]


def problems(change=lambda world: None):
    world = copy.deepcopy(GOOD)
    change(world)
    return list(check.Snapshot(Fake(world)).problems(check_inputs=True))


class Check(unittest.TestCase):
    def test_what_adds_up_is_accepted(self):
        self.assertEqual(problems(), [])

    def test_every_damage_is_found(self):
        damages = {
            "a unit lost": lambda w: w["inventory"]["a"].update(stock=1),
            "a unit doubled": lambda w: w["inventory"]["a"].update(shipped=5, stock=1),
            "a delivery doubled": lambda w: w["inventory"]["a"].update(received=7, stock=3),
            "a unit kept": lambda w: w["inventory"]["a"].update(reserved=1, stock=1),
            "a cent lost": lambda w: w["payment"]["c"].update(authorized=59),
            "a refund doubled": lambda w: w["payment"]["c"].update(refunded=20),
            "a customer lost": lambda w: w["payment"].clear(),
            "an order without an end": lambda w: w["rejected"].clear(),
            "an order that ends twice": lambda w: w["rejected"].append({"order_id": "1"}),
            "an outcome given twice": lambda w: w["confirmed"].append(order("1")),
            "cancelled without being confirmed": lambda w: w["cancelled"].append({"order_id": "3", "released": []}),
            "an order that nobody sent": lambda w: w["orders"].pop(),
            "state without its output": lambda w: w["order"].update({"1": outcome("rejected")}),
            "a shipment lost": lambda w: w["shipments"].pop(0),
            "a shipment doubled": lambda w: w["shipments"].append(w["shipments"][0]),
            "an account that is not balanced": lambda w: w["audit"].update(balanced=False),
            "a dead letter": lambda w: w["audit"]["operators"][0].update(dead_lettered=1),
            "work in progress": lambda w: w["audit"]["operators"][0].update(waiting=1),
        }
        for name, change in damages.items():
            with self.subTest(name):
                self.assertNotEqual(problems(change), [])


if __name__ == "__main__":
    unittest.main()
