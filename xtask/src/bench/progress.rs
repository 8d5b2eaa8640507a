//! The benchmarks as they run: a bar with the time left, or plain lines where there is no terminal
//! to redraw.

use std::io::{IsTerminal as _, stderr};

use indicatif::{ProgressBar, ProgressStyle};

use super::report::Event;

/// Steps between two plain lines.
const STEPS_PER_LINE: usize = 20;

/// Shows the steps of a suite as they begin.
#[derive(Debug, Default)]
pub(super) struct Progress {
    bar: Option<ProgressBar>,
    begun: usize,
    planned: usize,
}

impl Progress {
    /// Shows what a suite says.
    #[expect(clippy::print_stderr, reason = "a program shows its progress")]
    pub(super) fn show(&mut self, event: &Event) {
        match event {
            Event::Warning(warning) => eprintln!("warning: {warning}"),
            Event::Plan(steps) => {
                self.planned = *steps;
                self.bar = stderr().is_terminal().then(|| bar(*steps));
            }
            Event::Step(name) => {
                if let Some(bar) = &self.bar {
                    bar.set_position(self.begun as u64);
                    bar.set_message(name.clone());
                } else if self.begun.is_multiple_of(STEPS_PER_LINE) {
                    eprintln!("step {}/{}  {name}", self.begun + 1, self.planned);
                }
                self.begun += 1;
            }
            Event::Done(_) => {}
        }
    }

    /// Takes the bar away, so that what follows stands on a clean line.
    pub(super) fn finish(&self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
}

fn bar(steps: usize) -> ProgressBar {
    let bar = ProgressBar::new(steps as u64);
    // The template is a constant; a default bar is better than none if it were wrong.
    if let Ok(style) =
        ProgressStyle::with_template("{pos}/{len} {wide_bar} {elapsed} elapsed, {eta} left  {msg}")
    {
        bar.set_style(style);
    }
    bar
}
