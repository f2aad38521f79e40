use std::task::Poll;

use futures::channel::oneshot;

use super::EventLoop;

#[test]
fn a_future_is_polled_for_as_long_as_it_wakes_itself() {
    let mut left = 3;
    let counts = std::future::poll_fn(|context| {
        left -= 1;
        if left == 0 {
            return Poll::Ready("done");
        }
        context.waker().wake_by_ref();
        Poll::Pending
    });
    assert_eq!(EventLoop::new().turn(counts), Some("done"));
}

#[test]
fn a_future_that_waits_is_left_alone() {
    let event_loop = EventLoop::new();
    let (sender, mut receiver) = oneshot::channel();
    assert_eq!(event_loop.turn(&mut receiver), None);
    sender.send(7).unwrap();
    assert_eq!(event_loop.turn(receiver), Some(Ok(7)));
}
