//! What ranks write, line by line.
//!
//! A thread per stream reads lines and sends them on. What must stay true: a
//! line is never mixed with another's, and one without an end is cut at
//! [`LINE_BYTES`] instead of being held for ever.

use std::io::{BufRead as _, BufReader, Read};
use std::sync::mpsc::Sender;

use super::ranks::Event;

/// The longest line that is held; what follows is the next line.
const LINE_BYTES: u64 = 64 << 10;

/// One of a rank's two outputs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stream {
    /// Its standard output.
    Out,
    /// Its standard error.
    Err,
}

/// A line that a rank wrote, without its end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Line {
    /// The rank; 0 for all ranks of a world of threads.
    pub rank: usize,
    /// Where it wrote.
    pub stream: Stream,
    /// What; bytes that are not UTF-8 are replaced.
    pub text: String,
}

/// Sends every line of one stream, then that it has ended.
pub(super) fn forward(rank: usize, stream: Stream, input: impl Read, events: &Sender<Event>) {
    let mut input = BufReader::new(input);
    let mut bytes = Vec::new();
    loop {
        bytes.clear();
        match input
            .by_ref()
            .take(LINE_BYTES)
            .read_until(b'\n', &mut bytes)
        {
            Ok(1..) => {}
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => continue,
            _ => break,
        }
        let line = bytes.strip_suffix(b"\n").unwrap_or(&bytes);
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        let text = String::from_utf8_lossy(line).into_owned();
        if events
            .send(Event::Line(Line { rank, stream, text }))
            .is_err()
        {
            // The launch is over; reading on keeps the writer from being stopped by a full pipe.
        }
    }
    // Err means that nobody counts streams any more.
    let _ = events.send(Event::StreamEnded);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_come_whole_and_endless_ones_in_pieces() {
        let (events, received) = std::sync::mpsc::channel();
        let long = "x".repeat(100_000);
        forward(
            3,
            Stream::Err,
            format!("one\r\n\n{long}\nlast").as_bytes(),
            &events,
        );
        drop(events);
        let texts: Vec<String> = received
            .iter()
            .filter_map(|event| {
                if let Event::Line(line) = event {
                    Some(line.text)
                } else {
                    None
                }
            })
            .collect();
        assert_eq!(texts.len(), 5);
        assert_eq!(
            (texts[0].as_str(), texts[1].as_str(), texts[4].as_str()),
            ("one", "", "last")
        );
        assert_eq!(texts[2].len() + texts[3].len(), 100_000);
    }
}
