//! Rule P17: which clock decides.

use std::{
    sync::{
        Arc,
        atomic::{AtomicU32, Ordering},
    },
    time::Duration,
};

use bytes::Bytes;
use weir_core::failure::Failure;
use weir_sim::{script::Module, world::World};

use crate::common::{CALLS, Gate, TOPICS, assert_clean, bank, events, feed, setup};

const HOUR_MS: i64 = 3_600_000;

/// P17: retries and deadlines run on the monotonic clock, sends that are held back
/// until an instant on the wall clock; a jump loses nothing and doubles nothing.
///
/// Fails with: the wall clock in `times.retry`.
#[test]
fn clock_jumps_an_hour_either_way() {
    for jump in [HOUR_MS, -HOUR_MS] {
        let attempts = Arc::new(AtomicU32::new(0));
        let seen = attempts.clone();
        let module = Module::new().output("out").handler("take", move |ctx, invocation| {
            let seen = seen.clone();
            async move {
                if ctx.key == "later" {
                    ctx.send("bank", "add", "bank", invocation.value, Some(10_000));
                    return Ok(Bytes::new());
                }
                seen.fetch_max(ctx.attempt, Ordering::SeqCst);
                if ctx.attempt == 1 {
                    return Err(Failure::transient("not-yet", "try again"));
                }
                // Not answered within its deadline, which is an hour and a half.
                if let Err(failure) = ctx.start("bank", "wait", "held", "x", Some(5_400_000)).await
                {
                    ctx.emit(0, failure.code);
                }
                Ok(Bytes::new())
            }
        });
        let text = CALLS.replace("handler: take", "handler: take, retry: { first: 20s }");
        let modules = vec![("caller", Arc::new(module)), ("bank", bank(&Gate::closed()))];
        let mut world = World::new(1, setup(&text, modules, TOPICS));
        feed(&mut world, "in", &events(&["a"], 1));
        feed(&mut world, "in", &[("later", "sent".into())]);
        world.settle(Duration::from_secs(2));
        world.clock.jump(jump);
        world.settle(Duration::from_secs(2));
        assert_eq!(attempts.load(Ordering::SeqCst), 1, "a jump makes no retry due");
        let sent = world.entries("bank", "bank", "values");
        assert_eq!(sent.len(), usize::from(jump > 0), "an instant is looked up on the wall clock");
        world.settle(Duration::from_secs(30));
        assert_eq!(attempts.load(Ordering::SeqCst), 2, "and delays none");
        world.clock.jump(2 * jump);
        world.settle(Duration::from_secs(60));
        assert_eq!(world.values("out"), Vec::<String>::new(), "a jump ends no deadline");
        world.settle(Duration::from_secs(2 * 3600));
        assert_eq!(world.values("out"), ["deadline"]);
        world.clock.jump(-3 * jump);
        world.settle(Duration::from_secs(5));
        assert_eq!(world.entries("bank", "bank", "values"), ["sent"], "once, at whatever time");
        assert_clean(&world);
    }
}
