//! A rank does not outlive its launcher.
//!
//! A launcher that is killed cannot end its ranks, so each rank watches it, by a
//! descriptor of the launcher's process that becomes readable when that process
//! ends. It works below a shell or another wrapper, too, whose child the rank is.

use rustix::event::{PollFd, PollFlags, poll};
use rustix::process::{Pid, PidfdFlags, Signal, kill_current_process_group, pidfd_open};

use crate::env::RankLaunch;
use crate::join::Address;

/// Ends this rank's process group when the process `launcher` has ended.
pub(crate) fn end_with(launcher: i32, launch: &RankLaunch) {
    let Some(launcher) = Pid::from_raw(launcher) else {
        return;
    };
    let leftovers = Leftovers {
        socket: match &launch.hub {
            Address::Unix(path) => Some(path.clone()),
            Address::Tcp(_) => None,
        },
        note: launch.fault.clone(),
    };
    let process = match pidfd_open(launcher, PidfdFlags::empty()) {
        Ok(process) => process,
        Err(rustix::io::Errno::SRCH) => return leftovers.end(),
        // A kernel without process descriptors: the ranks still end with rank 0.
        Err(_) => return,
    };
    let watch = move || {
        loop {
            match poll(&mut [PollFd::new(&process, PollFlags::IN)], None) {
                Ok(0) | Err(rustix::io::Errno::INTR) => {}
                Ok(_) => return leftovers.end(),
                Err(_) => return,
            }
        }
    };
    // Without a thread to spare the rank still ends with rank 0.
    let _ = std::thread::Builder::new()
        .name("spmd-watch".into())
        .spawn(watch);
}

/// What the launcher would have removed.
struct Leftovers {
    socket: Option<std::path::PathBuf>,
    note: Option<std::path::PathBuf>,
}

impl Leftovers {
    fn end(&self) {
        for file in self.socket.iter().chain(&self.note) {
            // Err means that another rank was first, or that something else is in there.
            let _ = std::fs::remove_file(file);
        }
        if let Some(directory) = self.note.as_ref().and_then(|note| note.parent()) {
            let _ = std::fs::remove_dir(directory);
        }
        // The launcher put every rank into a group of its own, wrappers included.
        let _ = kill_current_process_group(Signal::KILL);
    }
}
