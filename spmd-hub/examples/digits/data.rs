//! The digits, split into training and test images and dealt to the ranks.
//!
//! A row is one image as the network sees it: 64 pixels scaled to 0..=1, then the digit. Rows are
//! plain `f32`s, so that a rank's shard is one message.

use std::fs::File;
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};

use flate2::read::GzDecoder;

/// Pixels of one image.
pub(crate) const PIXELS: usize = 64;

/// Values of one row: the pixels, then the digit.
pub(crate) const ROW: usize = PIXELS + 1;

/// Classes.
pub(crate) const DIGITS: usize = 10;

/// Every fifth image is a test image.
const FOLD: usize = 5;

/// Most bytes of text that are read; the file has 265 KB.
const TEXT_LIMIT: u64 = 64 << 20;

/// The largest value of a pixel in the file.
const WHITE: f32 = 16.0;

/// A file that does not hold the digits.
#[derive(Debug, thiserror::Error)]
pub(crate) enum DataError {
    /// It could not be opened.
    #[error("cannot open the digits file {0}: {1}")]
    Open(PathBuf, #[source] io::Error),
    /// It is no gzipped table of numbers.
    #[error("the digits file {0} is corrupt: {1}")]
    Corrupt(PathBuf, #[source] csv::Error),
    /// A row has a number that is no pixel, or no digit at its end.
    #[error(
        "the digits file {0} is corrupt: row {1} is not 64 pixels from 0 to 16 and a digit from 0 to 9"
    )]
    Row(PathBuf, usize),
    /// There are too few images to train on.
    #[error("the digits file {0} has {1} images, too few for {2} ranks")]
    Few(PathBuf, usize, usize),
}

/// The images of one rank.
#[derive(Debug)]
pub(crate) struct Shard {
    /// Rows to train on; they move from rank to rank.
    pub(crate) train: Vec<f32>,
    /// Rows to test on; they stay.
    pub(crate) test: Vec<f32>,
    /// Rows of every rank's training shard.
    pub(crate) rows: usize,
}

/// Reads the file, and keeps every `ranks`-th row of either split for this rank.
///
/// All training shards have the same number of rows, so that every rank takes as many steps and a
/// shard that moves on fits the buffer of the one before; up to `ranks` - 1 images are left out.
///
/// # Errors
///
/// Says what is wrong with the file.
pub(crate) fn shard(path: &Path, rank: usize, ranks: usize) -> Result<Shard, DataError> {
    let images = read(path)?;
    let (mut train, mut test) = (Vec::new(), Vec::new());
    let (mut trained, mut tested) = (0, 0);
    for (index, row) in images.chunks_exact(ROW).enumerate() {
        let (split, dealt) = if index % FOLD == FOLD - 1 {
            (&mut test, &mut tested)
        } else {
            (&mut train, &mut trained)
        };
        if *dealt % ranks == rank {
            split.extend_from_slice(row);
        }
        *dealt += 1;
    }
    let rows = trained / ranks;
    if rows == 0 || tested < ranks {
        return Err(DataError::Few(path.into(), trained + tested, ranks));
    }
    train.truncate(rows * ROW);
    Ok(Shard { train, test, rows })
}

/// Reads all rows.
fn read(path: &Path) -> Result<Vec<f32>, DataError> {
    let file = File::open(path).map_err(|error| DataError::Open(path.into(), error))?;
    let mut table = csv::ReaderBuilder::new()
        .has_headers(false)
        .from_reader(GzDecoder::new(file).take(TEXT_LIMIT));
    let mut rows = Vec::new();
    for (index, row) in table.deserialize::<Vec<f32>>().enumerate() {
        let row = row.map_err(|error| DataError::Corrupt(path.into(), error))?;
        let pixels_and_digit = |row: &[f32]| -> Option<()> {
            let (&digit, pixels) = row.split_last()?;
            let digit_ok = digit.fract() == 0.0 && (0.0..DIGITS as f32).contains(&digit);
            let pixels_ok = pixels.iter().all(|pixel| (0.0..=WHITE).contains(pixel));
            (pixels.len() == PIXELS && digit_ok && pixels_ok).then_some(())
        };
        pixels_and_digit(&row).ok_or_else(|| DataError::Row(path.into(), index + 1))?;
        rows.extend(row[..PIXELS].iter().map(|pixel| pixel / WHITE));
        rows.push(row[PIXELS]);
    }
    Ok(rows)
}
