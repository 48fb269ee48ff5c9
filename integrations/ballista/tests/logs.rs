//! Tests that the scheduler and the executor write their logs as their arguments say.

use std::net::TcpListener;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// The time within which a process must have written to its log.
const START: Duration = Duration::from_secs(30);

/// A process that is killed when the value is dropped.
struct Process(Child);

impl Drop for Process {
    fn drop(&mut self) {
        // Killing fails if the process has already ended.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

const SCHEDULER: &str = env!("CARGO_BIN_EXE_trommel-scheduler");
const EXECUTOR: &str = env!("CARGO_BIN_EXE_trommel-executor");

/// A command with free ports and a log at `folder`. No scheduler listens at the executor's scheduler port.
fn command(program: &str, folder: &Path) -> Command {
    let port = || TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let mut command = Command::new(program);
    command.args(["--bind-host=127.0.0.1", "--log-rotation-policy=never", "--print-thread-info"]);
    command.arg(format!("--bind-port={}", port())).arg(format!("--log-dir={}", folder.display()));
    command.arg("--log-level-setting=INFO");
    if program == EXECUTOR {
        command.arg(format!("--scheduler-port={}", port()));
        command.arg(format!("--bind-grpc-port={}", port()));
        command.arg(format!("--bind-health-port={}", port()));
    }
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
    command
}

/// The only file of a folder: its name and content. `None` if there is none, or if it is empty.
fn log_of(folder: &Path) -> Option<(String, String)> {
    let entries: Vec<_> = std::fs::read_dir(folder).ok()?.map(Result::unwrap).collect();
    let [entry] = &entries[..] else { return None };
    let text = std::fs::read_to_string(entry.path()).unwrap();
    (!text.is_empty()).then(|| (entry.file_name().into_string().unwrap(), text))
}

#[test]
fn logs_go_to_files_if_a_folder_is_given() {
    for (program, prefix) in [(SCHEDULER, "scheduler_ballista_"), (EXECUTOR, "executor_")] {
        let folder = tempfile::tempdir().unwrap();
        let folder = folder.path().join("logs");
        let _process = Process(command(program, &folder).stderr(Stdio::null()).spawn().unwrap());
        let begin = Instant::now();
        let (name, text) = loop {
            if let Some(log) = log_of(&folder) {
                break log;
            }
            assert!(begin.elapsed() < START, "{program} wrote no log");
            std::thread::sleep(Duration::from_millis(20));
        };
        assert!(name.starts_with(prefix), "{name}");
        assert!(text.contains("INFO") && text.contains("ThreadId("), "{text}");
    }
}

#[test]
fn a_log_that_cannot_be_written_is_an_error() {
    let file = tempfile::NamedTempFile::new().unwrap();
    for program in [SCHEDULER, EXECUTOR] {
        let output = command(program, file.path()).output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.code() == Some(1), "{program}: {:?}, {said}", output.status);
        assert!(said.contains("cannot write a log to") && !said.contains("panicked"), "{said}");
    }
}
