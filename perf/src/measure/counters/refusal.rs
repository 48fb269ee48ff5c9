//! Explains why an event cannot be counted.

use crate::model::Event;
use rustix::io::Errno;
use std::fs;
use std::io;

/// An event for which the kernel opened no counter.
#[derive(Debug)]
pub(super) struct Refusal {
    pub(super) event: Event,
    pub(super) error: io::Error,
}

/// Describes all refusals in one line: for each reason, the names of the events that were refused for it, and then the
/// reason. If all events were refused for one reason, the line is only this reason.
pub(super) fn describe(refusals: &[Refusal]) -> String {
    let paranoid = fs::read_to_string("/proc/sys/kernel/perf_event_paranoid").ok();
    describe_with(refusals, paranoid.as_deref().map(str::trim))
}

fn describe_with(refusals: &[Refusal], paranoid: Option<&str>) -> String {
    let mut reasons: Vec<(String, Vec<&str>)> = Vec::new();
    for Refusal { event, error } in refusals {
        let reason = reason(error, paranoid);
        match reasons.iter_mut().find(|(known, _)| *known == reason) {
            Some((_, events)) => events.push(event.name()),
            None => reasons.push((reason, vec![event.name()])),
        }
    }
    let describe_one = |(reason, events): &(String, Vec<&str>)| match events.len() {
        all if all == Event::ALL.len() => reason.clone(),
        _ => format!("{}: {reason}", events.join(", ")),
    };
    reasons.iter().map(describe_one).collect::<Vec<_>>().join("; ")
}

/// Explains an error of `perf_event_open`.
fn reason(error: &io::Error, paranoid: Option<&str>) -> String {
    match error.raw_os_error().map(Errno::from_raw_os_error) {
        Some(Errno::NOENT) => {
            "the kernel has no such event here, as in a virtual machine that passes no \
                               performance counters on (ENOENT)"
                .into()
        }
        Some(errno @ (Errno::PERM | Errno::ACCESS)) => format!(
            "not allowed ({}): kernel.perf_event_paranoid is {} (2 or less lets a program count its \
             own events, unless a container forbids the call)",
            if errno == Errno::PERM { "EPERM" } else { "EACCES" },
            paranoid.unwrap_or("unknown")
        ),
        Some(Errno::OPNOTSUPP) => "this processor or virtual machine has no counter for the event \
                                   (EOPNOTSUPP)"
            .into(),
        Some(Errno::NOSYS) => {
            "this kernel, or the sandbox around it, has no perf_event_open (ENOSYS)".into()
        }
        _ => format!("perf_event_open: {error}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refusal(event: Event, errno: Errno) -> Refusal {
        Refusal { event, error: io::Error::from_raw_os_error(errno.raw_os_error()) }
    }

    #[test]
    fn every_reason_has_its_own_text_of_one_line() {
        let said = |errno| describe_with(&[refusal(Event::Cycles, errno)], Some("3"));
        for (errno, words) in [
            (Errno::NOENT, &["ENOENT", "virtual machine"][..]),
            (Errno::PERM, &["EPERM", "perf_event_paranoid is 3", "container"]),
            (Errno::ACCESS, &["EACCES", "perf_event_paranoid is 3"]),
            (Errno::OPNOTSUPP, &["EOPNOTSUPP", "no counter"]),
            (Errno::NOSYS, &["ENOSYS", "no perf_event_open"]),
            (Errno::MFILE, &["perf_event_open: ", "open files"]),
        ] {
            let said = said(errno);
            assert!(words.iter().all(|word| said.contains(word)), "{said}");
            assert_eq!(said.lines().count(), 1, "{said}");
        }
        let unknown = describe_with(&[refusal(Event::Cycles, Errno::PERM)], None);
        assert!(unknown.contains("perf_event_paranoid is unknown"), "{unknown}");
    }

    #[test]
    fn events_are_named_unless_all_are_refused_for_one_reason() {
        let some = [
            refusal(Event::LlcReadMisses, Errno::NOENT),
            refusal(Event::Cycles, Errno::OPNOTSUPP),
            refusal(Event::DtlbReadMisses, Errno::NOENT),
        ];
        let said = describe_with(&some, None);
        assert!(said.starts_with("last-level cache read misses, data-TLB read misses: "), "{said}");
        assert!(said.contains("; cycles: "), "{said}");
        let all = Event::ALL.map(|event| refusal(event, Errno::NOENT));
        let said = describe_with(&all, None);
        assert!(said.starts_with("the kernel has no such event"), "{said}");
    }
}
