//! What a training came to, as a table.

use comfy_table::{CellAlignment, Table, presets};
use pool_core::Stats;

use super::events::{Done, Pool};

/// Renders the result: the training first, then a column for each pool.
pub(super) fn render(done: &Done) -> String {
    let rate = done.images as f64 / done.seconds.max(f64::MIN_POSITIVE);
    let training = rows(
        &["training", ""],
        [
            vec!["ranks".into(), done.ranks.to_string()],
            vec![
                "test accuracy".into(),
                format!("{:.2} %", done.accuracy * 100.0),
            ],
            vec!["images per second".into(), format!("{rate:.0}")],
            vec!["seconds".into(), format!("{:.2}", done.seconds)],
            vec![
                "weights (SHA-256)".into(),
                done.weights.chars().take(16).collect(),
            ],
        ],
    );
    let names = done.pools.iter().map(|pool| pool.name.as_str());
    let heads: Vec<&str> = std::iter::once("pool").chain(names).collect();
    let pools = rows(
        &heads,
        LINES.iter().map(|(label, cell)| {
            let cells = done.pools.iter().map(cell);
            std::iter::once((*label).to_owned()).chain(cells).collect()
        }),
    );
    format!("{training}\n\n{pools}\nPools are summed over ranks; steady is after the first epoch.")
}

/// A line of the pools' table: its label, and what it says of one pool.
type Line = (&'static str, fn(&Pool) -> String);

const LINES: &[Line] = &[
    ("hits", |pool| pool.total.hits.to_string()),
    ("misses", |pool| pool.total.misses.to_string()),
    ("bypassed", |pool| pool.total.bypassed.to_string()),
    ("refusals", |pool| pool.total.refusals().to_string()),
    ("hit rate", |pool| percent(&pool.total)),
    ("steady hit rate", |pool| percent(&pool.steady)),
    ("buffers held", |pool| pool.total.held_buffers.to_string()),
    ("bytes held", |pool| pool.total.held_bytes.to_string()),
    ("most bytes held", |pool| pool.total.peak_bytes.to_string()),
];

fn percent(stats: &Stats) -> String {
    stats
        .hit_rate()
        .map_or_else(|| "-".into(), |rate| format!("{:.2} %", rate * 100.0))
}

/// A table whose first column is text and whose others are numbers.
fn rows(heads: &[&str], rows: impl IntoIterator<Item = Vec<String>>) -> Table {
    let mut table = Table::new();
    table
        .load_style(presets::UTF8_FULL_CONDENSED)
        .set_header(heads.to_vec())
        .add_rows(rows);
    for column in table.column_iter_mut().skip(1) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    table
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pool_without_requests_shows_no_rate() {
        let total = Stats {
            hits: 990,
            misses: 10,
            ..Stats::default()
        };
        let pool = |name: &str, total| Pool {
            name: name.into(),
            total,
            steady: total,
        };
        let done = Done {
            ranks: 4,
            accuracy: 0.958,
            images: 1000,
            seconds: 2.0,
            weights: "0123456789abcdef0123".into(),
            pools: vec![
                pool("grad-pool", total),
                pool("frame-pool", Stats::default()),
            ],
        };
        let text = render(&done);
        for part in ["95.80 %", "500", "0123456789abcdef", "99.00 %", " - "] {
            assert!(text.contains(part), "{part:?} is missing from\n{text}");
        }
    }
}
