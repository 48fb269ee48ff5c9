//! Connects the processes of a cluster by links with a limited data rate. Each executor has its own network namespace,
//! and a bridge joins the namespaces.

use std::net::Ipv4Addr;
use std::process::Command;

/// Network namespaces and a bridge, which are deleted when the value is dropped. Needs root and the programs `ip` and
/// `tc`.
pub struct Links {
    namespaces: Vec<String>,
    bridge: String,
}

impl Links {
    /// The address of the scheduler and the clients, which are outside of the namespaces.
    pub const SCHEDULER: Ipv4Addr = Ipv4Addr::new(10, 213, 0, 1);

    /// Creates a link for every executor. `megabits` is the data rate of a link in each direction, in Mbit/s.
    ///
    /// # Panics
    /// If the links cannot be created, for example without root or without the programs.
    pub fn create(executors: usize, megabits: u32) -> Self {
        let id = std::process::id();
        let bridge = format!("tr{id}");
        let mut links = Self { namespaces: Vec::new(), bridge };
        let bridge = links.bridge.clone();
        run(&format!("ip link add {bridge} type bridge"));
        run(&format!("ip address add {}/24 dev {bridge}", Self::SCHEDULER));
        run(&format!("ip link set {bridge} up"));
        for i in 0..executors {
            let namespace = format!("trommel-{id}-{i}");
            let (outside, inside) = (format!("tr{id}o{i}"), format!("tr{id}i{i}"));
            run(&format!("ip netns add {namespace}"));
            links.namespaces.push(namespace.clone());
            run(&format!("ip link add {outside} type veth peer name {inside}"));
            run(&format!("ip link set {outside} master {bridge} up"));
            run(&format!("ip link set {inside} netns {namespace}"));
            let in_namespace = format!("ip netns exec {namespace}");
            run(&format!("{in_namespace} ip link set lo up"));
            run(&format!("{in_namespace} ip address add {}/24 dev {inside}", Self::executor(i)));
            run(&format!("{in_namespace} ip link set {inside} up"));
            // `tbf` needs a burst of at least the data that the link carries between two ticks of the kernel's timer.
            // This burst is the data of 10 ms, which is at least one tick.
            let limit =
                format!("root tbf rate {megabits}mbit burst {}kb latency 50ms", megabits * 10 / 8);
            run(&format!("tc qdisc add dev {outside} {limit}"));
            run(&format!("{in_namespace} tc qdisc add dev {inside} {limit}"));
        }
        links
    }

    /// The address of an executor.
    pub fn executor(i: usize) -> Ipv4Addr {
        Ipv4Addr::from(u32::from(Self::SCHEDULER) + 1 + i as u32)
    }

    /// A command that runs a program in the namespace of executor `i`.
    pub fn command(&self, i: usize) -> Command {
        let mut command = Command::new("ip");
        command.args(["netns", "exec", &self.namespaces[i]]);
        command
    }
}

impl Drop for Links {
    fn drop(&mut self) {
        // Deleting a namespace deletes the link's end in the namespace, and thereby also the link's other end.
        for namespace in &self.namespaces {
            let _ = Command::new("ip").args(["netns", "delete", namespace]).status();
        }
        let _ = Command::new("ip").args(["link", "delete", &self.bridge]).status();
    }
}

fn run(command: &str) {
    let mut words = command.split(' ');
    let program = words.next().expect("a command begins with a program");
    let status = Command::new(program).args(words).status();
    assert!(
        status.is_ok_and(|status| status.success()),
        "{command}: failed; links need root, ip and tc"
    );
}
