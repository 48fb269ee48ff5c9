//! Runs a cluster of processes on this machine.

use super::links::Links;
use std::collections::HashSet;
use std::fs::File;
use std::io::{Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// The time within which a process must answer after its start.
const START: Duration = Duration::from_secs(30);

/// One scheduler and some executors, each with a log of its own. The processes are killed when the value is dropped.
pub struct Cluster {
    binaries: PathBuf,
    folder: PathBuf,
    scheduler: Option<Child>,
    executors: Vec<Option<Child>>,
    ports: Ports,
    /// Dropping the setup removes its links. This happens after `Cluster::drop` has ended the processes.
    setup: Setup,
}

/// The options of a cluster.
#[derive(Default)]
pub struct Setup {
    /// Links with a limited data rate. `None` if the processes use the loopback interface.
    pub links: Option<Links>,
    /// The time without progress after which the scheduler cancels a job. `None` if the scheduler never cancels a job.
    pub cancel_stalled_after: Option<Duration>,
}

struct Ports {
    scheduler: u16,
    /// The ports for Flight, gRPC and health checks of each executor.
    executors: Vec<[u16; 3]>,
}

/// Returns TCP ports that were free at the time of the call.
fn free_ports<const N: usize>() -> [u16; N] {
    let listeners =
        [(); N].map(|()| TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a port must be free"));
    listeners.map(|listener| listener.local_addr().expect("a bound listener has an address").port())
}

impl Cluster {
    /// Starts a scheduler and `executors` executors from the folder `binaries`. Each executor runs up to `slots` tasks
    /// at once. Writes logs and shuffle files to `folder`. Waits until all executors have registered with the
    /// scheduler.
    pub fn start(binaries: &Path, folder: &Path, executors: usize, slots: usize) -> Self {
        Self::start_with(Setup::default(), binaries, folder, executors, slots)
    }

    /// The same as [`Cluster::start`], with a setup that the caller chooses.
    pub fn start_with(
        setup: Setup,
        binaries: &Path,
        folder: &Path,
        executors: usize,
        slots: usize,
    ) -> Self {
        let [scheduler] = free_ports();
        let ports = Ports { scheduler, executors: (0..executors).map(|_| free_ports()).collect() };
        let mut cluster = Self {
            binaries: binaries.to_owned(),
            folder: folder.to_owned(),
            scheduler: None,
            executors: (0..executors).map(|_| None).collect(),
            ports,
            setup,
        };
        cluster.start_scheduler();
        for i in 0..executors {
            cluster.start_executor(i, slots);
        }
        cluster.wait_for_executors(executors);
        cluster
    }

    pub fn url(&self) -> String {
        format!("df://{}:{}", self.scheduler_address(), self.ports.scheduler)
    }

    fn scheduler_address(&self) -> Ipv4Addr {
        if self.setup.links.is_some() { Links::SCHEDULER } else { Ipv4Addr::LOCALHOST }
    }

    pub fn start_scheduler(&mut self) {
        let address = self.scheduler_address();
        let arguments = [
            format!("--bind-host={address}"),
            format!("--external-host={address}"),
            format!("--bind-port={}", self.ports.scheduler),
            "--executor-timeout-seconds=15".to_owned(),
            "--expire-dead-executor-interval-seconds=3".to_owned(),
            "--log-level-setting=WARN".to_owned(),
        ];
        let mut program = Command::new(self.binaries.join("trommel-scheduler"));
        if let Some(limit) = self.setup.cancel_stalled_after {
            program.arg(format!("--cancel-stalled-jobs-after-seconds={}", limit.as_secs()));
        }
        self.scheduler = Some(self.spawn(program, "scheduler", &arguments));
        wait_until("the scheduler answers", || self.get("/api/state").is_some());
    }

    pub fn start_executor(&mut self, i: usize, slots: usize) {
        let address = self.setup.links.as_ref().map_or(Ipv4Addr::LOCALHOST, |_| Links::executor(i));
        let arguments =
            self.executor_arguments(address, self.ports.executors[i], slots, &self.work_folder(i));
        let binary = self.binaries.join("trommel-executor");
        let program = match &self.setup.links {
            Some(links) => {
                let mut in_namespace = links.command(i);
                in_namespace.arg(binary);
                in_namespace
            }
            None => Command::new(binary),
        };
        self.executors[i] = Some(self.spawn(program, &format!("executor-{i}"), &arguments));
    }

    fn executor_arguments(
        &self,
        address: Ipv4Addr,
        [flight, grpc, health]: [u16; 3],
        slots: usize,
        work: &Path,
    ) -> Vec<String> {
        std::fs::create_dir_all(work).expect("the folder of shuffle files must be creatable");
        vec![
            format!("--bind-host={address}"),
            format!("--external-host={address}"),
            format!("--scheduler-host={}", self.scheduler_address()),
            format!("--scheduler-port={}", self.ports.scheduler),
            format!("--bind-port={flight}"),
            format!("--bind-grpc-port={grpc}"),
            format!("--bind-health-port={health}"),
            format!("--vcores={slots}"),
            format!("--work-dir={}", work.display()),
            "--executor-heartbeat-interval-seconds=2".to_owned(),
            "--log-level-setting=WARN".to_owned(),
        ]
    }

    /// The command line of an additional executor, which the caller starts. `work` is its folder of shuffle files.
    pub fn plain_executor_arguments(&self, work: &Path) -> Vec<String> {
        let arguments = self.executor_arguments(Ipv4Addr::LOCALHOST, free_ports(), 2, work);
        [vec!["executor".to_owned()], arguments].concat()
    }

    /// The folder that an executor writes its shuffles to.
    pub fn work_folder(&self, i: usize) -> PathBuf {
        self.folder.join(format!("work-{i}"))
    }

    /// The jobs that have written shuffles.
    pub fn jobs(&self) -> HashSet<String> {
        let folders = (0..self.executors.len()).flat_map(|i| entries(&self.work_folder(i)));
        folders
            .map(|job| job.file_name().unwrap_or_default().to_string_lossy().into_owned())
            .collect()
    }

    /// The total size in bytes of the shuffle files of all jobs that are not in `before`.
    pub fn shuffled_bytes_since(&self, before: &HashSet<String>) -> u64 {
        self.folders_since(before).iter().map(|folder| bytes_of(folder)).sum()
    }

    /// The total size in bytes of the shuffle files of one stage, for all jobs that are not in `before`.
    pub fn stage_bytes_since(&self, before: &HashSet<String>, stage: usize) -> u64 {
        self.folders_since(before).iter().map(|job| bytes_of(&job.join(stage.to_string()))).sum()
    }

    /// The folders, on all executors, of the jobs that are not in `before`.
    fn folders_since(&self, before: &HashSet<String>) -> Vec<PathBuf> {
        let jobs = self.jobs();
        let new = jobs.difference(before);
        new.flat_map(|job| (0..self.executors.len()).map(move |i| self.work_folder(i).join(job)))
            .collect()
    }

    fn spawn(&self, mut program: Command, name: &str, arguments: &[String]) -> Child {
        std::fs::create_dir_all(&self.folder).expect("the folder of the cluster must be creatable");
        let log = File::create(self.folder.join(format!("{name}.log")))
            .expect("the log must be creatable");
        program
            .args(arguments)
            .stdin(Stdio::null())
            .stdout(log.try_clone().expect("the log must have two handles"))
            .stderr(log)
            .spawn()
            .unwrap_or_else(|error| panic!("{program:?}: {error}"))
    }

    /// Waits until at least `count` executors have registered with the scheduler.
    pub fn wait_for_executors(&self, count: usize) {
        wait_until("the executors have registered", || {
            let listed = self.get("/api/executors").unwrap_or_default();
            listed.matches("\"host\"").count() >= count
        });
    }

    /// Kills an executor with SIGKILL, so that it cannot shut down properly.
    pub fn kill_executor(&mut self, i: usize) {
        if let Some(mut executor) = self.executors[i].take() {
            stop(&mut executor);
        }
    }

    pub fn kill_scheduler(&mut self) {
        if let Some(mut scheduler) = self.scheduler.take() {
            stop(&mut scheduler);
        }
    }

    /// Sends a GET request to the scheduler's REST interface and returns the body of the answer. `None` if the
    /// scheduler does not answer with status 200.
    pub fn get(&self, path: &str) -> Option<String> {
        let address = SocketAddr::from((self.scheduler_address(), self.ports.scheduler));
        let mut stream = TcpStream::connect_timeout(&address, Duration::from_secs(1)).ok()?;
        stream.set_read_timeout(Some(Duration::from_secs(5))).ok()?;
        write!(stream, "GET {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
            .ok()?;
        let mut answer = String::new();
        stream.read_to_string(&mut answer).ok()?;
        let (head, body) = answer.split_once("\r\n\r\n")?;
        head.starts_with("HTTP/1.1 200").then(|| body.to_owned())
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        let executors = self.executors.iter_mut().flatten();
        executors.chain(&mut self.scheduler).for_each(stop);
    }
}

fn stop(process: &mut Child) {
    // Killing fails if the process has already ended.
    let _ = process.kill();
    let _ = process.wait();
}

fn entries(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    entries.map(|entry| entry.path()).collect()
}

fn bytes_of(path: &Path) -> u64 {
    if path.is_dir() {
        return entries(path).iter().map(|path| bytes_of(path)).sum();
    }
    path.metadata().map_or(0, |metadata| metadata.len())
}

fn wait_until(what: &str, condition: impl Fn() -> bool) {
    let begin = Instant::now();
    while !condition() {
        assert!(begin.elapsed() < START, "not within {START:?}: {what}");
        std::thread::sleep(Duration::from_millis(50));
    }
}
