//! Makes the command that runs a program under Callgrind. Another function asks Valgrind for its version.

use crate::cache::Caches;
use crate::mark::{END, SECTION};
use std::ffi::OsStr;
use std::fmt;
use std::io;
use std::path::Path;
use std::process::{Command, Stdio};

/// What Callgrind counts in a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Simulated {
    /// Only instructions. Such a run takes about a third of the time of a run that simulates caches.
    Instructions,
    /// Instructions, and the misses of these caches and of a branch predictor.
    Caches(Caches),
}

/// The command that runs a program under Callgrind, which writes the counts of the program's sections to `out`.
/// The caller adds the arguments of the program.
#[must_use]
pub fn command(program: &OsStr, out: &Path, simulated: &Simulated) -> Command {
    let mut command = Command::new(VALGRIND);
    // Options that the user has set for Valgrind would change what is counted.
    command.env_remove("VALGRIND_OPTS");
    command.args(["--tool=callgrind", "--quiet", "--combine-dumps=yes"]);
    command.arg(format!("--toggle-collect={SECTION}")).arg(format!("--dump-before={END}"));
    let mut to_file = std::ffi::OsString::from("--callgrind-out-file=");
    to_file.push(out);
    command.arg(to_file);
    if let Simulated::Caches(Caches { d1, ll }) = simulated {
        command.args(["--cache-sim=yes", "--branch-sim=yes"]);
        // The instruction cache gets the size of the data cache. The exact size hardly matters, since the few loops of
        // a counted section fit into a much smaller cache.
        command.args([format!("--I1={d1}"), format!("--D1={d1}"), format!("--LL={ll}")]);
    }
    command.arg(program);
    command
}

/// Why nothing can be counted.
#[derive(Debug)]
#[non_exhaustive]
pub enum Missing {
    /// Valgrind is not installed, or cannot be run.
    NotFound(io::Error),
    /// Valgrind is installed, but fails with this output.
    Broken(String),
}

impl fmt::Display for Missing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotFound(error) if error.kind() == io::ErrorKind::NotFound => {
                f.write_str("Valgrind is not installed")
            }
            Self::NotFound(error) => write!(f, "Valgrind cannot be run: {error}"),
            Self::Broken(output) => write!(f, "Valgrind fails: {output}"),
        }
    }
}

impl std::error::Error for Missing {}

/// The version that Valgrind reports.
///
/// # Errors
///
/// [`Missing`] if Valgrind cannot be run or fails.
pub fn version() -> Result<String, Missing> {
    let output = Command::new(VALGRIND).arg("--version").stdin(Stdio::null()).output();
    let output = output.map_err(Missing::NotFound)?;
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).trim().to_owned();
    if output.status.success() {
        Ok(text(&output.stdout))
    } else {
        Err(Missing::Broken(text(&output.stderr)))
    }
}

const VALGRIND: &str = "valgrind";

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cache::Cache;

    #[test]
    fn cache_options_are_passed_only_if_caches_are_simulated() {
        let arguments = |simulated| -> Vec<String> {
            let command = command(OsStr::new("program"), Path::new("out"), &simulated);
            command.get_args().map(|argument| argument.to_string_lossy().into_owned()).collect()
        };
        let (d1, ll) = (Cache::nearest(32 << 10, 8), Cache::nearest(1 << 20, 16));
        let with = arguments(Simulated::Caches(Caches { d1, ll }));
        assert!(
            with.contains(&"--D1=32768,8,64".into()) && with.contains(&"--LL=1048576,16,64".into())
        );
        let without = arguments(Simulated::Instructions);
        assert!(
            !without.iter().any(|argument| argument.contains("sim=") || argument.contains("--D1"))
        );
        for all in [with, without] {
            assert_eq!(all.last().unwrap(), "program");
            assert!(all.contains(&"--callgrind-out-file=out".into()));
        }
    }

    #[test]
    fn a_missing_and_a_broken_valgrind_are_reported() {
        let gone = Missing::NotFound(io::ErrorKind::NotFound.into());
        assert_eq!(gone.to_string(), "Valgrind is not installed");
        assert!(Missing::Broken("no tool".into()).to_string().contains("no tool"));
    }
}
