//! Tests that the scheduler and the executor write their logs as their arguments say.

use std::io::Read;
use std::net::TcpListener;
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

/// The time within which a process must have written to its log, or must have ended.
const LIMIT: Duration = Duration::from_secs(30);

const SCHEDULER: &str = env!("CARGO_BIN_EXE_trommel-scheduler");
const EXECUTOR: &str = env!("CARGO_BIN_EXE_trommel-executor");

/// A process that is killed when the value is dropped.
struct Process(Child);

impl Drop for Process {
    fn drop(&mut self) {
        // Killing fails if the process has already ended.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

impl Process {
    /// Starts a program with free ports. The program writes a log of level DEBUG, which does not rotate, to `folder`.
    /// Also returns the port that the name of the log contains. An executor is told to connect to a scheduler at a port
    /// at which none listens.
    fn start(program: &str, folder: &Path) -> (Self, u16) {
        let free = || TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        let port = free();
        let mut command = Command::new(program);
        command.args(["--bind-host=127.0.0.1", "--log-rotation-policy=never"]);
        command.args([format!("--bind-port={port}"), format!("--log-dir={}", folder.display())]);
        command.arg("--log-level-setting=DEBUG").env_remove("RUST_LOG");
        if program == EXECUTOR {
            command.arg(format!("--scheduler-port={}", free()));
            command.arg(format!("--bind-grpc-port={}", free()));
            command.arg(format!("--bind-health-port={}", free()));
        }
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
        (Self(command.spawn().unwrap()), port)
    }

    /// Waits until the process has ended.
    fn wait(&mut self) -> ExitStatus {
        wait_for("the end of the process", || self.0.try_wait().unwrap())
    }
}

fn wait_for<T>(what: &str, mut get: impl FnMut() -> Option<T>) -> T {
    let begin = Instant::now();
    loop {
        if let Some(value) = get() {
            return value;
        }
        assert!(begin.elapsed() < LIMIT, "not within {LIMIT:?}: {what}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn logs_go_to_files_if_a_folder_is_given() {
    for (program, prefix) in [(SCHEDULER, "scheduler_ballista"), (EXECUTOR, "executor")] {
        let folder = tempfile::tempdir().unwrap();
        let folder = folder.path().join("logs");
        let (_process, port) = Process::start(program, &folder);
        let log = folder.join(format!("{prefix}_localhost_{port}"));
        let line = wait_for("a line of level DEBUG", || {
            let text = std::fs::read_to_string(&log).ok()?;
            text.lines().find(|line| line.contains("DEBUG")).map(str::to_owned)
        });
        assert!(line.contains("ThreadId("), "{line}");
    }
}

#[test]
fn a_log_that_cannot_be_written_is_an_error() {
    let file = tempfile::NamedTempFile::new().unwrap();
    for program in [SCHEDULER, EXECUTOR] {
        let (mut process, _) = Process::start(program, file.path());
        let status = process.wait();
        let mut said = String::new();
        process.0.stderr.take().unwrap().read_to_string(&mut said).unwrap();
        assert_eq!(status.code(), Some(1), "{program}: {said}");
        assert!(said.contains("cannot write a log to") && !said.contains("panicked"), "{said}");
    }
}
