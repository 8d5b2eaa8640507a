//! What rank 0 says: JSON lines for a program, plain lines for a person.

use crate::events::{Done, Epoch, Event};

/// How rank 0 speaks.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Report {
    json: bool,
}

impl Report {
    /// Speaks JSON lines, or text.
    pub(crate) fn new(json: bool) -> Self {
        Self { json }
    }

    /// Says that an epoch ended.
    ///
    /// # Errors
    ///
    /// None in practice: an event is always valid JSON.
    #[expect(clippy::print_stdout, reason = "a program reports to its user")]
    pub(crate) fn epoch(self, epoch: Epoch) -> serde_json::Result<()> {
        if self.json {
            println!("{}", serde_json::to_string(&Event::Epoch(epoch))?);
        } else {
            let Epoch {
                number,
                of,
                loss,
                accuracy,
            } = epoch;
            println!(
                "epoch {number}/{of}  loss {loss:.4}  test accuracy {:.2} %",
                accuracy * 100.0
            );
        }
        Ok(())
    }

    /// Says what the training came to.
    ///
    /// # Errors
    ///
    /// None in practice: an event is always valid JSON.
    #[expect(clippy::print_stdout, reason = "a program reports to its user")]
    pub(crate) fn done(self, done: Done) -> serde_json::Result<()> {
        if self.json {
            println!("{}", serde_json::to_string(&Event::Done(done))?);
            return Ok(());
        }
        println!(
            "{} images in {:.2} s, weights {}",
            done.images, done.seconds, done.weights
        );
        for pool in &done.pools {
            println!("\n{}\n{}", pool.name, pool.total);
        }
        Ok(())
    }
}
