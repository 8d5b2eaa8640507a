//! What a run was made on, and what may disturb it.

use std::fs;
use std::process::Command;

use crate::cores;
use crate::report::Machine;

/// Above so many runnable threads per core the figures are not to be relied upon.
const BUSY: f64 = 0.25;

/// Describes this machine.
pub(crate) fn describe() -> Machine {
    Machine {
        cpu: line_of("/proc/cpuinfo", "model name").unwrap_or_else(|| "unknown".into()),
        cores: cores::all().len(),
        pinned_to: cores::all().iter().copied().take(2).collect(),
        kernel: read("/proc/sys/kernel/osrelease").unwrap_or_default(),
        governor: read("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor"),
        load: load(),
        rustc: said("rustc", &["--version"]).unwrap_or_default(),
        commit: said("git", &["describe", "--always", "--dirty", "--exclude=*"]),
    }
}

/// What of it may disturb a measurement.
pub(crate) fn warnings(machine: &Machine) -> Vec<String> {
    let mut warnings = Vec::new();
    if let Some(load) = machine.load
        && load > BUSY * machine.cores as f64
    {
        warnings.push(format!(
            "the machine is busy: its load average is {load:.2}, so figures on two threads and of \
             large buffers may be far off"
        ));
    }
    match machine.governor.as_deref() {
        Some("performance") => {}
        Some(governor) => warnings.push(format!(
            "the frequency is not fixed: cpu0's governor is {governor:?}"
        )),
        None => warnings.push("whether the frequency is fixed can not be seen here".into()),
    }
    if machine.cores < 2 {
        warnings.push("only one core: figures on two threads show the scheduler".into());
    }
    warnings
}

/// The load average of the last minute.
fn load() -> Option<f64> {
    let text = read("/proc/loadavg")?;
    text.split_whitespace().next()?.parse().ok()
}

fn read(path: &str) -> Option<String> {
    fs::read_to_string(path)
        .ok()
        .map(|text| text.trim().to_owned())
}

fn line_of(path: &str, key: &str) -> Option<String> {
    let text = fs::read_to_string(path).ok()?;
    let line = text.lines().find(|line| line.starts_with(key))?;
    line.split_once(':')
        .map(|(_, value)| value.trim().to_owned())
}

fn said(program: &str, arguments: &[&str]) -> Option<String> {
    let output = Command::new(program).args(arguments).output().ok()?;
    let text = String::from_utf8_lossy(&output.stdout).trim().to_owned();
    (output.status.success() && !text.is_empty()).then_some(text)
}

/// The version of a package in a lock file.
pub fn locked(lock: &str, package: &str) -> Option<String> {
    let name = format!("name = \"{package}\"");
    let mut lines = lock.lines().skip_while(|line| *line != name).skip(1);
    let version = lines.next()?.strip_prefix("version = \"")?;
    version.strip_suffix('"').map(ToOwned::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_version_is_read_from_the_lock_file() {
        let lock = "[[package]]\nname = \"a\"\nversion = \"1.2.3\"\n";
        assert_eq!(locked(lock, "a").as_deref(), Some("1.2.3"));
        assert_eq!(locked(lock, "b"), None);
    }

    #[test]
    fn a_busy_machine_is_warned_about() {
        let quiet = Machine {
            cores: 2,
            load: Some(0.1),
            governor: Some("performance".into()),
            ..Machine::default()
        };
        assert_eq!(warnings(&quiet), [""; 0]);
        let busy = Machine {
            load: Some(1.5),
            ..quiet
        };
        assert!(warnings(&busy)[0].contains("1.50"));
    }
}
