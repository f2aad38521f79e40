//! Rule P21: the audit; and rule P18: positions.

use std::time::Duration;

use weir_sim::{audit, world::World};

use crate::common::{CALLS, Gate, TOPICS, assert_clean, bank, caller, events, feed, setup};

/// P21: what is counted is counted where it happens, so a miscount shows.
///
/// Fails with: computing `taken` as the sum of the others.
#[test]
fn planted_miscount_is_seen() {
    let modules = vec![("caller", caller("add")), ("bank", bank(&Gate::closed()))];
    let mut world = World::new(1, setup(CALLS, modules, TOPICS));
    feed(&mut world, "in", &events(&["a", "b"], 6));
    world.settle(Duration::from_secs(5));
    assert_clean(&world);
    world.handle().plant_miscount(&"bank".parse().expect("a name"));
    feed(&mut world, "in", &events(&["a", "b"], 8)[6..]);
    world.settle(Duration::from_secs(5));
    let faults = audit::faults(&world);
    assert_eq!(faults.len(), 1, "{faults:?}");
    assert!(faults[0].starts_with("bank: "), "{faults:?}");
}

/// P21: the counts of edges and sources are committed with everything else, and go
/// on after a restart.
#[test]
fn counts_go_on_after_a_restart() {
    let modules = vec![("caller", caller("add")), ("bank", bank(&Gate::closed()))];
    let mut world = World::new(1, setup(CALLS, modules, TOPICS));
    feed(&mut world, "in", &events(&["a", "b"], 6));
    world.settle(Duration::from_secs(5));
    world.restart();
    world.ingest("in", "again", "a", "x");
    world.settle(Duration::from_secs(5));
    world.crash();
    assert_clean(&world);
    let plan = world.plan().clone();
    let sent: Vec<u64> = plan.edges.iter().map(|edge| audit::edge_counts(&world, edge).0).collect();
    assert_eq!(sent, vec![7; plan.edges.len()]);
}
