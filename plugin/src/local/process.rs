//! A child process that never outlives this one.
//!
//! A thread is kept for the child alone. It kills the child as soon as the [`Process`] is dropped, on whatever way out.
//! Where there is no way out that drops anything (a SIGKILL), the kernel kills it, on Linux: it does so when the *thread*
//! ends that started the child, which is the other reason for a thread of its own.

use std::io;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, ExitStatus};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use tokio::sync::watch;

/// A running child.
#[derive(Debug)]
pub struct Process {
    /// The thread ends the child when this is gone.
    leash: Option<mpsc::Sender<()>>,
    keeper: Option<JoinHandle<()>>,
    ended: watch::Receiver<Option<ExitStatus>>,
}

/// How often the keeper looks whether the child has ended by itself.
const LOOK: Duration = Duration::from_millis(50);

impl Process {
    /// Starts `command` in a process group of its own, so that a Ctrl-C is not the child's but ours.
    ///
    /// # Errors
    /// What the system says.
    pub fn start(mut command: Command) -> io::Result<Self> {
        command.process_group(0);
        #[cfg(target_os = "linux")]
        die_with_this_thread(&mut command);
        let (leash, held) = mpsc::channel();
        let (tell_started, started) = mpsc::channel();
        let (tell_ended, ended) = watch::channel(None);
        let keeper = thread::Builder::new().name("envoy".to_owned()).spawn(move || match command.spawn() {
            Ok(child) => {
                let _ = tell_started.send(Ok(()));
                let status = keep(child, &held);
                let _ = tell_ended.send(status);
            }
            Err(error) => {
                let _ = tell_started.send(Err(error));
            }
        })?;
        started.recv().map_err(io::Error::other)??;
        Ok(Self { leash: Some(leash), keeper: Some(keeper), ended })
    }

    /// Waits until the child ends by itself.
    pub async fn ended(&self) -> Option<ExitStatus> {
        let mut ended = self.ended.clone();
        // An error is a keeper that is gone, and with it the child.
        ended.wait_for(Option::is_some).await.ok().and_then(|status| *status)
    }
}

/// Makes the kernel kill the child when the thread that starts it ends, in whatever way that comes about.
#[cfg(target_os = "linux")]
pub fn die_with_this_thread(command: &mut Command) {
    use rustix::process::{Signal, set_parent_process_death_signal};
    // SAFETY: between fork and exec only calls that are safe in a signal handler are allowed; this is one system call.
    unsafe {
        command.pre_exec(|| set_parent_process_death_signal(Some(Signal::KILL)).map_err(io::Error::from));
    }
}

/// Waits for the child's end; brings it about when the leash is let go.
fn keep(mut child: Child, held: &mpsc::Receiver<()>) -> Option<ExitStatus> {
    loop {
        match child.try_wait() {
            Ok(Some(status)) => return Some(status),
            Ok(None) => {}
            Err(_) => return None,
        }
        if held.recv_timeout(LOOK) == Err(RecvTimeoutError::Disconnected) {
            let _ = child.kill();
            return child.wait().ok();
        }
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        drop(self.leash.take());
        if let Some(keeper) = self.keeper.take() {
            let _ = keeper.join();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    /// The number of a process that a shell wrote into `file`, once it is there.
    fn written_pid(file: &Path) -> String {
        for _ in 0..500 {
            match std::fs::read_to_string(file) {
                Ok(text) if text.ends_with('\n') => return text.trim().to_owned(),
                _ => thread::sleep(Duration::from_millis(10)),
            }
        }
        panic!("the child did not start");
    }

    #[test]
    fn a_dropped_process_is_gone() {
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join("pid");
        let mut command = Command::new("sh");
        command.args(["-c", "echo $$ > \"$0\"; exec sleep 600"]).arg(&file);
        let process = Process::start(command).expect("a shell");
        let pid = written_pid(&file);
        let alive = || Path::new("/proc").join(&pid).exists();
        assert!(alive());
        drop(process);
        assert!(!alive());
    }

    #[tokio::test]
    async fn an_end_is_noticed() {
        let mut command = Command::new("sh");
        command.args(["-c", "exit 3"]);
        let process = Process::start(command).expect("a shell");
        assert_eq!(process.ended().await.and_then(|status| status.code()), Some(3));
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn a_child_ends_with_the_thread_that_started_it() {
        let mut command = Command::new("sleep");
        command.arg("600");
        die_with_this_thread(&mut command);
        let child = thread::spawn(move || command.spawn().expect("a sleep")).join();
        let status = child.expect("a child").wait().expect("an end");
        assert_eq!(std::os::unix::process::ExitStatusExt::signal(&status), Some(9));
    }

    #[test]
    fn what_does_not_start_is_told() {
        let error = Process::start(Command::new("/nowhere/envoy")).expect_err("no such program");
        assert_eq!(error.kind(), io::ErrorKind::NotFound);
    }
}
