//! Progress of long work, on a terminal only.

use std::time::Duration;

use indicatif::{ProgressBar, ProgressStyle};

/// Work of a known length in bytes.
pub(super) fn bytes(what: &str, length: u64) -> ProgressBar {
    let style = ProgressStyle::with_template("{msg} {wide_bar} {bytes}/{total_bytes}")
        .unwrap_or_else(|_| ProgressStyle::default_bar());
    ProgressBar::new(length).with_style(style).with_message(what.to_owned())
}

/// Work of unknown length.
pub(super) fn spinner(what: &str) -> ProgressBar {
    let bar = ProgressBar::new_spinner().with_message(what.to_owned());
    bar.enable_steady_tick(Duration::from_millis(120));
    bar
}
