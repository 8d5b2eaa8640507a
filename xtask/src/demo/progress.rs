//! The training as it runs: a bar with loss and accuracy, or plain lines where there is no
//! terminal to redraw.

use std::io::{IsTerminal as _, stderr};

use indicatif::{ProgressBar, ProgressStyle};

use super::events::Epoch;

/// Shows epochs as they end.
#[derive(Debug)]
pub(super) enum Progress {
    /// Standard error is a terminal.
    Bar(ProgressBar),
    /// It is a file or a pipe: ten lines for the whole run.
    Lines,
}

impl Progress {
    /// Begins a run of `epochs` epochs.
    pub(super) fn new(epochs: usize) -> Self {
        if !stderr().is_terminal() {
            return Self::Lines;
        }
        let bar = ProgressBar::new(epochs as u64);
        // The template is a constant; a default bar is better than none if it were wrong.
        if let Ok(style) = ProgressStyle::with_template(
            "epoch {pos}/{len} {wide_bar} {elapsed} elapsed, {eta} left  {msg}",
        ) {
            bar.set_style(style);
        }
        Self::Bar(bar)
    }

    /// Shows the end of an epoch.
    #[expect(clippy::print_stderr, reason = "a program shows its progress")]
    pub(super) fn show(&self, epoch: Epoch) {
        let Epoch {
            number,
            of,
            loss,
            accuracy,
        } = epoch;
        let standing = format!("loss {loss:.4}  test accuracy {:.2} %", accuracy * 100.0);
        match self {
            Self::Bar(bar) => {
                bar.set_message(standing);
                bar.set_position(number as u64);
            }
            Self::Lines if number == of || number.is_multiple_of(of.div_ceil(10)) => {
                eprintln!("epoch {number}/{of}  {standing}");
            }
            Self::Lines => {}
        }
    }

    /// Takes the bar away, so that what follows stands on a clean line.
    pub(super) fn finish(&self) {
        if let Self::Bar(bar) = self {
            bar.finish_and_clear();
        }
    }
}
