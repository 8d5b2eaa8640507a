//! What a suite came to, as one table.

use std::collections::HashSet;

use comfy_table::{CellAlignment, ContentArrangement, Table, presets};

use super::report::{Figure, Machine, Ratio, Report, Row, Verdict};

/// Columns of the terminal that the table fills.
const WIDTH: u16 = 168;

/// Columns whose cells are numbers.
const NUMBERS: std::ops::Range<usize> = 2..5;

/// Renders a report, with the ratios of an earlier one beside its own.
pub(super) fn render(report: &Report, before: Option<&Report>) -> String {
    let mut table = Table::new();
    let mut heads = vec![
        "case: claim",
        "alternative",
        "ours, median / least",
        "alternative's",
        "ratio (quartiles)",
    ];
    heads.extend(before.map(|_| "ratio before"));
    heads.extend(["target", ""]);
    table
        .load_style(presets::UTF8_FULL_CONDENSED)
        .set_content_arrangement(ContentArrangement::Dynamic)
        .set_width(WIDTH)
        .set_header(heads);
    let mut last = None;
    let mut told = HashSet::new();
    for row in &report.rows {
        let is_new = last != Some(&row.case);
        // A claim that several cases share stands beside the first of them.
        let is_new_claim = is_new && told.insert(&row.claim);
        last = Some(&row.case);
        table.add_row(cells(row, is_new, is_new_claim, before));
    }
    for column in NUMBERS {
        if let Some(column) = table.column_mut(column) {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
    format!("{table}\n{}", notes(report))
}

fn cells(row: &Row, is_new: bool, is_new_claim: bool, before: Option<&Report>) -> Vec<String> {
    let mut case = String::new();
    if is_new {
        case.clone_from(&row.case);
    }
    if is_new_claim {
        case = format!("{case}\n{}", row.claim);
    }
    let (name, other) = match &row.alternative {
        Some((name, figure)) => (name.clone(), words(figure)),
        None => (String::new(), String::new()),
    };
    let mut cells = vec![
        case,
        name,
        row.ours.as_ref().map(words).unwrap_or_default(),
        other,
        row.ratio.map(ratio).unwrap_or_default(),
    ];
    cells.extend(before.map(|before| earlier(row, before).map(ratio).unwrap_or_default()));
    cells.push(row.target.clone().unwrap_or_default());
    cells.push(row.verdict.map(verdict).unwrap_or_default().into());
    cells
}

/// The same comparison in an earlier report.
fn earlier(row: &Row, before: &Report) -> Option<Ratio> {
    let name = |row: &Row| row.alternative.as_ref().map(|(name, _)| name.clone());
    let same = |other: &&Row| other.case == row.case && name(other) == name(row);
    before.rows.iter().find(same)?.ratio
}

fn words(figure: &Figure) -> String {
    match figure {
        Figure::Nanos { least, median } => time(*median, *least),
        Figure::Count(count) => count.clone(),
    }
}

/// The median and the least in three digits, in the median's unit.
fn time(median: f64, least: f64) -> String {
    let (scale, unit) = match median {
        0.0..1e3 => (1.0, "ns"),
        1e3..1e6 => (1e3, "µs"),
        _ => (1e6, "ms"),
    };
    let digits = |value: f64| {
        let digits = if value < 10.0 {
            2
        } else {
            usize::from(value < 100.0)
        };
        format!("{value:.digits$}")
    };
    let [median, least] = [median / scale, least / scale].map(digits);
    format!("{median} / {least} {unit}")
}

fn ratio(ratio: Ratio) -> String {
    let Ratio {
        lower,
        median,
        upper,
        ..
    } = ratio;
    let digits = if median < 1.0 { 3 } else { 2 };
    format!("{median:.digits$} ({lower:.digits$}–{upper:.digits$})")
}

fn verdict(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Met => "met",
        Verdict::MetNarrowly => "met, narrowly",
        Verdict::MissedNarrowly => "missed, narrowly",
        Verdict::Missed => "missed",
    }
}

/// What it takes to judge the figures.
fn notes(report: &Report) -> String {
    let Machine {
        cpu,
        cores,
        pinned_to,
        kernel,
        load,
        rustc,
        ..
    } = &report.machine;
    let pinned: Vec<_> = pinned_to.iter().map(ToString::to_string).collect();
    let load = load.map(|load| format!(", load average {load:.2} at the start"));
    let judged = report.rows.iter().filter_map(|row| row.verdict);
    let met = |verdict: &Verdict| matches!(verdict, Verdict::Met | Verdict::MetNarrowly);
    let (met, missed): (Vec<_>, Vec<_>) = judged.partition(met);
    let versions = report.versions.iter();
    let versions: Vec<_> = versions
        .map(|(name, version)| format!("{name} {version}"))
        .collect();
    let mut notes = format!(
        "{} met, {} missed. A ratio is ours by the alternative within pairs of laps, the median \
         and its quartiles; below 1, ours is faster.\n\
         {cpu}, {cores} cores, pinned to {}; Linux {kernel}; {rustc}{}.\n{}.",
        met.len(),
        missed.len(),
        pinned.join(" and "),
        load.unwrap_or_default(),
        versions.join(", "),
    );
    for (name, reason) in &report.missing {
        notes.push_str("\nnot compared: ");
        notes.push_str(&[name.as_str(), reason].join(": "));
    }
    notes
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(case: &str, median: f64) -> Row {
        let figure = |median| Figure::Nanos {
            least: median,
            median,
        };
        Row {
            case: case.into(),
            claim: "it is fast".into(),
            ours: Some(figure(median)),
            alternative: Some(("floor".into(), figure(5.0))),
            ratio: Some(Ratio {
                lower: median / 5.0,
                median: median / 5.0,
                upper: median / 5.0,
                of_least: median / 5.0,
            }),
            target: Some("≤ 2 ×".into()),
            verdict: Some(if median <= 10.0 {
                Verdict::Met
            } else {
                Verdict::Missed
            }),
        }
    }

    fn report(rows: Vec<Row>) -> Report {
        Report {
            suite: "pools".into(),
            command: String::new(),
            quick: true,
            machine: Machine::default(),
            versions: Vec::new(),
            missing: vec![("jemalloc".into(), "no C compiler".into())],
            rows,
        }
    }

    #[test]
    fn a_missed_target_is_shown_and_so_is_what_is_missing() {
        let now = report(vec![row("tls/pair", 8.25), row("tls/pair/16", 25.0)]);
        let text = render(&now, None);
        for part in [
            "8.25 / 8.25 ns",
            "1.65 (1.65–1.65)",
            "missed",
            "1 met, 1 missed",
            "jemalloc: no C compiler",
        ] {
            assert!(text.contains(part), "{part:?} is missing from\n{text}");
        }
    }

    #[test]
    fn an_earlier_ratio_stands_beside_the_same_comparison() {
        let before = report(vec![row("other", 5.0), row("tls/pair", 50.0)]);
        let text = render(&report(vec![row("tls/pair", 8.25)]), Some(&before));
        assert!(text.contains("10.00 (10.00–10.00)"), "{text}");
    }

    #[test]
    fn a_time_has_three_digits_in_the_unit_of_its_median() {
        assert_eq!(time(5.234, 5.0), "5.23 / 5.00 ns");
        assert_eq!(time(523.4, 52.34), "523 / 52.3 ns");
        assert_eq!(time(5_234.0, 999.0), "5.23 / 1.00 µs");
        assert_eq!(time(52_340_000.0, 1e6), "52.3 / 1.00 ms");
    }
}
